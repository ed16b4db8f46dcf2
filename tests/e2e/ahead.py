"""``python -m tests.e2e.ahead SECONDS MODULE …``: run a module whose clock is that much ahead."""

import runpy
import sys
import time

if __name__ == "__main__":
    real, ahead = time.time, float(sys.argv[1])
    time.time = lambda: real() + ahead
    sys.argv[:] = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
