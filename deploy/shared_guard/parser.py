"""The command line of both programs."""

import argparse
import sys
from typing import NoReturn

__all__ = ["USAGE", "Parser"]

USAGE = 3


class Parser(argparse.ArgumentParser):
    """argparse's own exit code for usage errors, 2, means something else here."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line and exit with USAGE."""
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")
