"""Logs on stderr, as JSON lines or as text, without keys.

Nothing in the gateway logs headers, queries or bodies. What looks like a key is masked all the same before a line is
written, since libraries log, too (AgentChatBus#8, mcp-memory-service#1117).
"""

import logging
import re
import sys
from collections.abc import Mapping
from typing import Any, Literal, TextIO

import structlog

__all__ = ["LogFormat", "configure", "masked"]

LogFormat = Literal["json", "text"]
KEY = re.compile(r"\b(am[acpst]_)[A-Za-z0-9_-]{8,}")


def masked(text: str) -> str:
    """`text` with everything that has the form of a key replaced; its kind stays readable."""
    return KEY.sub(r"\1***", text)


def _text(_: object, __: str, event: Mapping[str, Any]) -> str:
    left = dict(event)
    head = f"{left.pop('timestamp', '')} {left.pop('level', 'info'):<7} {left.pop('event', '')}"
    trace = left.pop("exception", None)
    line = " ".join([head, *[f"{name}={value!r}" for name, value in left.items() if value is not None]])
    return f"{line}\n{trace}" if trace else line


def _mask(_: object, __: str, line: Any) -> str:
    return masked(str(line))


class _Forward(logging.Handler):
    """Hands what libraries log to the same output."""

    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger(record.name).log(
            record.levelno, record.getMessage(), logger=record.name, exc_info=record.exc_info
        )


def configure(log_format: LogFormat, stream: TextIO = sys.stderr) -> None:
    """Set up logging of the whole process, the libraries' warnings and errors included."""
    renderer: Any = structlog.processors.JSONRenderer() if log_format == "json" else _text
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
            _mask,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [_Forward()]
    root.setLevel(logging.WARNING)
