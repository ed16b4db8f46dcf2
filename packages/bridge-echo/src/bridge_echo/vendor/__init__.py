"""The baseline: modules that bridges carry as byte-identical copies. Edited only in the repository's ``shared/``."""
