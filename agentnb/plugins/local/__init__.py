"""The second built-in agent: a language model on the user's own server, over the OpenAI-compatible API."""
