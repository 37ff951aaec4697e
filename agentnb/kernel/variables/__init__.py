"""The user's variables, as agents and undo see them.

Before an agent's code runs, :mod:`~agentnb.kernel.variables.watch` keeps what the code can reach
(:mod:`~agentnb.kernel.variables.kinds`) in a :mod:`~agentnb.kernel.variables.snapshot`: the *state* of each object that
can change, by its kind (:mod:`~agentnb.kernel.variables.kinds`). Afterwards the objects that are no longer in their
state, and the names that lead to them, are its *changes* (:mod:`~agentnb.kernel.variables.changes`), which undo takes
back in the objects themselves.
"""
