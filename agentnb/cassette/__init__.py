"""Cassettes: a conversation between agents and their client, kept in a file and replayed without the agents.

Recording: `wire_tap` reads one agent's wire, `recorder` gathers the taps of a process, `session_cleaning` takes out
what must not be kept, `file` writes it. Replaying: `store` finds the recorded session, `replayer` is an ACP agent that
speaks from it, `compare` says what deviates, `report` tells the starter. `switch` decides by the environment which of
both a process does; `agentnb.pytest_plugin` sets that for tests. The format: ``docs/reference/cassette.md``.
"""
