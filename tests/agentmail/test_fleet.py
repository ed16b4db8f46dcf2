"""What `up` starts: arguments and environment."""

from pathlib import Path

from agentmail.home import Home
from agentmail.up.fleet import AGENTS, bridge_program, gateway_program, is_installed

HOME = Home(Path("/home/ada/mail"))
ENVIRON = {
    "PATH": "/bin",
    "AGENTMAIL_AGENT_KEY": "ama_x",
    "AGENTMAIL_AGENT_NAME": "mallory",
    "AGENTMAIL_AGENT_SECRET": "s",
    "AGENTMAIL_SESSION_ID": "ses_x",
    "AGENTMAIL_TOKEN": "amp_x",
    "AGENTMAIL_WORKSPACES": "site=/srv/site",
}


def test_a_bridge_gets_its_own_key_file_and_no_credential_of_the_terminal() -> None:
    program = bridge_program(HOME, ENVIRON, AGENTS[1], "http://127.0.0.1:1", allow_root=False)
    assert dict(program.env) == {
        "PATH": "/bin",
        "AGENTMAIL_WORKSPACES": "site=/srv/site",
        "AGENTMAIL_GATEWAY_URL": "http://127.0.0.1:1",
        "AGENTMAIL_AGENT_KEY_FILE": "/home/ada/mail/keys/zcode.key",
        "AGENTMAIL_STATE_DIR": "/home/ada/mail/bridges/zcode",
        "PYTHONUNBUFFERED": "1",
    }
    assert program.argv()[-1] == "bridge_zcode"
    assert bridge_program(HOME, ENVIRON, AGENTS[1], "http://x", allow_root=True).argv()[-1] == "--allow-root"


def test_the_gateway_listens_on_loopback_only() -> None:
    program = gateway_program(HOME, ENVIRON, 8180)
    assert program.arguments == ("--data", "/home/ada/mail/gateway", "--port", "8180")
    assert "AGENTMAIL_TOKEN" not in program.env


def test_a_package_that_is_not_there_is_known_before_it_is_started() -> None:
    assert is_installed("bridge_echo")
    assert not is_installed("bridge_that_nobody_wrote")
