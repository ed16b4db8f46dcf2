"""Runs inside of a turn's sandbox: listens on loopback, pipes to the bridge's socket, and becomes the agent.

``python -I -S network_shim.py SOCKET PORT -- AGENT …``. A program of its own that imports nothing of this project. The
agent keeps the process's id, so that signals, exit status and pipes are its own; the piping is done by a process beside
it, which ends with the sandbox.
"""

import os
import socket
import sys
import threading

PIECE = 65_536


def listen(port: int) -> socket.socket:
    """The socket that the agent's requests come to."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    made.listen(128)
    return made


def connect(path: str) -> socket.socket:
    """A connection to the bridge; by the folder's descriptor, since a socket's path has 107 bytes at most."""
    place, _, name = path.rpartition("/")
    folder = os.open(place, os.O_RDONLY)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.connect(f"/proc/self/fd/{folder}/{name}")
    finally:
        os.close(folder)
    return made


def pump(source: socket.socket, target: socket.socket) -> None:
    """Pipe until the end of one side, and tell the other."""
    try:
        while data := source.recv(PIECE):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


def carry(agent: socket.socket, path: str) -> None:
    """Serve one connection."""
    try:
        bridge = connect(path)
    except OSError:
        agent.close()
        return
    with agent, bridge:
        back = threading.Thread(target=pump, args=(bridge, agent), daemon=True)
        back.start()
        pump(agent, bridge)
        back.join()


def run(listening: socket.socket, path: str) -> None:
    """Take connections for ever, with no output of the agent's held open."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    while True:
        agent, _ = listening.accept()
        threading.Thread(target=carry, args=(agent, path), daemon=True).start()


def main(words: list[str]) -> None:
    """Start listening, leave the piping to a process of its own, and become the agent."""
    path, port, dashes, *command = words
    if dashes != "--" or not command:
        raise SystemExit("usage: network_shim.py SOCKET PORT -- AGENT ...")
    listening = listen(int(port))
    # Twice, so that the agent is not the parent of a process that it did not start.
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            run(listening, path)
        os._exit(0)
    os.wait()
    listening.close()
    os.execv(command[0], command)  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    main(sys.argv[1:])
