"""Mail from end to end: real gateways, real bridges, stand-ins for the agents."""
