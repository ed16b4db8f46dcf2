"""What the gateway needs of a store, whatever database stands behind it.

The promises, checked by the contract tests that every store must pass:

- A write that returned is on disk: it survives ``kill -9`` and power loss.
- Writes are atomic and isolated, and run one after the other in the order of their calls. A job that raises leaves
  nothing behind, and its neighbours stand.
- A job may be run again after its effects were taken back; so it must not touch anything but its `Tx`.
- Callbacks that a job leaves with `Tx.then` run on the event loop, in the order of the jobs, after the commit and
  before the write returns. Those of a job that failed never run.
- Events get ids that only grow and are never used again, and reach the listener after the commit, in the order of ids.
- A read sees every write that returned before it, and one consistent state.
- A full queue, a full disk, a read-only file and an I/O error are a Problem ``unavailable`` that names the cause; the
  store works again when the cause is gone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from ..ids import IdMint

__all__ = ["EventRow", "Reader", "Rows", "Store", "Tx"]

T = TypeVar("T")
EventRow = tuple[int, int, str, Mapping[str, Any]]


class Rows(Protocol):
    """The rows of one statement."""

    @property
    def rowcount(self) -> int:
        """How many rows the statement changed."""

    def fetchone(self) -> Any:
        """The next row as a tuple, or None."""

    def fetchall(self) -> list[Any]:
        """All remaining rows."""


class Reader(Protocol):
    """Reads one consistent state."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Rows:
        """Run one statement with its ``?`` filled in."""


class Tx(Reader, Protocol):
    """One job's view of the write transaction."""

    @property
    def now(self) -> int:
        """The time of this transaction, milliseconds."""

    @property
    def mint(self) -> IdMint:
        """Where new ids come from."""

    @property
    def memo(self) -> dict[Any, Any]:
        """What jobs remember about the store between transactions; emptied whenever something is taken back."""

    def event(self, account: int, kind: str, data: Mapping[str, Any]) -> None:
        """Store an event for the account of that number."""

    def then(self, callback: Callable[[], object]) -> None:
        """Run `callback` on the event loop after the commit."""


class Store(Protocol):
    """A durable store."""

    @property
    def last_event(self) -> int:
        """The id of the newest event that was committed, 0 when there never was one."""

    @property
    def waiting(self) -> int:
        """How many writes are not answered yet."""

    async def write(self, job: Callable[[Tx], T]) -> T:
        """Run `job` in a transaction; its result, once it is durable. Raises what the job raised, or Problem."""

    def read(self, query: Callable[[Reader], T]) -> T:
        """Run a short, bounded `query` at once, on the event loop's thread."""

    async def read_aside(self, query: Callable[[Reader], T]) -> T:
        """Run a `query` that may take longer beside the event loop."""

    def on_events(self, listener: Callable[[list[EventRow]], None]) -> None:
        """Pass the events of each commit (id, account, type, data) to `listener`, on the event loop."""

    def on_quiet(self, work: Callable[[Tx], bool]) -> None:
        """Run `work` as a job of its own whenever no other has come for a moment, again while it returns true.

        Under load that never pauses it runs now and then all the same.
        """

    async def close(self) -> None:
        """Answer every write that was taken, then leave the store in one clean piece."""
