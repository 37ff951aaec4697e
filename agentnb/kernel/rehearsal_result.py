"""The result of a rehearsal, as Python shows it; and the plug-in that makes one."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugin_registry import plugins
from agentnb.state import RehearsalFile, RehearsalVariable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agentnb.ports import Previewer

SECONDS = 5.0
"""How long a rehearsal may take where nobody says."""
LONGEST_CELL = 400
MOST_ROWS = 50


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The effect that code or a command would have. Nothing of it has been done.

    Attributes:
        available: Whether it could be rehearsed at all.
        reason: Why not, a sentence; else what limits what is told, or empty.
        stdout: What was printed, to stdout and stderr, as far as it was kept.
        result: The last expression's value, as text; None where there is none.
        error: The exception, or why it ended early; None where it ended well.
        traceback: The exception's traceback; empty where there is none.
        exit_code: A command's exit code; negative, the signal that ended it. None for code.
        variables: The variables that would change, by name.
        files: The files that would change.
        more_files: How many files would change besides those.
        pictures: The pictures that were drawn: PNG, as bytes.
        processes: The programs that were started.
        connections: The addresses that were to be reached. There is no network: none of them was.
        refused: What was refused besides: files outside of the folders that may be changed, Unix sockets, signals to
            other processes.
        seconds: How long it took.
        memory: Bytes of memory that it needed besides what was there, about; None where that is not known.
        way: How it was closed in: ``"namespaces"`` or ``"Landlock"``; empty where it was not rehearsed.
    """

    available: bool = True
    reason: str = ""
    stdout: str = ""
    result: str | None = None
    error: str | None = None
    traceback: str = ""
    exit_code: int | None = None
    variables: tuple[RehearsalVariable, ...] = ()
    files: tuple[RehearsalFile, ...] = ()
    more_files: int = 0
    pictures: tuple[bytes, ...] = ()
    processes: tuple[str, ...] = ()
    connections: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    seconds: float = 0.0
    memory: int | None = None
    way: str = ""

    @property
    def summary(self) -> str:
        """The effect in a line.

        Example:
            >>> Rehearsal(files=(RehearsalFile(path="a", status="deleted"),), connections=("x:80",)).summary
            'Would delete a; needs the network: not tried.'
            >>> Rehearsal(refused=("/etc/hosts", "/etc/passwd")).summary
            'Changes nothing here; refused here: /etc/hosts and 1 more.'
        """
        if not self.available:
            return f"No preview: {self.reason}"
        pieces = [*_counted(self.files, self.more_files), *_named(self.variables)]
        parts = [f"would {', '.join(pieces)}"] if pieces else []
        if not pieces and (self.connections or self.refused):
            parts.append("changes nothing here")
        parts += ["needs the network: not tried"] if self.connections else []
        parts += [f"refused here: {_first_of(self.refused)}"] if self.refused else []
        parts += [f"fails: {self.error}"] if self.error else []
        if self.exit_code:
            parts.append(f"exit code {self.exit_code}")
        text = "; ".join(parts) or "would change nothing"
        return f"{text[0].upper()}{text[1:]}."

    def __repr__(self) -> str:
        rows = [f"{name}: {text}" for name, text in self._rows()]
        return "\n".join([self.summary, *rows, *(each.diff.rstrip("\n") for each in self.files if each.diff)])

    def _repr_html_(self) -> str:
        body = "".join(f"<tr><th>{escape(name)}</th>{_html_cell(text)}</tr>" for name, text in self._rows())
        diffs = "".join(f"<pre>{escape(each.diff)}</pre>" for each in self.files if each.diff)
        pictures = (f'<img src="data:image/png;base64,{base64.b64encode(each).decode()}">' for each in self.pictures)
        return f"<p>{escape(self.summary)}</p><table><tbody>{body}</tbody></table>{''.join(pictures)}{diffs}"

    def _rows(self) -> Iterator[tuple[str, str]]:
        for variable in self.variables[:MOST_ROWS]:
            yield variable.name, _short(f"{variable.status}: {variable.detail}")
        yield from _file_rows(self.files, self.more_files)
        outputs = {
            "printed": _short(self.stdout.rstrip("\n"), at_end=True),
            "value": _short(self.result or ""),
            "pictures": str(len(self.pictures)) if self.pictures else "",
        }
        yield from ((name, text) for name, text in outputs.items() if text)
        for name, values in (("started", self.processes), ("network", self.connections), ("refused", self.refused)):
            yield from ((name, _short(value)) for value in values[:MOST_ROWS])
        if self.error:
            yield "error", _short(self.error)
        if self.available:
            needed = "" if self.memory is None else f", {self.memory / 1e6:,.0f} MB"
            yield "took", f"{self.seconds:.2f} s{needed}"
            yield from [("note", self.reason)] if self.reason else []


def _file_rows(files: Sequence[RehearsalFile], more: int) -> Iterator[tuple[str, str]]:
    for file in files[:MOST_ROWS]:
        counts = "" if file.added is None else f" (+{file.added} -{file.removed})"
        yield file.path.encode("unicode_escape", "surrogatepass").decode(), f"{file.status}{counts}"
    left = max(0, len(files) - MOST_ROWS) + more
    if left:
        yield "files", f"and {left:,} more"


def unavailable(reason: str) -> Rehearsal:
    """No rehearsal, and why.

    Example:
        >>> unavailable("This is not Linux.").available
        False
    """
    return Rehearsal(available=False, reason=reason)


def rehearse_command(
    command: str,
    folder: str,
    *,
    env: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    descriptors: Sequence[int] = (),
) -> Rehearsal:
    """Rehearse a command of the shell; see :meth:`agentnb.ports.Previewer.command`."""
    previewer: Previewer | None = plugins().first("previewers")
    if previewer is None:
        return _NO_PLUGIN
    more: dict[str, Any] = {"descriptors": descriptors} if descriptors else {}
    return previewer.command(command, folder, env=env, seconds=seconds, **more)


def begin_code(shell: Any, code: str, folder: str, *, seconds: float = SECONDS) -> Callable[[], Rehearsal]:
    """Begin to rehearse code; see :meth:`agentnb.ports.Previewer.code`."""
    previewer: Previewer | None = plugins().first("previewers")
    return (lambda: _NO_PLUGIN) if previewer is None else previewer.code(shell, code, folder, seconds=seconds)


_NO_PLUGIN = unavailable("No plug-in that rehearses is loaded (`agentnb plugins` says why).")


def _html_cell(text: str) -> str:
    """To the left, and lines stay lines: a value may be a table."""
    cell = f"<pre>{escape(text)}</pre>" if "\n" in text else escape(text)
    return f'<td style="text-align: left">{cell}</td>'


def _short(text: str, *, at_end: bool = False) -> str:
    if len(text) <= LONGEST_CELL:
        return text
    return f"…{text[-LONGEST_CELL:]}" if at_end else f"{text[:LONGEST_CELL]}…"


def _first_of(names: Sequence[str]) -> str:
    text = _short(names[0].encode("unicode_escape", "surrogatepass").decode())
    return text if len(names) == 1 else f"{text} and {len(names) - 1:,} more"


def _counted(files: Sequence[RehearsalFile], more: int) -> Iterator[str]:
    verbs = (("deleted", "delete"), ("changed", "change"), ("created", "create"))
    for status, verb in verbs:
        matching = [each for each in files if each.status == status]
        if len(matching) == 1:
            yield f"{verb} {matching[0].path}"
        elif matching:
            yield f"{verb} {len(matching):,} files{_in_folder(matching)}"
    if more:
        yield f"change {more:,} more"


def _in_folder(files: Iterable[RehearsalFile]) -> str:
    folders = {each.path.partition("/")[0] for each in files if "/" in each.path and not each.path.startswith("/")}
    return f" in {folders.pop()}/" if len(folders) == 1 and all("/" in each.path for each in files) else ""


def _named(variables: Sequence[RehearsalVariable]) -> Iterator[str]:
    for status, verb in (("deleted", "delete"), ("changed", "change"), ("added", "add")):
        names = [each.name for each in variables if each.status == status]
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""  # noqa: PLR2004 - as many as fit a line
            yield f"{verb} the variable{'' if len(names) == 1 else 's'} {', '.join(names[:5])}{more}"
