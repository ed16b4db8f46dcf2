"""The gateway over real sockets and as a real process."""
