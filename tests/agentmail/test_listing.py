"""The newest of a long list."""

import pytest

from agentmail.listing import newest
from agentmail.vendor.wire import Page

NEWEST_FIRST = tuple(range(10_000, 0, -1))


@pytest.mark.parametrize(
    ("limit", "even", "pages", "items"),
    [
        (3, False, 1, (9_998, 9_999, 10_000)),
        (200, False, 1, tuple(range(9_801, 10_001))),
        (201, False, 2, tuple(range(9_800, 10_001))),
        (3, True, 1, (9_996, 9_998, 10_000)),
        (20_000, False, 50, tuple(range(1, 10_001))),
    ],
)
async def test_no_more_pages_are_read_than_the_newest_fill(
    limit: int, even: bool, pages: int, items: tuple[int, ...]
) -> None:
    asked = []

    async def page(after: str | None) -> Page[int]:
        asked.append(after)
        start = int(after or 0)
        end = start + 200
        return Page(NEWEST_FIRST[start:end], str(end) if end < len(NEWEST_FIRST) else None)

    assert await newest(page, limit, (lambda item: item % 2 == 0) if even else None) == items
    assert len(asked) == pages
