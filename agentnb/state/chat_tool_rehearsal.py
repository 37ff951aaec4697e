"""The preview of a tool call that must be allowed: what its code or command would do."""

from __future__ import annotations

from agentnb.state.chat_tool_content import ToolBlockContent
from agentnb.state.data_check import DataCheck
from agentnb.state.wire import Wire


class RehearsalVariable(Wire, frozen=True, kw_only=True):
    """Ours: a variable of the kernel that would change.

    Args:
        name: Its name.
        status: ``"added"``, ``"changed"`` or ``"deleted"``.
        detail: What would become of it: types, shapes, columns before and after.
        value: The beginning of its new value, as text.
        can_restore: Whether undo can bring back what it was.
    """

    name: str
    status: str
    detail: str
    value: str | None = None
    can_restore: bool = True


class RehearsalFile(Wire, frozen=True, kw_only=True):
    """Ours: a file that would change.

    Args:
        path: Its path, relative to the folder where the code or the command runs; a folder ends with ``/``.
        status: ``"created"``, ``"changed"`` or ``"deleted"``.
        added: How many lines would be added; None where they are not counted.
        removed: How many lines would be removed; None likewise.
        diff: The change as a unified diff; empty where there is none to show.
    """

    path: str
    status: str
    added: int | None = None
    removed: int | None = None
    diff: str = ""


class ToolCallRehearsal(Wire, frozen=True, kw_only=True):
    """Ours: what code or a command did in a closed-in copy. Nothing of it has been done for real.

    Args:
        status: ``"running"`` or ``"ended"``.
        input: The code or the command that was rehearsed.
        reason: Why there is no preview; where there is one, what limits it.
        is_available: Whether there is a preview.
        summary: What it would do, in a line.
        printed: The end of what was printed.
        result: The last expression's value, as text.
        error: The exception, or why it ended early.
        exit_code: A command's exit code.
        variables: The variables that would change.
        data_checks: What may be wrong with the tables that it would change.
        files: The files that would change, as far as they are listed.
        more_files: How many files would change besides.
        pictures: The pictures that were drawn.
        processes: The programs that were started.
        connections: The addresses that were to be reached, and were not.
        refused: What was refused besides.
        seconds: How long it took.
        memory: Bytes of memory that it needed besides what was there, about.
        way: How it was isolated: ``"namespaces"`` or ``"Landlock"``.
    """

    status: str
    input: str = ""
    reason: str = ""
    is_available: bool = True
    summary: str = ""
    printed: str = ""
    result: str | None = None
    error: str | None = None
    exit_code: int | None = None
    variables: tuple[RehearsalVariable, ...] = ()
    data_checks: tuple[DataCheck, ...] = ()
    files: tuple[RehearsalFile, ...] = ()
    more_files: int = 0
    pictures: tuple[ToolBlockContent, ...] = ()
    processes: tuple[str, ...] = ()
    connections: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    seconds: float = 0.0
    memory: int | None = None
    way: str = ""
