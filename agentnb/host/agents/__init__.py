"""The agents of the host's sessions: their processes, how they start and restart, what they say, how they log in."""
