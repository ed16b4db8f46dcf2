"""The mail server of AgentMail: ledger, HTTP API and event stream."""
