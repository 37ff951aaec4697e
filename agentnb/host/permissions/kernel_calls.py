"""The kernel tool that an agent's tool call is a call of, and its arguments, however the agent shows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.errors import UsageError
from agentnb.kernel.cell_plans import PLANS
from agentnb.kernel.tools import call_words, checked
from agentnb.safe_json import read_json
from agentnb.state import ToolTextContent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentnb.state import ToolCallState

_TOOLS = ("run_code", "run_cell", "research", *PLANS)
_NAME = re.compile(rf"(?<![a-z])(?:{'|'.join(_TOOLS)})(?![a-z_])")
_WRAPPERS = ("arguments", "args", "input", "params", "parameters")
_KINDS = {None, "other", "execute", "kernel"}
_FENCE = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)
_LONGEST_NAME = 500


class KernelCall(NamedTuple):
    """A call of one of our kernel tools."""

    name: str
    arguments: dict[str, Any]


def kernel_call(call: ToolCallState, title: str = "") -> KernelCall | None:
    """The kernel tool that *call* calls and its arguments; None where it shows none, or more than one."""
    details = call.details
    raw = details.raw_input if details is not None else None
    said = " ".join(text[:_LONGEST_NAME] for text in (call.tool_call_id, call.tool_name, call.display_name, title))
    if isinstance(raw, dict):
        said += "".join(f" {raw[key]}"[:_LONGEST_NAME] for key in ("tool", "name") if isinstance(raw.get(key), str))
    names = {*_NAME.findall(said.lower())}
    if (found := _one(_arguments(raw), names)) is not None or details is None or details.kind not in _KINDS:
        return found
    texts = [item.text for item in details.content or () if isinstance(item, ToolTextContent)]
    return _one([each for text in (*texts, title, call.display_name) for each in _arguments(text)], names)


def _one(shown: Any, names: set[str]) -> KernelCall | None:
    """The only call that *shown* can be."""
    found = {}
    for arguments in shown:
        for name in _TOOLS:
            if name != "run_code" and name not in names:
                continue
            try:
                given = checked(name, arguments)
            except UsageError:
                continue
            found[call_words(name, given)] = KernelCall(name, given)
    return next(iter(found.values())) if len(found) == 1 else None


def _arguments(value: Any) -> Iterator[dict[str, Any]]:
    """The objects that *value* can show arguments by: itself, JSON text, or what it wraps."""
    value = _read(value)
    if not isinstance(value, dict):
        return
    yield value
    for key in _WRAPPERS:
        inner = _read(value.get(key))
        if isinstance(inner, dict):
            yield inner


def _read(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.strip()
    fenced = _FENCE.match(text)
    text = fenced.group(1).strip() if fenced is not None else text
    if not text.startswith("{"):
        return None
    try:
        return read_json(text)
    except ValueError:
        return None
