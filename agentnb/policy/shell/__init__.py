"""A reader of shell scripts: what would be run, and with which words. It runs nothing."""

from agentnb.policy.shell.expand import Field, fields
from agentnb.policy.shell.parser import Dialect, Unreadable, parse
from agentnb.policy.shell.tree import Compound, Function, Pipeline, Redirect, Script, Simple, Word
from agentnb.policy.shell.words import MOST_WORDS, TooManyWords

__all__ = [
    "MOST_WORDS",
    "Compound",
    "Dialect",
    "Field",
    "Function",
    "Pipeline",
    "Redirect",
    "Script",
    "Simple",
    "TooManyWords",
    "Unreadable",
    "Word",
    "fields",
    "parse",
]
