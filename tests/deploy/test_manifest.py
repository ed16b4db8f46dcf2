"""What the manifest may say."""

import pytest

from deploy.shared_guard.manifest import Manifest, ManifestError, Record, Target, parse
from deploy.sync_shared import manifest_text

HASH = "0123456789abcdef" * 4
TARGET = '[[target]]\npath = "packages/bridge-one/src/bridge_one/vendor"\nmodules = "all"\n'


def test_what_is_written_is_read_back() -> None:
    manifest = Manifest(
        (
            Target("packages/bridge-one/src/bridge_one/vendor", None),
            Target("packages/gateway/src/agentmail_gateway/vendor", ("wire", "addressing")),
        ),
        {"tests/test_wire.py": Record(HASH, 0), "wire.py": Record(HASH, 12)},
    )
    assert parse(manifest_text(manifest)) == manifest


def test_a_target_knows_its_package() -> None:
    assert parse(TARGET.encode()).targets[0].owner == "bridge-one"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "target has to be a list with at least one entry"),
        ("target = 3", "target has to be a list"),
        ("target = [3]", "exactly a path and modules"),
        (TARGET + "extra = 1", "exactly a path and modules"),
        (TARGET + TARGET, "is named twice"),
        (TARGET.replace("packages", "../packages"), "is not of the form"),
        (TARGET.replace("packages/bridge-one", "packages/.."), "is not of the form"),
        (TARGET.replace("packages", "/packages"), "is not of the form"),
        (TARGET.replace("/vendor", ""), "is not of the form"),
        (TARGET.replace('"packages/bridge-one/src/bridge_one/vendor"', "1"), "is not of the form"),
        (TARGET.replace('"all"', '"some"'), 'have to be "all" or a list'),
        (TARGET.replace('"all"', "[]"), 'have to be "all" or a list'),
        (TARGET.replace('"all"', "[1]"), 'have to be "all" or a list'),
        (TARGET + "[strange]", "unknown entry 'strange'"),
        ("files = 1\n" + TARGET, "files has to be a table"),
        (TARGET + "[files]\n'a.py' = 1", "has exactly a sha256 and a size"),
        (TARGET + f"[files.'a.py']\nsha256 = '{HASH.upper()}'\nsize = 1", "not 64 lower-case hex digits"),
        (TARGET + f"[files.'a.py']\nsha256 = '{HASH}0'\nsize = 1", "not 64 lower-case hex digits"),
        (TARGET + f"[files.'a.py']\nsha256 = '{HASH}'\nsize = -1", "not a number of bytes"),
        (TARGET + f"[files.'a.py']\nsha256 = '{HASH}'\nsize = true", "not a number of bytes"),
        ("[", "not TOML"),
    ],
)
def test_anything_else_is_one_documented_error(text: str, said: str) -> None:
    with pytest.raises(ManifestError, match=said):
        parse(text.encode())


def test_bytes_that_are_no_text_are_the_same_error() -> None:
    with pytest.raises(ManifestError, match="not TOML"):
        parse(b"\xff\xfe")
