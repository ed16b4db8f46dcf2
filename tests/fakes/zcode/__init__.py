"""A stand-in for the ZCode command line; see zcode.py."""
