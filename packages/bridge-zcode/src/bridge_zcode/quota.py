"""Until when a used-up quota lasts. Pure.

The provider writes a time without a zone (``Your limit will reset at 2026-09-12 19:27:04``, or the same in Chinese),
and no source says which zone it is; Beijing time, UTC and the machine's own are all possible. Being too early costs
one refused request, being too late costs the person hours: so the earliest moment that the text can mean and that is
still ahead counts, and the wait is never longer than the window that is named. A turn that wakes too early is
released again until the next moment that the text can mean.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

__all__ = ["FALLBACK_WAIT", "rfc3339", "wait_until"]

# Used when no usable time is named, and as the shortest wait, so that a wrong clock can't make a tight loop.
FALLBACK_WAIT = timedelta(minutes=15)
_SHORTEST_WAIT = timedelta(minutes=1)
# The reset is not seen to the second at the provider [assumed]: a small margin saves a refused request.
_MARGIN = timedelta(seconds=20)
_FIVE_HOURS = timedelta(hours=5)
# A monthly quota is asked again every week: the queue does not keep a turn for longer than that at a time.
_WEEK = timedelta(days=7)
_BEIJING = timezone(timedelta(hours=8))
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)(?::(\d\d))?(?:\.\d+)?(Z|[+-]\d\d:\d\d)?")


def wait_until(message: str, *, now: datetime, local: tzinfo, long_window: bool = False) -> datetime:
    """The moment (UTC) at which a turn that was refused with `message` is worth trying again.

    `now` is aware, `local` the machine's zone. `long_window` says that the quota is weekly or monthly; else it is the
    five-hour one. Always after `now` and at most one window away.
    """
    window = _WEEK if long_window else _FIVE_HOURS
    ahead = [moment for moment in _candidates(message, local) if now < moment]
    if not ahead:
        return now.astimezone(UTC) + FALLBACK_WAIT
    within = [moment for moment in ahead if moment <= now + window + FALLBACK_WAIT]
    chosen = min(within) + _MARGIN if within else now + window
    return max(chosen, now + _SHORTEST_WAIT).astimezone(UTC)


def _candidates(message: str, local: tzinfo) -> list[datetime]:
    found = _TIME.search(message)
    if found is None:
        return []
    year, month, day, hour, minute = (int(part) for part in found.groups()[:5])
    try:
        written = datetime(year, month, day, hour, minute, int(found[6] or 0), tzinfo=UTC)
        if found[7]:
            return [datetime.fromisoformat(f"{written:%Y-%m-%dT%H:%M:%S}{found[7]}")]
        return [written.replace(tzinfo=zone).astimezone(UTC) for zone in (_BEIJING, UTC, local)]
    except (ValueError, OverflowError):
        return []


def rfc3339(moment: datetime) -> str:
    """`moment` as the gateway writes times: UTC with milliseconds and Z."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
