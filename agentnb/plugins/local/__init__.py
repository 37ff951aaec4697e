"""The second built-in agent: a language model on a server of yours, over the OpenAI-compatible interface."""
