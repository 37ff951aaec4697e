"""Tools for the agent, over MCP: look at the kernel's variables, run code in it, read and change the notebook's cells.

The policy decides what a tool may do (requests ``kernel`` and ``cell``). This package knows neither IPython nor
notebooks: the layer above implements :class:`agentnb.kernel.code_runner.CodeRunner`.
"""
