"""An error as text for an agent: the error, the user's own frames with their lines and values, causes, groups.

It runs none of the user's code (no ``__str__``, no ``__repr__``, no property), so it also works for an error that hangs
or raises when it is printed.
"""

from __future__ import annotations

import builtins
import linecache
import os
import re
import sys
from collections import deque
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentnb.credentials import Credentials, is_secret_name
from agentnb.kernel.cell_changes import cell_name
from agentnb.kernel.output_text import cut, fenced, masked
from agentnb.kernel.variables.kinds import class_name
from agentnb.kernel.variables.summary import value_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType, TracebackType

LONGEST = 20_000  # characters of one summary
LONGEST_MESSAGE = 3_000
LONGEST_LINE = 300
LONGEST_CELL = 5_000
MOST_CELLS = 3  # cells whose source is shown
MOST_FRAMES = 14  # frames of the user's own code that are shown of one traceback
MOST_LIBRARY_FRAMES = 6  # consecutive library frames that are named
MOST_VALUES = 12  # values shown of one frame
MOST_ERRORS = 8  # the most errors of a chain or a group that are summarized
_ENDS = 300  # frames read at each end of a traceback
_MOST_LINES = 8  # lines of one statement
_AROUND = 2  # lines of a file before and after the statement
_LARGEST_FILE = 2_000_000
_WINDOW = 60_000
_MOST_SECRETS = 100
_PLAIN = (str, int, float, bool, bytes, type(None))
_NAME = re.compile(r"(?<![\w.])([^\W\d]\w*)((?:\.[^\W\d]\w*)?)")
_OPTIMIZED = 0x1  # CO_OPTIMIZED in co_flags: Python creates the dict of locals on demand
_group: Any = getattr(builtins, "BaseExceptionGroup", None)


class ErrorPlace(msgspec.Struct, frozen=True):
    """The cell that code is in."""

    count: int | None
    cell_id: str | None = None


class ErrorSummary(msgspec.Struct, frozen=True):
    name: str
    message: str
    text: str
    place: ErrorPlace = ErrorPlace(None)

    @property
    def mention(self) -> str:
        """The word after the ``@`` that mentions it."""
        return "error" if self.place.count is None else f"error:{self.place.count}"

    @property
    def title(self) -> str:
        line = next(iter(self.message.splitlines()), "")
        return f"{self.name}: {line}" if line else self.name


def summarize_error(
    error: BaseException,
    *,
    cell_of: Callable[[str], ErrorPlace | None] = lambda _: None,
    failed: ErrorPlace | None = None,
    root: Path | None = None,
    script: Path | None = None,
    displayed: str | None = None,
) -> ErrorSummary:
    roots = ((root or Path.cwd()).resolve(), *([script.parent] if script else []))
    telling = _Telling(error, cell_of, failed, roots)
    name, message = _class_name(error), telling.message(error, displayed)
    lines = [*telling.error(error, displayed), *telling.chain(error), *telling.sources()]
    text = cut(masked("\n".join(lines), telling.credentials), LONGEST)
    return ErrorSummary(name, masked(message, telling.credentials), text, failed or ErrorPlace(None))


class _Run(NamedTuple):
    """One frame, and how often it repeats in a row."""

    traceback: TracebackType
    times: int
    is_own: bool


class _Telling:
    """One error while its summary is written."""

    def __init__(
        self,
        error: BaseException,
        cell_of: Callable[[str], ErrorPlace | None],
        failed: ErrorPlace | None,
        roots: tuple[Path, ...],
    ) -> None:
        self.credentials = Credentials({**os.environ, **_secrets(error)})
        self._cell_of = cell_of
        self._failed = failed
        self._roots = roots
        self._own: dict[str, bool] = {}
        self._cells: dict[str, ErrorPlace] = {}
        self._summarized: set[int] = set()

    def error(self, error: BaseException, displayed: str | None = None, indent: str = "") -> list[str]:
        """The error itself, its place and its frames."""
        self._summarized.add(id(error))
        name, message = _class_name(error), self.message(error, displayed)
        lines = [f"{name}: {message}" if message else name, *self._notes(error)]
        if issubclass(type(error), SyntaxError):
            lines += self._syntax(error)
        if self._failed is not None and len(self._summarized) == 1:
            lines.append(f"The cell that failed: {_named(self._failed)}.")
        frames = self._frames(error)
        if frames:
            lines += ["", "Frames, the innermost last (the user's own with their values):", *frames]
        return [indent + line for line in lines]

    def chain(self, error: BaseException) -> list[str]:
        """The errors that led to *error*, and those that it holds."""
        lines: list[str] = []
        left: deque[tuple[str, BaseException]] = deque(_related(error))
        while left:
            if len(self._summarized) >= MOST_ERRORS:
                lines += ["", f"… (more than {MOST_ERRORS} errors; the others are left out)"]
                break
            how, other = left.popleft()
            if id(other) in self._summarized:
                continue
            lines += ["", f"{how}:", *self.error(other, indent="  ")]
            left.extend(_related(other))
        return lines

    def sources(self) -> list[str]:
        """The source, as it was run, of the cells that the frames are in."""
        lines: list[str] = []
        for file, place in islice(self._cells.items(), MOST_CELLS):
            source = self._masked_cut("".join(linecache.getlines(file)).rstrip("\n"), LONGEST_CELL)
            if source:
                lines += ["", f"{_named(place)} as it was run:", fenced(source)]
        return lines

    def message(self, error: BaseException, displayed: str | None = None) -> str:
        """The message of *error*, read without calling the user's own code."""
        text = _message(error, displayed, self.credentials)
        return self._masked_cut(text, LONGEST_MESSAGE)

    def _masked_cut(self, text: str, most: int) -> str:
        """*text*, masked and cut; only the ends of a very long text are searched for credentials."""
        return cut(masked(cut(text, _WINDOW), self.credentials), most)

    def _notes(self, error: BaseException) -> list[str]:
        notes = _attributes(error).get("__notes__")
        texts = [note for note in islice(notes, 5) if type(note) is str] if type(notes) is list else []
        return [f"Note: {self._masked_cut(note, LONGEST_LINE)}" for note in texts]

    def _syntax(self, error: BaseException) -> list[str]:
        values = {name: _descriptor(SyntaxError, name, error) for name in ("filename", "lineno", "text", "offset")}
        file, line, text, offset = values.values()
        if type(line) is not int:
            return []
        lines = [f"Place: {self._place(file if type(file) is str else '?')}, line {line}"]
        if type(text) is str and text.strip():
            lines.append(f"  {line} | {self._masked_cut(text.rstrip(), LONGEST_LINE)}")
            if type(offset) is int and 0 < offset <= LONGEST_LINE:
                lines.append(f"  {' ' * len(str(line))} | {' ' * (offset - 1)}^")
        return lines

    def _frames(self, error: BaseException) -> list[str]:
        runs, between = self._runs(error)
        own = [at for at, run in enumerate(runs) if run.is_own]
        if not own:
            kept_runs = [] if issubclass(type(error), SyntaxError) else runs[-MOST_LIBRARY_FRAMES:]
            skipped = between = 0
        else:
            runs = runs[own[0] :]  # the frames above the cell are IPython's
            own = [at - own[0] for at in own]
            kept = {*own[: MOST_FRAMES // 3], *own[-(MOST_FRAMES - MOST_FRAMES // 3) :]}
            skipped = len(own) - len(kept)
            kept_runs = [run for at, run in enumerate(runs) if not run.is_own or at in kept]
        lines: list[str] = []
        for is_own, group in groupby(kept_runs, key=lambda run: run.is_own):
            some = list(group)
            lines += self._own_frames(some) if is_own else _library_frames(some)
        if skipped or between:
            lines.append(f"… (frames left out: {skipped + between:,})")
        return lines

    def _runs(self, error: BaseException) -> tuple[list[_Run], int]:
        """The frames from the outside in, with repeated ones grouped, and the number that were not examined."""
        first: list[TracebackType] = []
        last: deque[TracebackType] = deque(maxlen=_ENDS)
        total = 0
        for traceback in _tracebacks(error):
            if len(first) < _ENDS:
                first.append(traceback)
            else:
                last.append(traceback)
            total += 1
        runs: list[_Run] = []
        for _, group in groupby([*first, *last], key=lambda each: (each.tb_frame.f_code, each.tb_lineno)):
            same = list(group)
            runs.append(_Run(same[-1], len(same), self._is_own(same[-1].tb_frame.f_code.co_filename)))
        return runs, total - len(first) - len(last)

    def _own_frames(self, runs: Iterable[_Run]) -> list[str]:
        lines: list[str] = []
        for run in runs:
            code, line = run.traceback.tb_frame.f_code, run.traceback.tb_lineno
            often = f" ({run.times:,} times in a row)" if run.times > 1 else ""
            lines.append(f"{self._place(code.co_filename)}, line {line}, in {code.co_name}{often}:")
            source_lines, words = self._lines(code.co_filename, _statement(run.traceback))
            lines += source_lines
            lines += [f"      {text}" for text in self._values(run.traceback.tb_frame, words)]
        return lines

    def _lines(self, file: str, statement: range) -> tuple[list[str], str]:
        """The numbered lines to show for a statement, and the statement's text."""
        lines = _file_lines(file)
        around = 0 if file in self._cells else _AROUND
        numbered = []
        for number in range(max(1, statement.start - around), min(len(lines), statement.stop - 1 + around) + 1):
            mark = ">" if number in statement else " "
            numbered.append(f"{mark} {number:>4} | {self._masked_cut(lines[number - 1].rstrip(), LONGEST_LINE)}")
        return numbered, "\n".join(line[:10_000] for line in lines[statement.start - 1 : statement.stop - 1])

    def _values(self, frame: FrameType, words: str) -> Iterator[str]:
        known = _variables(frame)
        values: dict[str, Any] = {}
        for match in _NAME.finditer(words):
            base, attribute = match.groups()
            if base not in known:
                continue
            values.setdefault(base, known[base])
            held = _attributes(known[base]) if attribute else {}
            if attribute[1:] in held:
                values.setdefault(base + attribute, held[attribute[1:]])
        described = [(name, value) for name, value in values.items() if not _is_code(value)]
        for name, value in described[:MOST_VALUES]:
            yield f"{name} = {value_text(value, name.rpartition('.')[2], self.credentials)}"
        if len(described) > MOST_VALUES:
            yield f"… ({len(described) - MOST_VALUES} more values)"

    def _place(self, file: str) -> str:
        if self._is_own(file):
            place, path = self._cells.get(file), Path(file)
            if place is not None:
                return _named(place)
            return next(path.relative_to(root).as_posix() for root in self._roots if path.is_relative_to(root))
        return "The text given" if file.startswith("<") else _short(file)

    def _is_own(self, file: str) -> bool:
        """True if *file* is a cell or a file of the workspace; remembers which cell."""
        if file not in self._own:
            place = self._cell_of(file)
            if place is not None:
                self._cells[file] = place
            self._own[file] = place is not None or self._is_of_workspace(file)
        return self._own[file]

    def _is_of_workspace(self, file: str) -> bool:
        path = Path(file)
        libraries = {sys.prefix, sys.base_prefix, str(Path(os.__file__).parent)}
        if "site-packages" in path.parts or "dist-packages" in path.parts or not path.is_absolute():
            return False
        is_below = any(path.is_relative_to(root) for root in self._roots)
        return is_below and not any(path.is_relative_to(each) for each in libraries)


def _message(error: BaseException, displayed: str | None, credentials: Credentials, depth: int = 0) -> str:
    kind = type(error)
    provider = next(each for each in kind.__mro__ if "__str__" in vars(each))
    arguments = _descriptor(BaseException, "args", error) or ()
    own = _descriptor(SyntaxError, "msg", error) or (_group and _descriptor(_group, "message", error))
    if type(own) is str and _is_builtin(provider):
        return own
    if _is_builtin(provider) and _are_plain(arguments):
        try:
            return str(vars(provider)["__str__"](error))
        except Exception:  # noqa: BLE001 - fields that were set to what they must not be
            return _arguments_text(arguments, credentials, depth)
    name = _class_name(error)
    if displayed and (
        matches := [*re.finditer(rf"^(?:[\w.]+\.)?{re.escape(name)}: ", displayed[-_WINDOW:], re.MULTILINE)]
    ):
        return displayed[-_WINDOW:][matches[-1].end() :].rstrip()
    return _arguments_text(arguments, credentials, depth)


def _arguments_text(arguments: tuple[Any, ...], credentials: Credentials, depth: int) -> str:
    """The arguments of an error whose own message cannot be read."""
    if len(arguments) == 1 and issubclass(type(arguments[0]), BaseException) and depth < 3:  # noqa: PLR2004
        return f"{_class_name(arguments[0])}: {_message(arguments[0], None, credentials, depth + 1)}"
    if len(arguments) == 1 and type(arguments[0]) is str:
        return arguments[0]
    return ", ".join(value_text(argument, "", credentials) for argument in arguments[:5])


def _is_builtin(kind: type[Any]) -> bool:
    return vars(builtins).get(kind.__name__) is kind


def _are_plain(arguments: tuple[Any, ...]) -> bool:
    """True if Python can format the arguments immediately, without running other code."""
    size = sum(len(each) if type(each) in (str, bytes) else 20 for each in arguments)
    huge = any(type(each) is int and each.bit_length() > 1_000 for each in arguments)  # noqa: PLR2004
    return all(type(each) in _PLAIN for each in arguments) and not huge and (len(arguments) == 1 or size <= _WINDOW)


def _related(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    cause = _descriptor(BaseException, "__cause__", error)
    context = _descriptor(BaseException, "__context__", error)
    if cause is not None:
        yield "Caused by", cause
    elif context is not None and not _descriptor(BaseException, "__suppress_context__", error):
        yield "While this error was handled", context
    if _group is not None and issubclass(type(error), _group):
        held = _descriptor(_group, "exceptions", error) or ()
        for number, each in enumerate(held, 1):
            yield f"Error {number} of {len(held)} in the group", each


def _descriptor(kind: type[Any], name: str, value: Any) -> Any:
    """A built-in attribute of *value*, even if its class redefines the name; None if there is none."""
    try:
        return vars(kind)[name].__get__(value)
    except (AttributeError, KeyError, TypeError):
        return None


def _attributes(value: Any) -> dict[str, Any]:
    """The instance's own attributes, read without running its class's code."""
    kind = type(value)
    if any("__dict__" in vars(each) and type(vars(each)["__dict__"]) is property for each in kind.__mro__):
        return {}
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return held if type(held) is dict else {}


def _tracebacks(error: BaseException) -> Iterator[TracebackType]:
    """The traceback's parts, from the outside in."""
    traceback: TracebackType | None = _descriptor(BaseException, "__traceback__", error)
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _secrets(error: BaseException) -> dict[str, str]:
    """The texts of variables named like secrets in the error's frames: a message can contain them, too.

    :class:`Credentials` takes each of the returned names for a secret.
    """
    seen = {id(each.tb_frame.f_globals): each.tb_frame for each in islice(_tracebacks(error), _ENDS)}
    for each in deque(_tracebacks(error), maxlen=MOST_FRAMES):
        seen[id(each)] = each.tb_frame
    held = (item for frame in seen.values() for item in _variables(frame).items())
    secrets = dict.fromkeys(value for name, value in held if type(value) is str is type(name) and is_secret_name(name))
    return {f"SECRET_{number}": value for number, value in enumerate(islice(secrets, _MOST_SECRETS))}


def _variables(frame: FrameType) -> dict[str, Any]:
    """The names that code in *frame* sees; built-ins are left out."""
    local = frame.f_locals if frame.f_code.co_flags & _OPTIMIZED or type(frame.f_locals) is dict else {}
    return {**(frame.f_globals if type(frame.f_globals) is dict else {}), **dict(local)}


def _is_code(value: Any) -> bool:
    """True if *value* is a module, a function or a class, whose name says enough."""
    return type(value).__name__ in {"module", "function", "builtin_function_or_method", "type"}


def _statement(traceback: TracebackType) -> range:
    """The lines of the expression that failed."""
    line = traceback.tb_lineno or 1
    positions = getattr(traceback.tb_frame.f_code, "co_positions", None)  # Python 3.11
    if positions is None or traceback.tb_lasti < 0:
        return range(line, line + 1)
    start, end, *_ = next(islice(positions(), traceback.tb_lasti // 2, None), (line, line))
    first, last = start or line, end or line
    return range(first, min(last, first + _MOST_LINES - 1) + 1) if first <= line <= last else range(line, line + 1)


def _file_lines(file: str) -> list[str]:
    """The lines of a source file that Python holds or that is not too large; else none."""
    if file not in linecache.cache:
        try:
            if not Path(file).is_file() or Path(file).stat().st_size > _LARGEST_FILE:
                return []
        except (OSError, ValueError):
            return []
    return linecache.getlines(file)


def _library_frames(runs: list[_Run]) -> list[str]:
    frames = [(run.traceback.tb_frame.f_code, run.traceback.tb_lineno) for run in runs]
    lines = [f"{_short(code.co_filename)}, line {line}, in {code.co_name}" for code, line in frames]
    if len(lines) > MOST_LIBRARY_FRAMES:
        half = MOST_LIBRARY_FRAMES // 2
        lines = [*lines[:half], f"… ({len(lines) - 2 * half} frames of libraries)", *lines[-half:]]
    return lines


def _short(file: str) -> str:
    """A library's file, without the folder that it is installed in."""
    parts = Path(file).parts
    for folder in ("site-packages", "dist-packages"):
        if folder in parts:
            return "/".join(parts[parts.index(folder) + 1 :])
    return cut("/".join(parts[-3:]), LONGEST_LINE)


def _named(place: ErrorPlace) -> str:
    name = cell_name("code", place.count)
    return f"{name} (cell id {place.cell_id})" if place.cell_id else name


def _class_name(error: BaseException) -> str:
    return cut(class_name(type(error)), LONGEST_LINE)
