"""How to run a process that can't read every file, also where the tests run as root."""

import os
import shutil
import subprocess

import pytest

# Only what lets root pass by the permissions of files: the interpreter stays within reach.
_WITHOUT_OVERRIDE = ["--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]


def unprivileged() -> list[str]:
    """The words to put before a command; skips the test where the system offers no way."""
    if os.geteuid() != 0:
        return []
    if (setpriv := shutil.which("setpriv")) is None:
        pytest.skip("the tests run as root and there is no setpriv")
    prefix = [setpriv, *_WITHOUT_OVERRIDE]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("the tests run as root, and setpriv can't take its rights away here")
    return prefix
