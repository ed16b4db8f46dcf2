"""What a bridge has to say and has not delivered yet, on disk before it is sent.

What this promises: an outcome is on disk when `put` returns, and stays there until `remove`. It is sent as often as it
takes, always under the same key, so that sending it again after a lost acknowledgement makes no second mail
(openclaw#29106). A file that can't be read is moved to ``bad`` and reported, never deleted. The folder must be held by
a `StateLock`.

A file holds a line with the SHA-256 of what follows, and the entry as JSON. It is written under a temporary name and
renamed; a temporary file that a crash left behind counts when it is whole.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, assert_never

import msgspec

from .durable_file import replace_file, sync_folder
from .relay_key import Kind, spool_key
from .wire import FinishBody, ReleaseBody, ReplyBody

__all__ = ["BadEntry", "Body", "Entry", "Spool"]

Body = ReplyBody | FinishBody | ReleaseBody
_NAME = re.compile(r"([0-9]{12})\.json")
_MAGIC = b"agentmail-spool-1 "


@dataclass(frozen=True, slots=True)
class Entry:
    """One outcome. `key` goes out as ``Idempotency-Key`` of a reply; `files` are paths to upload before it is sent."""

    name: str
    turn_id: str
    attempt: int
    key: str
    body: Body
    files: tuple[str, ...] = ()

    @property
    def lease(self) -> int:
        """The lease it was made under."""
        return self.body.lease

    @property
    def kind(self) -> Kind:
        """Which route takes it."""
        return _kind(self.body)


@dataclass(frozen=True, slots=True)
class BadEntry:
    """A file that could not be read: where it lies now, and why."""

    path: Path
    why: str


class _Stored(msgspec.Struct):
    turn_id: str
    attempt: int
    kind: Kind
    key: str
    body: msgspec.Raw
    files: tuple[str, ...] = ()


class Spool:
    """The outcomes in one folder, in the order they were put there. Made by `open`.

    `set_aside` names what could not be read when it was opened.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.set_aside: tuple[BadEntry, ...] = ()
        self._entries: dict[str, Entry] = {}
        self._last = 0

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Read `folder`, making it (mode 0700) if it is missing. Raises `OSError` when that is impossible."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        spool = cls(folder)
        spool._finish_interrupted()
        for path in sorted(folder.iterdir()):
            if found := _NAME.fullmatch(path.name):
                spool._last = max(spool._last, int(found[1]))
                spool._load(path)
        return spool

    def put(self, turn_id: str, attempt: int, body: Body, files: Sequence[str] = ()) -> Entry:
        """Keep an outcome; it is on disk when this returns. The same one again (key and lease) is the same entry.

        Raises `OSError` when it can't be written.
        """
        key = spool_key(_kind(body), turn_id, body.lease)
        for entry in self._entries.values():
            if entry.key == key and entry.lease == body.lease:
                return entry
        entry = Entry(f"{self._last + 1:012d}.json", turn_id, attempt, key, body, tuple(files))
        replace_file(self.folder / entry.name, _encoded(entry))
        self._last += 1
        self._entries[entry.name] = entry
        return entry

    def update(self, entry: Entry, body: Body, files: Sequence[str] = ()) -> Entry:
        """Replace what `entry` says, as when its files were uploaded; key and place stay. Raises `OSError`.

        `body` must be of the same kind and lease (`ValueError`), and `entry` be in the spool (`KeyError`).
        """
        if (_kind(body), body.lease) != (entry.kind, entry.lease):
            raise ValueError("an outcome of another kind or lease is another entry")
        old = self._entries[entry.name]
        new = Entry(old.name, old.turn_id, old.attempt, old.key, body, tuple(files))
        replace_file(self.folder / new.name, _encoded(new))
        self._entries[new.name] = new
        return new

    def pending(self) -> tuple[Entry, ...]:
        """What is to be sent, oldest first."""
        return tuple(self._entries.values())

    def has(self, turn_id: str) -> bool:
        """Whether an outcome of this turn waits: then it must not be run again."""
        return any(entry.turn_id == turn_id for entry in self._entries.values())

    def remove(self, entry: Entry) -> None:
        """Forget `entry`: it was delivered, or the gateway will never take it. Raises `OSError`; it then stays."""
        (self.folder / entry.name).unlink(missing_ok=True)
        sync_folder(self.folder)
        self._entries.pop(entry.name, None)

    def _load(self, path: Path) -> None:
        try:
            self._entries[path.name] = _decoded(path.name, path.read_bytes())
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            self._put_aside(path, error)

    def _finish_interrupted(self) -> None:
        """Give a temporary file its name if it is whole; a crash came between writing and renaming it."""
        for path in sorted(self.folder.glob(".*.json.*.tmp")):
            name = path.name[1:].split(".json.")[0] + ".json"
            try:
                data = path.read_bytes()
                if data:
                    _decoded(name, data)
                    path.replace(self.folder / name)
                else:
                    path.unlink()
            except (OSError, ValueError, msgspec.MsgspecError) as error:
                self._put_aside(path, error)
        sync_folder(self.folder)

    def _put_aside(self, path: Path, error: Exception) -> None:
        bad = self.folder / "bad"
        number = 0
        while (target := bad / f"{path.name.strip('.')}.{number}").exists():
            number += 1
        try:
            bad.mkdir(mode=0o700, exist_ok=True)
            path.replace(target)
        except OSError:
            target = path
        self.set_aside = (*self.set_aside, BadEntry(target, str(error)))


def _kind(body: Body) -> Kind:
    match body:
        case ReplyBody():
            return "reply"
        case FinishBody():
            return "finish"
        case ReleaseBody():
            return "release"
        case _:
            assert_never(body)


def _encoded(entry: Entry) -> bytes:
    body = msgspec.Raw(msgspec.json.encode(entry.body))
    stored = _Stored(entry.turn_id, entry.attempt, entry.kind, entry.key, body, entry.files)
    data = msgspec.json.encode(stored)
    return _MAGIC + hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def _decoded(name: str, data: bytes) -> Entry:
    """The entry in `data`. Raises `ValueError` or `MsgspecError`."""
    head, _, rest = data.partition(b"\n")
    if not head.startswith(_MAGIC):
        raise ValueError("it does not begin as an entry of the spool does")
    if head.removeprefix(_MAGIC) != hashlib.sha256(rest).hexdigest().encode():
        raise ValueError("its content is not what was written (the checksum differs)")
    stored = msgspec.json.decode(rest, type=_Stored)
    return Entry(name, stored.turn_id, stored.attempt, stored.key, _body(stored), stored.files)


def _body(stored: _Stored) -> Body:
    match stored.kind:
        case "reply":
            return msgspec.json.decode(stored.body, type=ReplyBody)
        case "finish":
            return msgspec.json.decode(stored.body, type=FinishBody)
        case "release":
            return msgspec.json.decode(stored.body, type=ReleaseBody)
        case _:
            assert_never(stored.kind)
