"""Times and durations as a reader wants them. Pure: now and its zone are arguments."""

from datetime import datetime

__all__ = ["elapsed", "span", "when"]


def _parse(stamp: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def when(stamp: str | None, now: datetime) -> str:
    """RFC 3339 `stamp` in the zone of `now`: ``14:03`` today, ``11-30 14:03`` this year, else ``2025-11-30``."""
    if not stamp:
        return ""
    moment = _parse(stamp)
    if moment is None:
        return stamp
    local = moment.astimezone(now.tzinfo)
    if local.date() == now.date():
        return local.strftime("%H:%M")
    return local.strftime("%m-%d %H:%M" if local.year == now.year else "%Y-%m-%d")


def span(start: str | None, end: str | None) -> str:
    """How long from `start` to `end` (RFC 3339), or nothing when one of them is missing."""
    first, last = _parse(start or ""), _parse(end or "")
    return elapsed((last - first).total_seconds()) if first and last else ""


def elapsed(seconds: float) -> str:
    """A duration in the two largest fitting units: ``0.4 s``, ``12 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
