"""One module per group of commands; each command is a thin shell around the pure modules."""
