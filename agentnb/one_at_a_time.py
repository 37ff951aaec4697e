"""Imports of agentnb, one thread after another, and names of a package that are imported at their first use.

A notebook's cell and the sidebar's second shell load agentnb at the same moment. If two imports wait for each other,
Python gives one of them a partly initialized module (``cannot import name … from partially initialized module``). Every
module waits for its package's ``__init__``: so our ``__init__`` modules do not import modules of their own package
while they load (``tests/unit/test_concurrent_imports.py``). They get their names through `names_at_first_use`.
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
    """Returns ``__getattr__`` and ``__dir__`` for a package whose names `imported` loads at first use (PEP 562).

    Not for names that our modules import while they load: those would wait for this lock while they hold the lock of
    their own module.
    """

    def get(name: str) -> Any:
        if name not in homes:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name)
        return getattr(imported(homes[name]), name)

    return get, lambda: sorted(homes)
