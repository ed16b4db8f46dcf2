"""Programs that agents leave behind, as real processes: each says ``up PID`` on standard output once it stands."""

import sys

__all__ = ["WILD", "WILD_ORPHANS", "python"]

COMMON = """
import ctypes, fcntl, os, signal, sys, time
# Whoever of the tree lives holds this lock.
lock = os.open("alive.lock", os.O_CREAT | os.O_RDWR)
os.set_inheritable(lock, True)
fcntl.flock(lock, fcntl.LOCK_SH)
def up():
    os.write(1, b"up %d\\n" % os.getpid())
def stay():
    up()
    while True:
        time.sleep(60)
def child(then):
    if os.fork() == 0:
        then()
        os._exit(0)
def ignore():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
def setsid_and_stay():
    os.setsid()
    stay()
def daemon(then):
    def middle():
        os.setsid()
        child(then)
        os._exit(0)
    child(middle)
    os.wait()
def stubborn():
    ignore()
    stay()
def wipe_and_stay():
    ignore()
    fields = open("/proc/self/stat").read().rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    ctypes.memset(start, 0, end - start)
    ctypes.CDLL(None).prctl(15, b"kworker/0:1", 0, 0, 0)
    stay()
def bare():
    code = "import os, time; os.write(1, b'up %d\\\\n' % os.getpid()); time.sleep(600)"
    os.execve(sys.executable, ["[kworker/u8:3]", "-S", "-E", "-c", code], {})
def forks():
    up()
    for _ in range(400):
        child(lambda: time.sleep(600))
        time.sleep(0.001)
    time.sleep(600)
def moves():
    up()
    for _ in range(3000):
        if os.fork():
            os._exit(0)
        os.setsid()
    time.sleep(600)
def leader_leaves():
    import threading
    threading.Thread(target=stay).start()
    ctypes.CDLL(None).pthread_exit(None)
"""

NOHUP = "exec nohup setsid sh -c 'echo up $$; sleep 600'"

# name -> (code after COMMON, how many say "up")
WILD = {
    "a plain child": ("child(stay); stay()", 2),
    "a child in a session of its own": ("child(setsid_and_stay); stay()", 2),
    "a double-forked daemon that ignores TERM and HUP and holds stdout": ("daemon(stubborn); stay()", 2),
    "a daemon whose starter has already ended": ("daemon(stubborn); up()", 2),
    "a program started by nohup and setsid": (f"child(lambda: os.execlp('sh', 'sh', '-c', {NOHUP!r})); stay()", 2),
    "a child that forks all the time": ("child(forks); stay()", 2),
    "a main process that forks all the time and ignores TERM": ("ignore(); forks()", 1),
    "a main process that ignores TERM": ("stubborn()", 1),
    "a program under another name": ("child(bare); stay()", 2),
    "a program that left its thread leader": ("child(leader_leaves); stay()", 2),
}
# These leave parent, session and environment behind: only a process that adopts orphans finds them.
WILD_ORPHANS = {
    "a daemon without its environment": ("daemon(bare); up()", 2),
    "a daemon that wiped its environment and its name": ("daemon(wipe_and_stay); up()", 2),
    "a daemon that becomes another process all the time": ("daemon(moves); stay()", 2),
}


def python(code: str) -> list[str]:
    """A command that runs `code` after COMMON."""
    return [sys.executable, "-S", "-E", "-c", COMMON + code]
