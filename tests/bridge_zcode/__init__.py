"""Tests of the bridge for ZCode."""
