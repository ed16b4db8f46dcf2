"""The gateway's HTTP side: routes, authentication, event stream and the life of the process."""
