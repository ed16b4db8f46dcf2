"""The real agents for the tests: pinned versions, one command that installs them, and a scripted model server."""
