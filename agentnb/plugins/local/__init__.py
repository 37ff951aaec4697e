"""The second built-in agent: a language model on a server of yours, over the OpenAI-compatible interface.

``agentnb local`` speaks ACP on stdin and stdout. It finds a server on this machine by itself (Ollama, LM Studio, vLLM,
llama.cpp), or uses the one whose address the user has set. Files, commands and the kernel it reaches only through its
client, whose policy decides. What the model and the server say is untrusted: it is shown as text, and nothing in it is
carried out but tool calls, by the tools that were offered.

This package imports nothing at its top, and ``httpx`` only when a server is asked.
"""
