import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmail_gateway.search_text import MAX_TERMS, index_text, match_query

HOSTILE = st.text(st.characters(codec="utf-8") | st.sampled_from('"*()^:+-{}\0 ANDORNOTNEAR世界'), max_size=200)


def found(text: str, query: str) -> bool:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE search USING fts5 (seen, text, content = '', columnsize = 0)")
        connection.execute("INSERT INTO search (rowid, seen, text) VALUES (1, 'u2', ?)", (index_text(text),))
        expression = match_query(query, 2)
        if expression is None:
            return False
        return bool(connection.execute("SELECT rowid FROM search WHERE search MATCH ?", (expression,)).fetchall())
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("请在工作区里搜索文件", "搜索", True),  # hermes#14829
        ("请在工作区里搜索文件", "搜", True),
        ("请在工作区里搜索文件", "搜文", False),
        ("请在工作区里搜索文件", "文件 工作", True),
        ("用zcode搜索", "zcode", True),
        ("用zcode搜索", "zcode搜索", True),
        ("日本語のテスト", "テスト", True),
        ("日本語のテスト", "ﾃｽﾄ", True),
        ("한국어검색", "검색", True),
        ("go and AI", "ai", True),
        ("go and AI", "go", True),
        ("deployment", "deploy", True),
        ("deployment", '"deploy"', False),
        ("the quick brown fox", '"quick brown"', True),
        ("the quick brown fox", '"brown quick"', False),
        ("the quick brown fox", "brown quick", True),
        ("the quick brown fox", "brown cat", False),
        ("Größe straße", "grösse", True),
        ("Größe straße", "STRASSE", True),
        ("café", "cafe", True),
        ("ＦＵＬＬ width", "full", True),
        ("a AND b", "AND", True),
        ("a-b_c", "a-b_c", True),
        ("C++ and #12", "c++", True),
        ("issue #12", "#12", True),
        ("anything", "", False),
        ("anything", "  \0 ", False),
        ("anything", '"', False),
        ("anything", "***", False),
    ],
)
def test_words_are_found_in_every_script(text: str, query: str, expected: bool) -> None:
    assert found(text, query) == expected


@given(HOSTILE, HOSTILE)
def test_no_query_is_an_error(text: str, query: str) -> None:
    found(text, query)


@given(st.text(st.sampled_from("abc世界 "), min_size=1, max_size=30).filter(str.strip))
def test_a_text_is_found_by_itself(text: str) -> None:
    assert found(text, text)


@given(HOSTILE)
def test_a_query_can_not_ask_for_what_somebody_else_sees(query: str) -> None:
    expression = match_query(f"{query} seen : u3 OR u3", 2)
    assert expression is not None
    assert expression.startswith('seen : "u2" AND ')
    assert expression.count("seen :") == 1


def test_a_huge_query_is_cut() -> None:
    expression = match_query("word " * 100_000, 2)
    assert expression is not None
    assert expression.count("word") == MAX_TERMS
