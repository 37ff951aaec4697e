"""Imports of agentnb, one thread after another.

A notebook's cell and the sidebar's second shell load agentnb at the same moment. While one thread runs a package's
``__init__``, Python lets another one import a module of that package; each then waits for the other, and Python ends
that by handing out a module that is half there (``cannot import name … from partially initialized module``).
"""

from __future__ import annotations

from _thread import RLock
from importlib import import_module
from typing import Any

_importing = RLock()


def imported(*modules: str) -> Any:
    """Import modules while no other thread imports through this function; give the last one.

    Args:
        modules: Their whole names. ``agentnb.api.start`` first brings nearly everything along, so that later imports,
            which do not wait for one another, find it there.

    Raises:
        ImportError: If one cannot be imported.

    Example:
        >>> imported("agentnb.errors").__name__
        'agentnb.errors'
    """
    with _importing:
        return [import_module(each) for each in modules][-1]
