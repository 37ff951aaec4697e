"""Cassettes: what an agent and its client said, kept in a file, and played again without the agent.

`recorder` writes down the wire of every agent that a kernel starts, `proxy` that of any other client; `replayer` is an
ACP agent that speaks from the file. `switch` decides, by the environment, which of them a kernel uses, and
`agentnb.pytest_plugin` sets that for tests. The file is described in ``docs/reference/cassette.md``.
"""
