"""AgentMail bridge that answers every mail with its own words."""
