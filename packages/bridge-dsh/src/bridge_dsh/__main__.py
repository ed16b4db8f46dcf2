"""``bridge-dsh``: connects dsh to an AgentMail gateway."""

import sys

from .runner import DshRunner
from .vendor import bridge_main

__all__ = ["main"]


def main() -> int:
    """Run the bridge; its exit code."""
    return bridge_main.run("dsh", DshRunner, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
