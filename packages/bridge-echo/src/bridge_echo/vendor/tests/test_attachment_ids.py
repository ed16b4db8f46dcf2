import unicodedata
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ..attachment_ids import AttachmentIdError, check, distinct_names, is_attachment_id, safe_name

GOOD = "att_0197f3d2a6b47c1e9d0f112233445566"
labels = st.text(st.sampled_from("abC./\\:~ -é\u0301文🙂\0\n\u202e\ud800*?") | st.characters(), max_size=80)


def test_an_id_is_taken_as_it_is() -> None:
    assert is_attachment_id(GOOD)
    assert check(GOOD) == GOOD


@pytest.mark.parametrize(
    "text",
    [
        "",
        "att_",
        GOOD[:-1],
        GOOD + "0",
        GOOD + "\n",
        "\n" + GOOD,
        GOOD.upper(),
        GOOD.replace("att", "mail"),
        "att_../../../../../../etc/passwd0000",
        "att_" + "g" * 32,
        "att_" + "٣" * 32,
        "\ud800",
        "x" * 1_000_000,
    ],
)
def test_what_is_no_id_is_refused(text: str) -> None:
    assert not is_attachment_id(text)
    with pytest.raises(AttachmentIdError, match="no attachment id") as caught:
        check(text)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("a.png", "a.png"),
        ("My report (final).pdf", "My report (final).pdf"),
        ("报告.docx", "报告.docx"),
        ("../../x", "x"),
        ("/etc/passwd", "passwd"),
        ("C:\\x", "x"),
        ("C:x", "C_x"),
        ("a\\..\\b.txt", "b.txt"),
        ("dir/", "dir"),
        ("", "attachment"),
        (".", "attachment"),
        ("..", "attachment"),
        ("/", "attachment"),
        ("...", "attachment"),
        ("\0", "attachment"),
        (".bashrc", "bashrc"),
        ("..hidden", "hidden"),
        ("-rf", "rf"),
        ("~root", "root"),
        ("trailing. . ", "trailing"),
        (" lead", "lead"),
        ("con", "_con"),
        ("CON.txt", "_CON.txt"),
        ("nul.txt", "_nul.txt"),
        ("nul .txt", "_nul .txt"),
        ("com1", "_com1"),
        ("COM¹.log", "_COM¹.log"),
        ("lpt9.tar.gz", "_lpt9.tar.gz"),
        ("conout$", "_conout$"),
        ("console.txt", "console.txt"),
        ("com10", "com10"),
        ("a:stream.txt", "a_stream.txt"),
        ('a<b>"c|d?e*f', "a_b__c_d_e_f"),
        ("a\nb\tc.txt", "a b c.txt"),
        ("evil\u202egpj.exe", "evilgpj.exe"),
        ("a\x1b[31m", "a[31m"),
        ("a\ud800.txt", "a\ufffd.txt"),
        ("e\u0301.txt", "é.txt"),
        ("x\U000e0041y", "xy"),
    ],
)
def test_a_label_becomes_a_harmless_name(label: str, name: str) -> None:
    assert safe_name(label) == name


@pytest.mark.parametrize(
    ("label", "ends", "size"),
    [
        ("x" * 400 + ".png", ".png", 180),
        ("文" * 400 + ".png", "文.png", 178),
        ("x" * 400 + ".tar.gz", "x.tar.gz", 180),
        ("x." + "y" * 400, "y", 180),
        ("x" * 175 + ". ." * 40 + ".png", "x.png", 179),
    ],
)
def test_a_long_name_is_cut_in_bytes_and_keeps_its_short_extension(label: str, ends: str, size: int) -> None:
    name = safe_name(label)
    assert name.endswith(ends)
    assert len(name.encode()) == size


@pytest.mark.parametrize(
    ("several", "names"),
    [
        (["a.txt", "a.txt", "a.txt"], ("a.txt", "a (2).txt", "a (3).txt")),
        (["a.txt", "A.TXT"], ("a.txt", "A (2).TXT")),
        (["é", "e\u0301"], ("é", "é (2)")),
        (["ﬁ", "fi"], ("ﬁ", "fi (2)")),
        (["x/a", "y/a"], ("a", "a (2)")),
        (["a (2).txt", "a.txt", "a.txt"], ("a (2).txt", "a.txt", "a (3).txt")),
        (["a.tar.gz", "a.tar.gz"], ("a.tar.gz", "a (2).tar.gz")),
        (["", ""], ("attachment", "attachment (2)")),
        ([], ()),
    ],
)
def test_files_of_one_folder_get_distinct_names(several: list[str], names: tuple[str, ...]) -> None:
    assert distinct_names(several) == names


@given(st.lists(labels, max_size=6), st.integers(40, 60))
@example(["文" * 100] * 3, 40)
@example(["AUX .c", "prn", "Com1.x.y", "_nul", "nul"], 40)
@example(["a" * 100 + ".jpeg", "a" * 101 + ".jpeg"], 40)
def test_names_are_safe_and_distinct_whatever_the_labels(many: list[str], size: int) -> None:
    names = distinct_names(many, size)
    assert len(names) == len(many)
    assert len({unicodedata.normalize("NFC", name.lower()) for name in names}) == len(many)
    for name in names:
        assert PurePosixPath(name).name == name == PureWindowsPath(name).name
        assert name.partition(".")[0].rstrip().lower() not in {"con", "prn", "aux", "nul", "com1", "lpt1"}
        assert 0 < len(name.encode()) <= size
        assert name[0] not in ".-~ "
        assert name[-1] not in ". "
        assert unicodedata.is_normalized("NFC", name)
        assert not any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in name)
