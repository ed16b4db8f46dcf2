"""The bridge between AgentMail and dsh, the DeepSeek Harness: ``bridge-dsh``."""

import sys

from .runner import DshRunner
from .vendor import bridge_main


def main() -> int:
    """Run the bridge; the exit code."""
    return bridge_main.run("dsh", DshRunner, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
