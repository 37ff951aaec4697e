"""Reads paths into the user's variables, like ``runs[0]["loss"]``: names, attributes and items; nothing is called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 500
_HINT = 'For example `df`, `df.columns`, `runs[0]["loss"]` or `x[:5]`; `run_code` computes anything else.'


def follow(path: str, variables: Mapping[str, Any]) -> Any:
    """The object that *path* leads to."""
    value, _ = _followed(_parsed(path), path, variables)
    return value


def last_name(path: str) -> str:
    """The last name in *path*, of an attribute, an item or the variable itself."""
    node = _parsed(path)
    while True:
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
                return name
            case ast.Subscript(value=inner):
                node = inner
            case _:
                return path


def _parsed(path: str) -> ast.expr:
    if len(path) > LONGEST:
        raise UsageError(f"A path has at most {LONGEST} characters.", hint=_HINT)
    try:
        return ast.parse(path.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"{path!r} is not a path to a variable.", hint=_HINT) from None


def _followed(node: ast.expr, path: str, variables: Mapping[str, Any]) -> tuple[Any, str]:
    """The object at *node*, and the path that led to it."""
    match node:
        case ast.Name(id=name):
            if name not in variables:
                raise UsageError(f"There is no variable {name!r}.", hint="`variables` lists the kernel's variables.")
            return variables[name], name
        case ast.Attribute(value=inner, attr=name):
            if name.startswith("_"):
                raise UsageError(f"{name!r} is private and not shown.", hint=_HINT)
            value, called = _followed(inner, path, variables)
            return _got(lambda: getattr(value, name), f"{called}.{name}"), f"{called}.{name}"
        case ast.Subscript(value=inner, slice=index):
            value, called = _followed(inner, path, variables)
            key = _key(index, path)
            item = f"{called}[{ast.unparse(index)}]"
            return _got(lambda: value[key], item), item
    raise UsageError(f"{path!r} does more than read a variable.", hint=_HINT)


def _got(read: Any, called: str) -> Any:
    try:
        return read()
    except Exception as error:
        raise UsageError(f"{called} cannot be read: {type(error).__name__}: {error}.") from error


def _key(node: ast.expr, path: str) -> Any:
    match node:
        case ast.Slice(lower=lower, upper=upper, step=step):
            return slice(*(None if part is None else _key(part, path) for part in (lower, upper, step)))
        case ast.Tuple(elts=parts):
            return tuple(_key(part, path) for part in parts)
        case _:
            try:
                return ast.literal_eval(node)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                raise UsageError(f"{path!r} does more than read a variable.", hint=_HINT) from None
