"""Imports of agentnb, one thread after another, and names of a package that are imported at their first use.

A notebook's cell and the sidebar's second shell load agentnb at the same moment. Where two imports wait for each other
in a circle, Python hands one of them a module that is half there (``cannot import name … from partially initialized
module``). Every module waits for its package's ``__init__``: so no ``__init__`` of ours imports a module of its own
package while it is loaded (``tests/unit/test_concurrent_imports.py``). Its names come by `names_at_first_use`.
"""

from __future__ import annotations

from _thread import RLock
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_importing = RLock()


def imported(*modules: str) -> Any:
    """Import modules while no other thread imports through this function; returns the last one."""
    with _importing:
        return [import_module(each) for each in modules][-1]


def names_at_first_use(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """For a package's ``__init__``: names that are imported at their first use (PEP 562), by `imported`.

    Not for names that modules of ours import while they are loaded: those would wait for this lock with the lock of
    their own module in hand.
    """

    def get(name: str) -> Any:
        if name not in homes:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name)
        return getattr(imported(homes[name]), name)

    return get, lambda: sorted(homes)
