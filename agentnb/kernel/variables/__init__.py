"""The user's variables, as agents and undo see them.

Before an agent's code runs, :mod:`~agentnb.kernel.variables.watch` keeps what the code can reach
(:mod:`~agentnb.kernel.variables.kinds`) in a :mod:`~agentnb.kernel.variables.snapshot`: the *state* of each object that
can change, by its kind (:mod:`~agentnb.kernel.variables.kinds`). Afterwards, the objects whose state differs, and the
names that lead to them, are the code's *changes* (:mod:`~agentnb.kernel.variables.changes`). Undo reverts them in the
objects themselves.
"""
