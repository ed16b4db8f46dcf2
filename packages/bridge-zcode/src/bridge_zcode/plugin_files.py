"""The ZCode plugin that comes with this package: where it lies, and what it is called."""

from pathlib import Path

__all__ = ["PLUGIN_DIR", "PLUGIN_NAME"]

PLUGIN_NAME = "agentmail"
PLUGIN_DIR = Path(__file__).parent / "plugin"
