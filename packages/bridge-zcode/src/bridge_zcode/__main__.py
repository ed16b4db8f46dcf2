"""The bridge between AgentMail and ZCode: ``bridge-zcode``."""

import sys

from .runner import ZcodeRunner
from .vendor import bridge_main


def main() -> int:
    """Run the bridge; the exit code."""
    return bridge_main.run("zcode", ZcodeRunner, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
