"""A reader of shell scripts: what would be run, and with which words. It runs nothing."""

from agentnb.policy.shell.expand import Field, fields
from agentnb.policy.shell.parser import Dialect, Unreadable, parse
from agentnb.policy.shell.tree import Compound, Function, Pipeline, Redirect, Script, Simple, Word

__all__ = [
    "Compound",
    "Dialect",
    "Field",
    "Function",
    "Pipeline",
    "Redirect",
    "Script",
    "Simple",
    "Unreadable",
    "Word",
    "fields",
    "parse",
]
