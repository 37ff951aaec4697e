"""The agent's side of ACP, which our own agents are built on: `agentnb.plugins.eliza` and `agentnb.plugins.local`."""
