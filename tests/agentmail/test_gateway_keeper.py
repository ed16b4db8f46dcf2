"""The gateway that `up` needs."""

from pathlib import Path

import pytest

from agentmail.errors import LocalError
from agentmail.home import Home
from agentmail.up import gateway_keeper
from agentmail.up.gateway_keeper import GatewayKeeper


async def test_without_its_package_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_keeper, "GATEWAY", "a_package_that_nobody_installed")
    keeper = GatewayKeeper(Home(tmp_path), {}, 0, say=lambda _: None, changed=lambda: None)
    with pytest.raises(LocalError, match="agentmail-gateway is not installed"):
        await keeper.start()
    assert keeper.pid is None
    assert not keeper.is_guest
