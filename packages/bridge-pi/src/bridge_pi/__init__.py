"""AgentMail bridge for pi."""
