"""Permission requests, of the agent and of agentnb, answered by the policy or by the user."""
