"""A port that is taken."""

import os
import socket

import pytest

from agentmail.errors import LocalError
from agentmail.up.ports import check_port, next_free, port_is_free


def test_a_taken_port_names_its_holder_and_a_free_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not port_is_free(port)
        with pytest.raises(LocalError, match=rf"port {port} is taken by .*process {os.getpid()}") as raised:
            check_port(port)
        suggested = int(raised.value.next_step.rpartition(" ")[2])
        assert suggested != port
    check_port(0)


def test_the_next_port_is_near() -> None:
    assert 40_000 < next_free(40_000) < 40_051
