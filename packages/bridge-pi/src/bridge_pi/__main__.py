"""The bridge between AgentMail and pi: ``bridge-pi``."""

import sys

from .runner import PiRunner
from .vendor import bridge_main


def main() -> int:
    """Run the bridge; the exit code."""
    return bridge_main.run("pi", PiRunner, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
