"""The user's live variables for an analysis, as Python that names their types."""

from __future__ import annotations

import keyword
import linecache
import sys
import types
from inspect import getblock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_SOURCE_LINES = 400
"""Lines read of a function whose cell may no longer be in the notebook."""
UNKNOWN = "__agentnb_unknown__"
MAIN = "__main__"

# Read from the types: an attribute of the user's object could be a property.
_MODULE_NAMES = vars(types.ModuleType)["__dict__"]
_CLASS_MODULE = type.__dict__["__module__"]
_CLASS_NAME = type.__dict__["__qualname__"]
_CLASS_BASES = type.__dict__["__mro__"]


def live_lines(variables: Mapping[str, Any], name: str) -> list[str]:
    """Returns lines of Python that define a variable of the user by its type; none if there is no such variable."""
    return _lines(name, variables[name]) if _is_name(name) and name in variables else []


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _lines(name: str, value: Any) -> list[str]:
    kind = type(value)
    if types.ModuleType in _CLASS_BASES.__get__(kind):
        return _module_lines(name, value)
    if type in _CLASS_BASES.__get__(kind):
        return _imported(name, value, _text(_CLASS_MODULE, value), _text(_CLASS_NAME, value))
    if kind is types.FunctionType and _is_main(value.__module__):
        return _source_lines(name, value)
    if kind is types.FunctionType or kind is types.BuiltinFunctionType:
        return _imported(name, value, value.__module__, value.__qualname__)
    module, qualified = _text(_CLASS_MODULE, kind), _text(_CLASS_NAME, kind)
    if module == MAIN:  # a cell further down defines the class
        return [f"def __agentnb_live_{name}():", f"    return {qualified}()", f"{name} = __agentnb_live_{name}()"]
    if module == "builtins" and _is_there(kind, module, qualified):
        return [f"{name} = {qualified}()"]
    imported = _imported(f"__agentnb_type_{name}", kind, module, qualified)
    if not imported[0].startswith("from"):
        return [f"{name} = {UNKNOWN}"]
    return [*imported, f"{name} = __agentnb_type_{name}()"]


def _module_lines(name: str, module: types.ModuleType) -> list[str]:
    called = _MODULE_NAMES.__get__(module).get("__name__")
    if type(called) is str and sys.modules.get(called) is module and all(map(_is_name, called.split("."))):
        return [f"import {called} as {name}"]
    return [f"{name} = {UNKNOWN}"]


def _is_main(module: Any) -> bool:
    return type(module) is str and module == MAIN


def _imported(name: str, value: Any, module: Any, qualified: Any) -> list[str]:
    """Returns lines that import *qualified* from its loaded module as *name*, or mark *name* as unknown."""
    if not _is_main(module) and _is_there(value, module, qualified):
        first, *rest = qualified.split(".")
        if not rest:
            return [f"from {module} import {first} as {name}"]
        return [
            f"from {module} import {first} as __agentnb_in_{name}",
            f"{name} = __agentnb_in_{name}.{'.'.join(rest)}",
        ]
    return [f"{name} = {UNKNOWN}"]


def _is_there(value: Any, module: Any, qualified: Any) -> bool:
    if type(module) is not str or type(qualified) is not str or not all(map(_is_name, module.split("."))):
        return False
    held: Any = sys.modules.get(module)
    if type(held) is not types.ModuleType:
        return False
    first, *rest = qualified.split(".")
    held = _MODULE_NAMES.__get__(held).get(first)
    for part in rest:
        if type not in _CLASS_BASES.__get__(type(held)):
            return False
        held = type.__dict__["__dict__"].__get__(held).get(part)
    return held is value


def _text(descriptor: Any, kind: type) -> str | None:
    """Returns a class's module or name as Python stores it; None if the class overrides it with something else."""
    try:
        bound = descriptor.__get__(kind)
    except AttributeError:
        return None
    return bound if type(bound) is str else None


def _source_lines(name: str, function: types.FunctionType) -> list[str]:
    """Returns a function's source lines from IPython's cache, since its cell may be gone."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :][:MOST_SOURCE_LINES]
    if not lines or not lines[0].startswith(("def ", "async def ", "@")):
        return [f"{name} = {UNKNOWN}"]
    try:
        block = [line.rstrip("\r\n") for line in getblock(lines)]
    except (SyntaxError, ValueError):
        return [f"{name} = {UNKNOWN}"]
    return block if function.__name__ == name else [*block, f"{name} = {function.__name__}"]
