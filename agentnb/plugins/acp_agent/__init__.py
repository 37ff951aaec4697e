"""The agent's side of ACP, which our own agents are built on: `agentnb.plugins.eliza` and `agentnb.plugins.local`.

It shares no code with `agentnb.acp`, the client's side: the two prove each other (docs/decisions/0080). It imports
quickly: each user's first agent waits for it.
"""
