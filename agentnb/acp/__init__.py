"""The client side of the Agent Client Protocol: connection, agent, services for the agent, and the mapper."""
