"""AgentMail bridge for dsh."""
