"""Problems as HTTP answers (RFC 9457)."""

import math
from typing import Final

import msgspec

from ..problems import CODES, Problem
from .exchange import Headers

__all__ = ["ALL_CODES", "HttpProblem", "problem_content", "problem_headers"]

DEFAULT_WAIT_S = {429: 1.0, 503: 5.0}
HTTP_CODES: Final[dict[str, tuple[int, str]]] = {
    "bad_request": (400, "Not an HTTP request"),
    "method_not_allowed": (405, "Method not allowed"),
}
ALL_CODES: Final[dict[str, tuple[int, str]]] = CODES | HTTP_CODES


class HttpProblem(Problem):
    """A problem of HTTP alone: its code may be one of `HTTP_CODES`, and its answer can carry further headers."""

    def __init__(self, code: str, detail: str, headers: Headers) -> None:
        Exception.__init__(self, detail)
        self.status, self.title = ALL_CODES[code]
        self.code = code
        self.detail = detail
        self.retry_after_s = None
        self.headers = headers


def _wait_s(problem: Problem) -> float | None:
    if problem.retry_after_s is not None:
        return problem.retry_after_s
    return DEFAULT_WAIT_S.get(problem.status)


def problem_content(problem: Problem) -> bytes:
    """The document of a problem (`wire.ProblemBody`), encoded."""
    body: dict[str, object] = {
        "type": "about:blank",
        "title": problem.title,
        "status": problem.status,
        "code": problem.code,
        "detail": problem.detail,
    }
    wait = _wait_s(problem)
    if wait is not None:
        body["retry_after_s"] = wait
    return msgspec.json.encode(body)


def problem_headers(problem: Problem) -> Headers:
    """The headers that go with a problem: when to come back (RFC 9110 10.2.3), how to authenticate (11.6.1)."""
    headers: Headers = [(b"content-type", b"application/problem+json"), (b"cache-control", b"no-store")]
    wait = _wait_s(problem)
    if wait is not None:
        headers.append((b"retry-after", b"%d" % max(1, math.ceil(wait))))
    if problem.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="AgentMail"'))
    if isinstance(problem, HttpProblem):
        headers += problem.headers
    return headers
