"""The turns of a session: running and queued, what they mention, and what the agent asks meanwhile."""
