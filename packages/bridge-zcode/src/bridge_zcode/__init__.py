"""AgentMail bridge for ZCode."""
