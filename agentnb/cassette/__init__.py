"""Cassettes: a conversation between agents and their client, kept in a file and replayed without the agents.

Recording: `wire_tap` reads one agent's wire, `recorder` gathers the taps of a process, `session_cleaning` removes what
must not be stored, `file` writes the cassette.
"""
