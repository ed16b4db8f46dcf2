"""A runner's launches, with real processes in the real sandbox where this machine has one."""

import os
import uuid
from contextlib import aclosing
from pathlib import Path

import pytest

from .. import process
from ..cage import Cage, CageError, HomeFile, Launch, Needs
from ..settings import load
from ..turn import TurnRequest
from ..wire import Tier


def request(tmp_path: Path, tier: Tier) -> TurnRequest:
    workspace, turn, session = (tmp_path / name for name in ("site", "turn", "session"))
    for folder in (workspace, turn / "in", turn / "out", session):
        folder.mkdir(parents=True, exist_ok=True)
    (workspace / "readme").write_text("of the workspace\n")
    (turn / "in" / "a.txt").write_text("attached\n")
    env = {"AGENTMAIL_TURN_ID": f"turn_{uuid.uuid4().hex}"}
    return TurnRequest(
        "turn_1", 1, "hello", workspace, tier, turn, session, "ses_1", None, "amt_x", "http://127.0.0.1:1", env, 60
    )


async def cage(tmp_path: Path, needs: Needs, **environ: str) -> Cage:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "private").write_text("a secret\n")
    made = Cage(load({"HOME": str(home), "AGENTMAIL_STATE_DIR": str(tmp_path / "state"), **environ}, "pi"))
    seen = await made.prove(needs)
    if not made.proven:
        if os.environ.get("AGENTMAIL_TESTS_REQUIRE_ALL"):
            pytest.fail(seen["plan"].why)
        pytest.skip(seen["plan"].why)
    return made


async def said(launch: Launch) -> list[str]:
    async with await process.start(launch.argv, cwd=launch.cwd, env=launch.env) as child:
        async with aclosing(child.stdout_lines()) as lines:
            words = [line.text async for line in lines]
        await child.wait()
        assert child.returncode == 0, child.stderr_tail()
    return words


SCRIPT = """
cat readme "$1/in/a.txt" .pi/agent/models.json "$HOME/.pi/agent/models.json" 2>/dev/null
for place in "$2/made" "$1/out/made" "$1/in/made" "$3/made" "$HOME/.pi/agent/models.json" "$HOME/made" ./made; do
  if ( : >> "$place" ) 2>/dev/null; then echo "wrote $place"; fi
done
cat "$4/private" 2>/dev/null
env | cut -d= -f1 | sort | tr '\\n' ' '
"""


@pytest.mark.parametrize("tier", ["plan", "workspace"])
async def test_a_turn_sees_its_own_things_and_nothing_else(tmp_path: Path, tier: Tier) -> None:
    models = tmp_path / "models.json"
    models.write_text("the models\n")
    needs = Needs(home=(HomeFile(models, ".pi/agent/models.json"), HomeFile(tmp_path / "none", ".x")), env={"KEY": "k"})
    made = await cage(tmp_path, needs, SECRET_TOKEN="not for the agent", LANG="en_GB.UTF-8")
    asked = request(tmp_path, tier)
    places = (str(asked.turn_dir), str(asked.session_dir), str(tmp_path), str(tmp_path / "home"))
    launch = made.launch(asked, ["/bin/sh", "-c", SCRIPT, "x", *places], needs)
    words = await said(launch)
    wrote = {line.removeprefix("wrote ") for line in words if line.startswith("wrote ")}
    wrote.discard(f"{tmp_path}/made")  # below /tmp only: a file system of the turn's own, gone with it
    assert not (tmp_path / "made").exists()
    expected = {f"{asked.session_dir}/made", f"{asked.turn_dir}/out/made", f"{launch.home}/made"}
    assert wrote == (expected | {"./made"} if tier == "workspace" else expected)
    assert words[:3] == ["of the workspace", "attached", "the models"]
    assert "a secret" not in words
    names = set(words[-1].split()) - {"PWD", "SHLVL", "OLDPWD", "_"}
    assert names == {"PATH", "HOME", "LANG", "TERM", "TMPDIR", "KEY", "AGENTMAIL_TURN_ID"}
    assert launch.sandboxed


async def test_full_is_the_users_own_reach_inside_its_namespace(tmp_path: Path) -> None:
    made = await cage(tmp_path, Needs(), AGENTMAIL_MAX_MODE="full")
    asked = request(tmp_path, "full")
    script = f'cat "$HOME/private"; : > {tmp_path}/outside; ls /proc | grep -c "^[0-9]"'
    launch = made.launch(asked, ["/bin/sh", "-c", script], Needs())
    words = await said(launch)
    assert words[0] == "a secret"
    assert (tmp_path / "outside").exists()
    assert int(words[1]) < 10
    assert not launch.sandboxed


async def test_what_a_turn_leaves_behind_is_told_and_made_harmless(tmp_path: Path) -> None:
    made = await cage(tmp_path, Needs())
    asked = request(tmp_path, "workspace")
    hook = "lib/.git/hooks/post-checkout"
    script = (
        f"mkdir -p lib/.git/hooks; : > lib/.git/HEAD; : > {hook}; chmod +x {hook}; cp /bin/true grown; chmod 4755 grown"
    )
    await said(made.launch(asked, ["/bin/sh", "-c", script], Needs()))
    lines = made.after(asked)
    assert any("lib/.git/hooks/post-checkout" in line for line in lines)
    assert (asked.workspace / "grown").stat().st_mode & 0o6000 == 0 or os.geteuid() != 0
    assert made.after(asked) == ()


async def test_a_repository_that_cannot_be_guarded_stops_the_turn(tmp_path: Path) -> None:
    made = await cage(tmp_path, Needs())
    asked = request(tmp_path, "workspace")
    (asked.workspace / ".git").symlink_to(tmp_path)
    with pytest.raises(CageError) as refused:
        made.launch(asked, ["/bin/true"], Needs())
    assert refused.value.failure.class_ == "tier_unenforceable"
    assert "symbolic link" in refused.value.failure.message
