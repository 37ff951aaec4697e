"""The result of a rehearsal, as Python shows it; and the plug-in that makes one."""

from __future__ import annotations

import base64
import functools
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.kernel.data_checks import DataChecks
from agentnb.kernel.variables.kinds import lost_words
from agentnb.plugin_registry import plugins
from agentnb.state import DataCheck, RehearsalFile, RehearsalVariable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agentnb.ports import Previewer

SECONDS = 5.0  # seconds that a rehearsal may take by default
LONGEST_CELL = 400
MOST_ROWS = 50
MOST_LINES = 20  # lines of a difference, a table or an output that are printed as text
MOST_FOLDED = 500  # lines of a difference in a notebook, where it is folded
_NO_NETWORK = " (no network in the preview)"


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The effect that code or a command would have. Nothing has been run for real.

    Attributes:
        available: True if a rehearsal was possible.
        reason: A sentence: why none was possible; otherwise what limits the result, or empty.
        stdout: The kept part of what was printed to stdout and stderr.
        result: The last expression's value, as text; None if there is none.
        error: The exception, or why the run ended early; None if it ended well.
        traceback: The exception's traceback; empty if there is none.
        exit_code: A command's exit code; if negative, the signal that ended it. None for code.
        variables: The variables that would change, by name.
        data_checks: Possible errors in the tables that would change.
        files: The files that would change.
        more_files: The number of files that would change besides those.
        pictures: The pictures that were drawn: PNG, as bytes.
        processes: The programs that were started.
        connections: The addresses that the run tried to reach; it reached none, since it has no network.
        refused: Other refused actions: files outside of the folders that may be changed, Unix sockets, signals to
            other processes.
        seconds: How long it took.
        memory: Bytes of additional memory that it needed, about; None if unknown.
        way: How it was isolated: ``"namespaces"`` or ``"Landlock"``; empty if it was not rehearsed.
    """

    available: bool = True
    reason: str = ""
    stdout: str = ""
    result: str | None = None
    error: str | None = None
    traceback: str = ""
    exit_code: int | None = None
    variables: tuple[RehearsalVariable, ...] = ()
    data_checks: tuple[DataCheck, ...] = ()
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
        """The effect in one line, and what the preview could not see.

        Example:
            >>> Rehearsal(files=(RehearsalFile(path="a", status="deleted"),), connections=("x:80",)).summary
            'Would delete a, reach x:80 (no network in the preview).'
            >>> Rehearsal(refused=("/etc/hosts", "/etc/passwd")).summary
            'Changes nothing here; refused here: /etc/hosts and 1 more.'
            >>> Rehearsal(connections=("x:80",), exit_code=7).summary
            'Fails here: the preview has no network (x:80).'
        """
        return self.summary_with("")

    def summary_with(self, concern: str) -> str:
        """The effect in one line; *concern* is a sentence: why it may do more than the preview saw.

        Example:
            >>> Rehearsal(connections=("x:80",)).summary_with("Runs a program from the internet.")
            'Changes nothing here, but runs a program from the internet (no network in the preview).'
        """
        if not self.available:
            return f"No preview: {self.reason}"
        pieces = [*_counted(self.files, self.more_files), *_named(self.variables)]
        worry = f"{concern[:1].lower()}{concern[1:]}".rstrip(".") if concern and not pieces else ""
        hosts = _first_of(self.connections) if self.connections else ""
        if hosts and (self.exit_code or self.error):
            parts = [f"fails here: the preview has no network ({hosts})"]
            parts += (
                [f"before that it would {', '.join(pieces)}"] if pieces else [f"elsewhere it {worry}"] if worry else []
            )
        elif worry:
            parts = [f"changes nothing here, but {worry}{_NO_NETWORK if hosts else ''}"]
            parts += self._failure()
        else:
            pieces += [f"reach {hosts}{_NO_NETWORK}"] if hosts else []
            nothing = "changes nothing here" if self.refused else "would change nothing"
            parts = [f"would {', '.join(pieces)}"] if pieces else [] if self._failure() else [nothing]
            parts += self._failure()
        parts += [f"refused here: {_first_of(self.refused)}"] if self.refused else []
        if lost := lost_words(each.name for each in self.variables if not each.can_restore):
            parts.append(lost.removesuffix("."))
        text = "; ".join(parts)
        return f"{text[0].upper()}{text[1:]}."

    def _failure(self) -> list[str]:
        failed = [f"fails: {self.error.removesuffix('.')}"] if self.error else []
        return [*failed, f"fails with exit code {self.exit_code}"] if self.exit_code else failed

    def __repr__(self) -> str:
        rows = [f"{name}: {text}" for name, text in self._rows()]
        return "\n".join([self.summary, *rows, *("\n".join(_lines(each.diff)) for each in self.files if each.diff)])

    def _repr_html_(self) -> str:
        body = "".join(f"<tr><th>{escape(name)}</th>{_html_cell(text)}</tr>" for name, text in self._rows())
        diffs = "".join(_html_diff(each) for each in self.files if each.diff)
        pictures = (f'<img src="data:image/png;base64,{base64.b64encode(each).decode()}">' for each in self.pictures)
        return f"<p>{escape(self.summary)}</p><table><tbody>{body}</tbody></table>{''.join(pictures)}{diffs}"

    def _rows(self) -> Iterator[tuple[str, str]]:
        for variable in self.variables[:MOST_ROWS]:
            yield variable.name, _short(f"{variable.status}: {variable.detail}")
        yield from (("check", line) for line in DataChecks(self.data_checks).lines)
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
    """The result if no rehearsal is possible, with the reason.

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
    hosts: tuple[str, ...] = (),
) -> Rehearsal:
    """Rehearse a shell command; see :meth:`agentnb.ports.Previewer.command`."""
    previewer: Previewer | None = plugins().first("previewers")
    if previewer is None:
        return _NO_PLUGIN
    more: dict[str, Any] = {"descriptors": descriptors} if descriptors else {}
    more |= {"hosts": hosts} if hosts else {}
    return previewer.command(command, folder, env=env, seconds=seconds, **more)


def begin_code(shell: Any, code: str, folder: str, *, seconds: float = SECONDS) -> Callable[[], Rehearsal]:
    """Begin to rehearse code; see :meth:`agentnb.ports.Previewer.code`."""
    previewer: Previewer | None = plugins().first("previewers")
    return (lambda: _NO_PLUGIN) if previewer is None else previewer.code(shell, code, folder, seconds=seconds)


@functools.cache
def can_preview() -> bool:
    """True if previews work here, tested by previewing the command ``true``."""
    rehearsal = rehearse_command("true", ".")
    return rehearsal.available and not rehearsal.reason


_NO_PLUGIN = unavailable("No plug-in that rehearses is loaded (`agentnb plugins` says why).")


def _lines(diff: str, most: int = MOST_LINES) -> list[str]:
    """The first lines of *diff*, then a line with the number of lines left out."""
    lines = diff.rstrip("\n").split("\n")
    left = len(lines) - most
    return lines if left <= 0 else [*lines[:most], f"… {left:,} more lines"]


def _html_diff(file: RehearsalFile) -> str:
    """The diff of *file* as HTML, folded and of limited height."""
    name = escape(file.path.encode("unicode_escape", "surrogatepass").decode())
    text = escape("\n".join(_lines(file.diff, MOST_FOLDED)))
    count = file.diff.rstrip("\n").count("\n") + 1
    lines = f'<pre style="max-height: 20em; overflow: auto">{text}</pre>'
    return f"<details><summary>{name}: {count:,} lines of difference</summary>{lines}</details>"


def _html_cell(text: str) -> str:
    """A left-aligned table cell that keeps line breaks: a value may itself be a table."""
    cell = f"<pre>{escape(text)}</pre>" if "\n" in text else escape(text)
    return f'<td style="text-align: left">{cell}</td>'


def _short(text: str, *, at_end: bool = False) -> str:
    """*text*, cut between lines and words, with a note of how much is left out; if *at_end*, its end is kept."""
    lines = text.split("\n")
    left = len(lines) - MOST_LINES
    kept = [_short_line(line, at_end) for line in (lines[-MOST_LINES:] if at_end else lines[:MOST_LINES])]
    if left > 0:
        counted = f"{left:,} {'earlier' if at_end else 'more'} line{'' if left == 1 else 's'}"
        kept = [f"… {counted}", *kept] if at_end else [*kept, f"… {counted}"]
    return "\n".join(kept)


def _short_line(line: str, at_end: bool) -> str:
    if len(line) <= LONGEST_CELL:
        return line
    kept = line[-LONGEST_CELL:].partition(" ")[2] if at_end else line[:LONGEST_CELL].rpartition(" ")[0]
    kept = kept or (line[-LONGEST_CELL:] if at_end else line[:LONGEST_CELL])
    left = f"{len(line) - len(kept):,} {'earlier' if at_end else 'more'} characters"
    return f"… {left} … {kept}" if at_end else f"{kept} … {left}"


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
