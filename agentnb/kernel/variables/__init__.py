"""The user's variables, as agents and undo see them.

:mod:`~agentnb.kernel.variables.watch` follows a piece of code and gives its *changes*
(:mod:`~agentnb.kernel.variables.changes`): a name was added, bound to another object or deleted, which undo takes back
by a *binding* to the old object; or the object was changed in place, which its *fingerprint* shows
(:mod:`~agentnb.kernel.variables.fingerprint`) and which cannot be undone.
"""
