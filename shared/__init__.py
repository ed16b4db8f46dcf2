"""The baseline: modules that every bridge carries as byte-identical copies. Edited only here."""
