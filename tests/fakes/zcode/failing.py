"""How the stand-in fails, by name. Each gives what stderr and the stream say; no failure prints a result line [S].

Texts are [S] or [R] unless said otherwise; `provider` failures follow a recording of a used-up quota [R], their other
codes are the provider's public ones and their shape is [assumed].
"""

import sys

from .stream import Stream

__all__ = ["FAILURES", "fail", "provider_failure"]

FAILURES = {
    "provider": "无法定位 CLI ZCode Built-in Provider Config：/opt/ZCode/resources/config/provider/zcode-builtin.json",
    "swap": "Bundled 与 Active ZCode Built-in Release 均不可用",
    "config": "Model config is missing. Create {home}/.zcode/cli/config.json with an explicit model provider before "
    "running ZCode.",
    "model": "Model creation failed",
    "key": "Model provider is missing an API key: zai",
    "session": "Session not found",
    "generic": "Turn execution failed",
    "dotenv": "Failed to load environment file: {cwd}/.env",
}
_CODES = {
    "quota": ("1308", 429, "Usage limit reached for 5 hour. Your limit will reset at {time}"),
    "quota-cn": ("1308", 429, "已达到 5 小时的使用上限。您的限额将在 {time} 重置。"),
    "quota-week": ("1310", 429, "Weekly/Monthly Limit Exhausted. Your limit will reset at {time}"),
    "rate": ("1302", 429, "High concurrency usage of this API"),
    "overload": ("1305", 429, "The API has triggered traffic limits"),
    "context": ("1261", 400, "Prompt exceeds max length"),
    "filtered": ("1301", 400, "System detected potentially unsafe or sensitive content"),
    "auth": ("1002", 401, "Authorization Token is invalid"),
    "unknown-code": ("1999", 400, "Something new"),
}


def provider_failure(stream: Stream, name: str, time: str) -> str:
    """Tell a failure of the model provider in the stream; the line for stderr."""
    code, status, text = _CODES[name]
    message = f"[{code}][{text.format(time=time)}][request-1]"
    request: dict[str, object] = {
        "type": "model_request_failed",
        "attempt": 1,
        "maxAttempts": 11,
        "statusCode": status,
        "retryable": False,
        "errorCode": "model_rate_limited" if status == 429 else "model_request_failed",
        "errorPhase": "stream",
        "providerErrorCode": code,
        "message": message,
    }
    stream.event("session.updated", request)
    turn_failed(stream, message, {"source": "provider", "statusCode": status, "providerErrorCode": code})
    return f"Turn execution failed (traceId: {stream.trace_id})"


def turn_failed(stream: Stream, message: str, attribution: dict[str, object] | None = None) -> None:
    """The stream's own word on a failed turn."""
    error: dict[str, object] = {"type": "error", "message": message}
    if attribution is not None:
        error["attribution"] = attribution
    stream.event("turn.failed", {"error": error, "turnPhase": "model"})


def fail(text: str, *, prefix: str = "Error: ") -> int:
    """Say `text` on stderr; the exit code."""
    sys.stderr.write(f"{prefix}{text}\n")
    return 1
