"""jedi within the kernel's process, so that it knows the kernel's modules and import path, and imports nothing."""

from __future__ import annotations

import sys
from importlib.machinery import BuiltinImporter, ExtensionFileLoader
from typing import TYPE_CHECKING, Any

import jedi
from jedi.api.classes import Name
from jedi.api.environment import InterpreterEnvironment
from jedi.inference.compiled.access import create_access_path
from jedi.inference.compiled.subprocess import InferenceStateSameProcess, functions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MOST_STEPS = 200
"""The most assignments to a name's items that are followed to find the name's binding."""
MOST_SCRIPTS = 4
"""Analysed texts that are kept, with their results."""


class _Lookups(InferenceStateSameProcess):  # type: ignore[misc]
    """Answers jedi's questions about the process that the code runs in."""

    def load_module(self, dotted_name: str, **_: Any) -> Any:
        """Returns an already loaded compiled module, or None; it never imports one."""
        module = sys.modules.get(dotted_name)
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        if loader is BuiltinImporter or isinstance(loader, ExtensionFileLoader):
            return create_access_path(self._inference_state_weakref(), module)
        return None

    def get_module_info(self, sys_path: list[str] | None = None, full_name: str | None = None, **options: Any) -> Any:
        path = options.pop("path", None)
        try:
            return functions._find_module(  # noqa: SLF001 - jedi's own search, without its change of sys.path
                full_name=full_name, path=sys_path if path is None else path, **options
            )
        except (ImportError, AttributeError, ValueError, OSError):
            return None, None


class _Environment(InterpreterEnvironment):  # type: ignore[misc]
    def get_inference_state_subprocess(self, inference_state: Any) -> _Lookups:
        return _Lookups(inference_state)

    def get_sys_path(self) -> list[str]:
        return [*sys.path]


class JediAnalysis:
    """Keeps the last texts that were analysed. Not thread-safe."""

    def __init__(self, root: Path) -> None:
        self._project = jedi.Project(root)
        self._scripts: dict[Path, tuple[str, Any]] = {}

    def script(self, text: str, path: Path) -> Any:
        """Returns the ``jedi.Script`` for *text*; *path* is its file, or a path that stands for it."""
        text_before, script = self._scripts.pop(path, (None, None))
        if text_before != text:
            script = jedi.Script(text, path=path, project=self._project, environment=_Environment())
        self._scripts[path] = (text, script)
        while len(self._scripts) > MOST_SCRIPTS:
            del self._scripts[next(iter(self._scripts))]
        return script

    def bindings(self, definitions: Iterable[Any]) -> list[Any]:
        """Returns the bindings of *definitions*; one that binds no name is replaced by the binding before it.

        For jedi ``df["x"] = 1`` defines ``df``, since it says what is in it; here a definition must bind the name.
        """
        return [bound for name in definitions for bound in _binding(name)]


def _binding(definition: Name) -> Iterator[Name]:
    """Yields the bindings of *definition*: several if it depends on what runs, none if nothing binds it."""
    first = definition._name  # noqa: SLF001 - jedi's public names do not say what they are made of
    if not _is_item(first):
        yield definition
        return
    waiting, seen = [first], set[tuple[int, int]]()
    while waiting and len(seen) < MOST_STEPS:
        name = waiting.pop(0)
        if not _is_item(name):
            yield from Name(name.parent_context.inference_state, name).goto(follow_imports=True)
            continue
        tree = name.tree_name
        if tree.start_pos not in seen:
            seen.add(tree.start_pos)
            waiting += name.parent_context.goto(tree.value, tree.start_pos)


def _is_item(name: Any) -> bool:
    """True if jedi treats an item assignment as the definition of *name*."""
    tree = getattr(name, "tree_name", None)
    return tree is not None and not tree.is_definition() and bool(tree.is_definition(include_setitem=True))
