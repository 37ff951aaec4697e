"""Tools for the agent, over MCP: look at the kernel's variables, run code in it, read and change the notebook's cells.

What a tool may do the policy says (doors ``kernel`` and ``cell``); what a kernel is the layer above knows
(:mod:`agentnb.kernel.bench`).
"""
