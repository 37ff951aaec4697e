"""The turns of a session: running, queued, with what they mention and what the agent asks meanwhile."""
