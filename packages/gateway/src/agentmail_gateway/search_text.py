"""Text and queries for the full-text index, pure.

The index knows words of letters and digits. Scripts that write without blanks would make one word of a whole sentence
(hermes#14829), so each of their characters is a word of its own, and what is searched for is a phrase of them: ``搜索``
finds exactly where the two stand together.
"""

import re
import unicodedata
from typing import Final

__all__ = ["MAX_QUERY", "MAX_TERMS", "index_text", "match_query"]

MAX_QUERY: Final = 1_000
MAX_TERMS: Final = 24
MAX_INDEXED: Final = 256 * 1024

_UNSPACED: Final = re.compile(
    "(["
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Myanmar, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u3130-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
    "])"
)
_WORD: Final = re.compile(r"\w+")
_QUOTED: Final = re.compile(r'"([^"]*)"|(\S+)')


def index_text(*parts: str) -> str:
    """`parts` (a subject, a body) as the index takes them: folded, and unspaced scripts spread out."""
    text = "\n".join(parts)[:MAX_INDEXED]
    return _spread(text)


def match_query(query: str, seen_by: int) -> str | None:
    """`query` as an FTS5 expression over mail that account `seen_by` sees; None when nothing is asked for.

    All words must occur; the last word of each is a prefix unless it stands in quotation marks, which make a phrase.
    Operators, quotation marks and anything else in the query are text. At most `MAX_QUERY` characters and `MAX_TERMS`
    words are looked at.
    """
    phrases: list[str] = []
    terms = 0
    for quoted, plain in _QUOTED.findall(query[:MAX_QUERY].replace("\0", " ")):
        words = _WORD.findall(_spread(quoted or plain))[: MAX_TERMS - terms]
        if not words:
            continue
        terms += len(words)
        prefix = "" if quoted or _UNSPACED.fullmatch(words[-1]) else " *"
        phrases.append(f'text : "{" ".join(words)}"{prefix}')
    if not phrases:
        return None
    return " AND ".join([f'seen : "u{seen_by}"', *phrases])


def _spread(text: str) -> str:
    return _UNSPACED.sub(r" \1 ", unicodedata.normalize("NFKC", text).casefold())
