"""The built-in agent: deterministic and offline.

``agentnb eliza`` talks over stdin and stdout like any other agent. Without a slash command it answers like a patient
listener (`doctor`); with one (`/help` lists them) it does a thing that agents do: stream, think, plan, call tools, ask,
read, write, run, fail, hang. It is the demo, the test double and the manual's example.

This package imports nothing at its top, and what it uses loads quickly: each user's first agent waits for it. Its side
of ACP is `agentnb.plugins.acp_agent`.
"""
