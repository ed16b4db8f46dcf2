"""``bridge-echo``: answers every mail with its own words."""

import sys

from .runner import EchoRunner
from .vendor import bridge_main

__all__ = ["main"]


def main() -> int:
    """Run the bridge; its exit code."""
    # Its agent is a script of this package, which runs nothing that a mail names: being root is no danger.
    return bridge_main.run("echo", EchoRunner, sys.argv[1:], foreign_code=False)


if __name__ == "__main__":
    sys.exit(main())
