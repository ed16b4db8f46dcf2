"""Progress: gathered, bounded, in order, and never in the agent's way."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from ..progress_feed import LARGEST_BATCH, LARGEST_TEXT, ProgressFeed
from ..turn import Event, Started, Status, Text, Thinking, ToolCall, ToolResult
from ..wire import ProgressEvent


def feed_of(sent: list[tuple[ProgressEvent, ...]]) -> ProgressFeed:
    async def send(events: tuple[ProgressEvent, ...]) -> None:
        sent.append(events)

    return ProgressFeed(send, every_s=0.001, at=lambda: "2026-11-30T12:00:00.000Z")


def sent_after(events: list[Event]) -> list[ProgressEvent]:
    sent: list[tuple[ProgressEvent, ...]] = []

    async def go() -> None:
        feed = feed_of(sent)
        for event in events:
            feed.emit(event)
        await feed.finish()

    asyncio.run(go())
    return [event for batch in sent for event in batch]


def test_every_kind_of_event_is_shown_in_order_and_numbered() -> None:
    shown = sent_after(
        [
            Started("x"),
            Text("a"),
            Thinking("hm"),
            ToolCall("c", "Bash", "ls"),
            ToolResult("c", "Bash", False, "no"),
            Status("s"),
        ]
    )
    assert [(event.seq, event.type, event.text) for event in shown] == [
        (1, "text", "a"),
        (2, "thinking", "hm"),
        (3, "tool_call", "ls"),
        (4, "tool_result", "no"),
        (5, "status", "s"),
    ]
    assert (shown[2].tool, shown[2].call_id, shown[3].ok) == ("Bash", "c", False)


def test_pieces_of_text_that_follow_each_other_are_one_event() -> None:
    shown = sent_after([Text("a"), Text("b"), Thinking("c"), Text("d"), Text("e")])
    assert [(event.type, event.text) for event in shown] == [("text", "ab"), ("thinking", "c"), ("text", "de")]


def test_a_started_turn_without_a_word_shows_nothing() -> None:
    assert sent_after([Started("x")]) == []


@given(st.lists(st.tuples(st.booleans(), st.text(max_size=40)), max_size=30), st.integers(1, 400))
def test_what_fits_arrives_whole_and_every_event_is_bounded(pieces: list[tuple[bool, str]], times: int) -> None:
    events: list[Event] = [Text(text * times) if said else Thinking(text * times) for said, text in pieces]
    shown = sent_after(events)
    assert all(len(event.text.encode()) <= LARGEST_TEXT for event in shown)
    assert sum(len(event.text.encode()) for event in shown) <= LARGEST_BATCH + LARGEST_TEXT
    assert [event.seq for event in shown] == list(range(1, len(shown) + 1))
    if not any("not shown" in event.text for event in shown):
        for said, kind in ((True, "text"), (False, "thinking")):
            given_text = "".join(text * times for which, text in pieces if which is said)
            assert len("".join(event.text for event in shown if event.type == kind)) == len(given_text)


def test_a_flood_loses_its_oldest_part_and_says_so() -> None:
    shown = sent_after([Status(f"{n} {'x' * 900}") for n in range(200)])
    assert shown[0].text.endswith("earlier steps are not shown: they came faster than they could be sent")
    assert shown[-1].text.startswith("199 ")


def test_control_characters_of_a_tool_are_not_shown() -> None:
    assert "\x1b" not in sent_after([Text("a\x1b[0m"), ToolCall("c", "t", "\x00")])[0].text


async def test_batches_go_out_while_the_turn_runs() -> None:
    sent: list[tuple[ProgressEvent, ...]] = []
    came = asyncio.Event()

    async def send(events: tuple[ProgressEvent, ...]) -> None:
        sent.append(events)
        came.set()

    feed = ProgressFeed(send, every_s=0.001, at=lambda: "")
    running = asyncio.create_task(feed.run())
    for n in range(3):
        feed.emit(Text(str(n)))
        async with asyncio.timeout(5):
            await came.wait()
        came.clear()
    running.cancel()
    assert [event.text for batch in sent for event in batch] == ["0", "1", "2"]
