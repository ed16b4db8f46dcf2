"""`agentmail up`: the gateway and the bridges as one supervised set of processes."""
