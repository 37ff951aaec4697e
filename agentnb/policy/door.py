"""A door: one thing that an agent wants of us and that needs leave."""

from __future__ import annotations

import os.path
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from agentnb.state import ToolContent, ToolDiffContent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.state import ToolCallState

_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
_WRAPPED = 3

DoorKind: TypeAlias = Literal["permission", "read", "write", "terminal", "kernel", "cell"]

_TOOLS: dict[DoorKind, str] = {
    "read": "read",
    "write": "edit",
    "terminal": "execute",
    "kernel": "kernel",
    "cell": "cell",
}


class Door(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent wants.

    Args:
        kind: ``permission``: it asks by itself (ACP ``session/request_permission``); else it knocks at one of our
            services: ``read`` or ``write`` a file, run a command in a ``terminal``, run code in the ``kernel``, change
            a ``cell`` of the notebook.
        title: A short line for people.
        path: The file or the notebook, or the command's folder, resolved.
        command: The command line for a terminal, the code for the kernel.
        preview: What would change, to be shown with the question.
        asked: ACP ``ToolKind`` of what the agent asks for, at the door ``permission``.
        paths: The files that the agent says it works on, at the door ``permission``.
        again: Whether it was opened before and what it was about has changed meanwhile: no earlier answer holds.
    """

    kind: DoorKind
    title: str
    path: str | None = None
    command: str | None = None
    preview: tuple[ToolContent, ...] | None = None
    asked: str | None = None
    paths: tuple[str, ...] = ()
    again: bool = False

    @property
    def tool(self) -> str:
        """The kind of tool that a rule names: an ACP ``ToolKind``, ``"kernel"`` or ``"cell"``.

        Example:
            >>> Door(kind="terminal", title="Run ls", command="ls").tool
            'execute'
        """
        return _TOOLS.get(self.kind) or self.asked or "other"

    @property
    def files(self) -> tuple[str, ...]:
        """The files it is about; a command's folder is none."""
        if self.kind in {"read", "write", "cell"}:
            return (self.path,) if self.path is not None else ()
        return self.paths if self.command is None else ()

    def covered_by(self, call: ToolCallState) -> bool:
        """Whether this door is plainly what tool call *call* is about: the same file, or the same command.

        Of a file whose change the call shows, only that change is meant, or a whole that holds it.

        Example:
            >>> from agentnb.state import ToolCallDetails, ToolCallLocation, ToolCallStreamingState
            >>> details = ToolCallDetails(locations=(ToolCallLocation(path="/w/a.txt"),))
            >>> call = ToolCallStreamingState(tool_call_id="1", tool_name="edit", display_name="", details=details)
            >>> Door(kind="write", title="Write a.txt", path="/w/a.txt").covered_by(call)
            True
        """
        if self.kind == "terminal":
            return self.command is not None and not _scripts(self.command).isdisjoint(_commands(call))
        if self.path is None:
            return False
        wanted = os.path.realpath(self.path)
        return any(os.path.realpath(path) == wanted for path in _paths(call)) and self._is_as_shown(call, wanted)

    def _is_as_shown(self, call: ToolCallState, path: str) -> bool:
        """Whether what is written holds a change of the file that *call* showed, where both say what they are."""
        content = (call.details.content if call.details is not None else None) or ()
        shown = [each.new_text for each in _diffs(content) if os.path.realpath(each.path) == path]
        written = [each.new_text for each in _diffs(self.preview or ())]
        return not shown or not written or any(_unix(some) in _unix(whole) for some in shown for whole in written)


def _diffs(content: Iterable[object]) -> list[ToolDiffContent]:
    return [each for each in content if isinstance(each, ToolDiffContent)]


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _scripts(command: str) -> set[str]:
    """The command line, and where a shell is only there to run it (``sh -c SCRIPT``) the script alone."""
    try:
        words = shlex.split(command)
    except ValueError:
        return {command}
    wrapped = len(words) == _WRAPPED and Path(words[0]).name in _SHELLS and words[1] == "-c"
    return {command, words[2]} if wrapped else {command}


def _paths(call: ToolCallState) -> list[str]:
    details = call.details
    if details is None:
        return []
    places = [place.path for place in details.locations or ()]
    diffs = [path for item in details.content or () if isinstance(path := getattr(item, "path", None), str)]
    return [path for path in (*places, *diffs) if Path(path).is_absolute()]


def _commands(call: ToolCallState) -> list[str]:
    raw = call.details.raw_input if call.details is not None else None
    command: Any = raw.get("command") if isinstance(raw, dict) else None
    words = [command, " ".join(map(str, command)) if isinstance(command, list) else None]
    shown = getattr(call, "tool_input", None)
    if isinstance(command, list) and command:
        words.append(command[-1])
    return [word for word in (*words, shown) if isinstance(word, str) and word]
