"""AgentMail bridge for opencode."""
