"""Signed-in browsers: codes that work once, and the sessions that they open."""

from dataclasses import dataclass, field
from typing import Final

from .core import Core
from .keys import digest_of, new_secret
from .principal import Principal
from .problems import Problem
from .store.interface import Reader, Tx
from .times import text
from .vendor.bounded import BoundedDict
from .vendor.wire import SignInCode

__all__ = ["WebSessions"]

_CODE_MS: Final = 10 * 60_000
_SESSION_MS: Final = 30 * 24 * 3_600_000
_CODES: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Session:
    account: int
    csrf: str
    expires: int


@dataclass(slots=True)
class WebSessions:
    """Codes live in memory only: one that was not used before a restart is asked for again."""

    core: Core
    _codes: BoundedDict[bytes, tuple[int, int]] = field(default_factory=lambda: BoundedDict(_CODES))
    _sessions: dict[bytes, _Session] = field(default_factory=dict)

    def load(self, reader: Reader) -> None:
        """Read the sessions that have not run out."""
        rows = reader.execute(
            "SELECT digest, account, csrf, expires FROM web_sessions WHERE expires > ?", (self.core.clock(),)
        ).fetchall()
        self._sessions = {digest: _Session(account, csrf, expires) for digest, account, csrf, expires in rows}

    def code(self, who: Principal) -> SignInCode:
        """A code that signs the caller in once within ten minutes. Raises Problem ``forbidden`` for agents."""
        account = self.core.caller(who).account
        if who.kind != "person":
            raise Problem("forbidden", "Only people sign in with a browser.")
        secret = new_secret("amc")
        expires = self.core.clock() + _CODE_MS
        self._codes[digest_of(secret)] = account.id, expires
        return SignInCode(secret, text(expires))

    async def sign_in(self, code: str) -> tuple[str, str, Principal]:
        """Use a code up: the session's secret for the cookie, its CSRF token, and who signed in.

        Raises Problem ``unauthorized`` for a code that is unknown, used or too old.
        """
        core = self.core
        known = self._codes.pop(digest_of(code))
        account = None if known is None or known[1] <= core.clock() else core.accounts.by_id[known[0]]
        if account is None or account.disabled:
            raise Problem("unauthorized", "This code is unknown, was used already, or is too old. Ask for a new one.")
        secret, csrf = new_secret("ams"), new_secret("ams")
        digest, number = digest_of(secret), account.id

        def open_session(tx: Tx) -> None:
            session = _Session(number, csrf, tx.now + _SESSION_MS)
            tx.execute("DELETE FROM web_sessions WHERE expires <= ?", (tx.now,))
            tx.execute(
                "INSERT INTO web_sessions (digest, account, csrf, created, expires) VALUES (?, ?, ?, ?, ?)",
                (digest, number, csrf, tx.now, session.expires),
            )
            tx.then(lambda: self._sessions.update({digest: session}))

        await core.store.write(open_session)
        return secret, csrf, account.principal

    def authenticate(self, secret: str) -> tuple[Principal, str] | None:
        """Who holds the cookie `secret`, and the CSRF token that forms must carry; None for nobody."""
        session = self._sessions.get(digest_of(secret))
        if session is None or session.expires <= self.core.clock():
            return None
        account = self.core.accounts.by_id[session.account]
        return None if account.disabled else (account.principal, session.csrf)

    async def sign_out(self, secret: str) -> None:
        """End a session; one that is not there has ended."""
        digest = digest_of(secret)

        def close_session(tx: Tx) -> None:
            tx.execute("DELETE FROM web_sessions WHERE digest = ?", (digest,))
            tx.then(lambda: self._sessions.pop(digest, None))

        await self.core.store.write(close_session)

    def end_all(self, account: int) -> None:
        """Forget the sessions of an account, whose rows were deleted."""
        self._sessions = {digest: session for digest, session in self._sessions.items() if session.account != account}
        for digest, (owner, _) in self._codes.items():
            if owner == account:
                self._codes.pop(digest)
