"""The baseline: modules that every bridge carries as byte-identical copies. Edited only in the repository's ``shared/``."""
