"""AgentMail on the command line: start it, write, read and watch."""
