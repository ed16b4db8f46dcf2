"""Stand-ins for agents: programs of their own that tests run instead of the real ones."""
