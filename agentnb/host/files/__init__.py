"""The files of a workspace: read for the user, and what the agent's tool calls changed in them."""
