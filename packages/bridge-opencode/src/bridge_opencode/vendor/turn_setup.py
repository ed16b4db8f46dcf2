"""From a claimed turn to what its runner gets: session, folder, attachments, prompt, environment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from . import attempt_log, inbox_format
from .bridge_parts import BridgeParts
from .mail_session_id import Resume, Tie, resume, session_id
from .permission_desk import Asker
from .session_tie import read_tie
from .turn import TurnRequest
from .turn_files import TurnFolder, lay_in, make_folder
from .turn_tier import TierChoice
from .wire import Claim
from .workspace import Place

__all__ = ["Prepared", "prepare", "tie_of"]

AGENT_PART = "agent"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A turn ready to run. `remarks` are what its answer has to say about the circumstances.

    `prompt` writes the prompt of another attempt, from its number and what the earlier ones were seen to do.
    """

    request: TurnRequest
    prompt: Callable[[int, Sequence[str]], str]
    folder: TurnFolder
    place: Place
    resumed: Resume
    remarks: tuple[str, ...]

    @property
    def tie_folder(self) -> Path:
        """Where the session's tie is kept: beside the agent's part of the session's folder, out of its reach."""
        return self.request.session_dir.parent

    @property
    def context_lost(self) -> bool:
        """Whether there was a session in this thread that does not go on."""
        return self.resumed.context_lost or self.place.instead_of is not None


async def prepare(parts: BridgeParts, claim: Claim, place: Place, choice: TierChoice) -> Prepared:
    """Lay out what the turn needs. Raises `OSError` of the disk, and `GatewayError` when an attachment doesn't come."""
    session = session_id(claim.thread.id, parts.agent_name, place.name)
    session_dir = parts.state.sessions / session
    agent_dir = session_dir / AGENT_PART
    agent_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    known = claim.session.native_session_id if claim.session.workspace in (None, place.name) else None
    resumed = resume(known, read_tie(session_dir, session), place.path)
    folder = make_folder(parts.state.turns / claim.turn_id)
    attachments: tuple[Path, ...] = ()
    if claim.mail.attachments:
        attachments = await lay_in(
            folder,
            claim.mail.attachments,
            lambda id_, dest, size: parts.gateway.get_attachment(id_, dest, size=size),
        )

    def prompt(attempt: int, earlier: Sequence[str]) -> str:
        return inbox_format.prompt(
            claim.mail,
            claim.thread.mails,
            agent=parts.agent_name,
            nonce=parts.outside.nonce(),
            tier=choice.tier,
            why_mode=choice.why,
            sender_trust=claim.sender_trust,
            workspace=place.name,
            reply_owed=claim.reply_owed,
            attachments=attachments,
            out_dir=folder.outbox,
            attempt=attempt,
            earlier=earlier,
            fresh_because=_fresh_because(place, resumed),
        )

    earlier = attempt_log.read_earlier(parts.state.attempts / claim.turn_id)
    request = TurnRequest(
        turn_id=claim.turn_id,
        attempt=claim.attempt,
        # A released attempt doesn't count at the gateway, and was ended in the middle all the same.
        prompt=prompt(max(claim.attempt, 2) if earlier else claim.attempt, earlier),
        workspace=place.path,
        tier=choice.tier,
        turn_dir=folder.path,
        session_dir=agent_dir,
        session_id=session,
        native_session_id=resumed.native_session_id,
        turn_key=claim.turn_key,
        gateway_url=parts.gateway.url,
        env={
            "AGENTMAIL_SESSION_ID": session,
            "AGENTMAIL_PERMISSION_MODE": choice.tier,
            "AGENTMAIL_PERMISSION_WAIT_MS": str(parts.settings.permission_wait_ms),
            "AGENTMAIL_TURN_ID": claim.turn_id,
            "AGENTMAIL_TURN_DIR": str(folder.path),
            "AGENTMAIL_TURN_KEY": claim.turn_key,
            "AGENTMAIL_GATEWAY_URL": parts.gateway.url,
            "AGENTMAIL_BRIDGE_ID": parts.bridge_id,
        },
        timeout_s=parts.settings.turn_timeout_s,
        ask=partial(parts.desk.ask, Asker(claim.turn_id, claim.lease, claim.thread.id, choice.tier)),
    )
    return Prepared(request, prompt, folder, place, resumed, _remarks(place, resumed, choice))


def tie_of(prepared: Prepared, native_id: str) -> Tie:
    """The tie of this turn's session to the agent's own one."""
    return Tie(prepared.request.session_id, native_id, str(prepared.place.path))


def _fresh_because(place: Place, resumed: Resume) -> str:
    if place.instead_of is not None:
        return f"the thread's earlier workspace {place.instead_of} is no more"
    return resumed.reason


def _remarks(place: Place, resumed: Resume, choice: TierChoice) -> tuple[str, ...]:
    remarks = [choice.lowered]
    if place.instead_of is not None:
        remarks.append(
            f"The thread's workspace {place.instead_of} is no more: this ran in {place.name}, in a fresh session."
        )
    elif resumed.context_lost:
        remarks.append(f"The agent started a fresh session, without its memory of this thread: {resumed.reason}.")
    return tuple(remark for remark in remarks if remark)
