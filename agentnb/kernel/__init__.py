"""Tools for the agent, over MCP: look at the kernel's variables, run code in it, read and change the notebook's cells.

The policy decides what a tool may do (requests ``kernel`` and ``cell``); what a kernel is the layer above knows
(:mod:`agentnb.kernel.bench`).
"""
