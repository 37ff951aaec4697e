"""The user's variables, as agents and undo see them. None of the user's code runs for it.

:mod:`~agentnb.kernel.variables.watch` follows a piece of code and gives its *changes*
(:mod:`~agentnb.kernel.variables.changes`): a name was added, bound to another object or deleted, which undo takes back
by a *binding* to the old object; or the object was changed in place, which its *fingerprint* shows
(:mod:`~agentnb.kernel.variables.fingerprint`) and which cannot be undone. A *summary* is an
object in a line, its *size* an estimate of its memory (:mod:`~agentnb.kernel.variables.summary`). A *path*
(:mod:`~agentnb.kernel.variables.path`) names an object inside a variable.
"""
