"""Changes one thing in a TOML file that a person wrote: comments, order and everything else stay as they are.

A new text is accepted only if it parses to exactly the wanted values. A file with an unsupported notation is refused,
never damaged.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.errors import AgentnbError, UsageError
from agentnb.safe_files import locked, write_atomically
from agentnb.safe_json import without_half_characters

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)
_ENTRY = re.compile(r"^[ \t]*\[\[[ \t]*([A-Za-z0-9_-]+)[ \t]*\]\]", re.MULTILINE)
_LINE_END = re.compile(r"\r?\n|\Z")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TRIES = 3


class ChangedMeanwhile(AgentnbError):
    """The file was changed by somebody else while it was to be written."""


def parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)  # type: ignore[no-any-return,unused-ignore]
    except RecursionError:
        message = "it is nested too deeply"
        raise ValueError(message) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python converts at most 4,300 digits to a number
        message = "a number in it has too many digits"
        raise ValueError(message) from None


def toml_value(value: Any) -> str:
    """Returns *value* as TOML: a string, a boolean, a number, or a list or mapping of these."""
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(name)} = {toml_value(each)}" for name, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    message = f"{value!r} cannot be written into a TOML file."
    raise UsageError(message, hint="Use text, a number, true or false, or a list of strings.")


def toml_text(value: str) -> str:
    """Returns a TOML string; what no TOML file can hold (a lone surrogate) is replaced."""
    whole = without_half_characters(value)
    inside = "".join(_ESCAPES.get(char, char if char.isprintable() else f"\\U{ord(char):08X}") for char in whole)
    return f'"{inside}"'


def with_key(text: str, key: str, value: Any) -> str:
    before = parsed(text)
    if key in before and before[key] == value and isinstance(before[key], type(value)):
        return text
    written = toml_value(value)
    wanted = {**before, key: parsed(f"x = {written}")["x"]}
    if key in before:
        texts = (f"{text[:begin]}{written}{text[end:]}" for _, begin, end in _spans(text, key, before))
        return _first(texts, wanted, key)
    return _first(_added(text, f"{_key(key)} = {written}"), wanted, key)


def without_key(text: str, key: str) -> str:
    """Returns *text* without the top-level *key*; its line is removed, a comment above it stays."""
    before = parsed(text)
    if key not in before:
        return text
    wanted = {name: value for name, value in before.items() if name != key}
    texts = (text[:begin] + text[_LINE_END.search(text, end).end() :] for begin, _, end in _spans(text, key, before))  # type: ignore[union-attr]
    return _first(texts, wanted, key)


def with_pairs(text: str, table: str, pairs: Mapping[str, Any]) -> str:
    r"""*text* with the top-level mapping *table* set to *pairs*, written with braces or below ``[table]``."""
    before = parsed(text)
    inside = re.compile(rf"^[ \t]*\[[ \t]*{re.escape(table)}[ \t]*\][^\n]*\n?", re.MULTILINE)
    for match in inside.finditer(text):
        end = next((each.start() for each in _TABLE.finditer(text, match.end())), len(text))
        begin = text[: match.end()]
        try:
            body = _paired(text[match.end() : end], pairs)
        except (UsageError, ValueError):
            continue
        separator = "" if begin.endswith("\n") else "\n"
        return _first([f"{begin}{separator}{body}{text[end:]}"], {**before, table: dict(pairs)}, table)
    if not pairs:
        return without_key(text, table)
    return with_key(text, table, dict(pairs))


def _paired(body: str, pairs: Mapping[str, Any]) -> str:
    for name in parsed(body).keys() - pairs.keys():
        body = without_key(body, name)
    for name, value in pairs.items():
        body = with_key(body, name, value)
    return body


def without_entry(text: str, table: str, number: int) -> str:
    r"""*text* without the entry *number*, 1 for the first, of the list of tables *table*."""
    before = parsed(text)
    entries = before.get(table, [])
    left = [each for at, each in enumerate(entries, 1) if at != number]
    wanted = {name: value for name, value in before.items() if name != table} | ({table: left} if left else {})
    return _first(_without_entry(text, table), wanted, table)


def key_line(lines: Sequence[str], key: str, table: str = "") -> int | None:
    """Returns the number, from 1, of the line with the *key* of *table*; of the table's own line if the key is missing.

    ``rule 2`` is the second ``[[rule]]`` table.
    """
    begin, header = 0, re.compile(r"\s*\[")
    heads = {_header(line): n for n, line in reversed([*enumerate(lines)]) if header.match(line)}
    if (own := heads.get(f"{table}.{key}")) is not None:
        return own + 1
    if table.startswith("rule "):
        rules = [n for n, line in enumerate(lines) if re.match(r"\s*\[\[\s*rule\s*\]\]", line)]
        number = int(table.split()[1])
        begin = rules[number - 1] if number <= len(rules) else 0
    elif table:
        begin = heads.get(table, 0)
    wanted = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=|\s*\[+\s*{re.escape(key)}[\].]")
    for number in range(begin, len(lines)):
        if number > begin and table and header.match(lines[number]):
            break
        if wanted.match(lines[number]):
            return number + 1
    return begin + 1 if table and lines else None


def _header(line: str) -> str:
    """The name of the table that *line* begins, without quotes."""
    return re.sub(r"[\s\"'\[\]]|#.*", "", line)


def change_file(path: Path, change: Callable[[str], str], *, head: str = "") -> bool:
    """Change the file *path* atomically, one writer at a time across all kernels."""
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock_path = path.with_name(f".{path.name}.lock")
    with lock_path.open("w", encoding="utf-8") as lock, locked(lock.fileno(), without_locks=False):
        for _ in range(_TRIES):
            before = _content(path)
            after = change(head if before is None else before.decode("utf-8")).encode("utf-8")
            if after == before or (before is None and after.decode("utf-8") == head):
                return False
            mode = 0o600 if before is None else stat.S_IMODE(path.stat().st_mode)
            if not mode & 0o222:
                raise PermissionError(13, "it is read-only", str(path))
            if _content(path) == before:
                write_atomically(path, after, mode=mode, sync=True)
                return True
    message = f"{path} is constantly being changed by another program."
    raise ChangedMeanwhile(message, hint="Try again once it has finished.")


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else toml_text(name)


def _spans(text: str, key: str, before: Mapping[str, Any]) -> Iterator[tuple[int, int, int]]:
    """Yields the possible places of *key*: its start, and the start and end of its value."""
    names = "|".join(re.escape(each) for each in (key, f'"{key}"', f"'{key}'"))
    for match in re.finditer(rf"^[ \t]*(?:{names})[ \t]*=[ \t]*", text, re.MULTILINE):
        for end in _ends(text, match.end()):
            with contextlib.suppress(ValueError):
                if parsed(text[match.start() : end]) == {key: before[key]}:
                    yield match.start(), match.end(), end
                    break


def _ends(text: str, begin: int) -> Iterator[int]:
    """Yields the possible ends of a value, nearest first: before a comment, else at the end of a line."""
    at = begin
    while at <= len(text):
        end = _LINE_END.search(text, at)
        assert end is not None  # noqa: S101 - every text has an end
        for comment in re.finditer("#", text[at : end.start()]):
            before = at + comment.start()
            while before > at and text[before - 1] in " \t":
                before -= 1
            yield before
        yield end.start()
        if end.end() == at:
            return
        at = end.end()


def _added(text: str, line: str) -> Iterator[str]:
    """Yields *text* with *line* after the top-level keys, above the first table's comment; else at the end or start."""
    newline = "\r\n" if "\r\n" in text else "\n"
    for match in _TABLE.finditer(text):
        above = text[: match.start()].splitlines(keepends=True)
        while above and above[-1].lstrip().startswith("#"):
            above.pop()
        begin = "".join(above)
        own = begin.rstrip()
        gap = text[len(begin) :]
        yield f"{own}{newline if own else ''}{line}{newline}{newline}{gap}"
    end = "" if not text or text.endswith("\n") else newline
    yield f"{text}{end}{line}{newline}"
    yield f"{line}{newline}{text}"


def _without_entry(text: str, table: str) -> Iterator[str]:
    heads = [match.start() for match in _TABLE.finditer(text)]
    for match in _ENTRY.finditer(text):
        if match[1] != table:
            continue
        for end in (*(head for head in heads if head > match.start()), len(text)):
            kept = text[match.start() : end].splitlines(keepends=True)
            comment: list[str] = []
            while end != len(text) and kept and (kept[-1].lstrip().startswith("#") or not kept[-1].strip()):
                comment.insert(0, kept.pop())
            while comment and not comment[0].strip():
                comment.pop(0)
            yield f"{text[: match.start()]}{''.join(comment)}{text[end:]}"


def _first(texts: Iterable[str], wanted: Mapping[str, Any], key: str) -> str:
    """Returns the first of *texts* that parses to *wanted*; raises if there is none."""
    for text in texts:
        with contextlib.suppress(ValueError):
            if parsed(text) == wanted:
                return text
    message = f"{key!r} is written in a way that could not be changed."
    raise UsageError(message, hint="Change it by hand.")
