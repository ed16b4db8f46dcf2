"""The parts of ``check_shared.py`` and ``sync_shared.py``: standard library only, Python 3.11 and newer."""
