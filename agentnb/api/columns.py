"""Rows that Python shows as a table: as plain text, for a repr, and as HTML or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from datetime import datetime

T = TypeVar("T")


class TextTable:
    """Rows that are a table when displayed, with sentences below it; the base of `Table` and `MarkdownTable`."""

    __slots__ = ()

    _head: ClassVar[tuple[str, ...]] = ()
    _none: str | None = None
    """The text of a table without rows; if None, only its header."""

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Any]: ...

    def _cells(self, row: Any) -> tuple[str, ...]:
        raise NotImplementedError

    def _table(self) -> list[tuple[str, ...]]:
        """Returns the header and the rows."""
        return [self._head, *map(self._cells, self)]

    def _notes(self) -> Sequence[str]:
        """Returns the sentences below the table."""
        return ()

    def __repr__(self) -> str:
        rows = self._table()
        table = lines(rows) if len(rows) > 1 or self._none is None else filter(None, [self._none])
        return "\n".join([*table, *self._notes()])


class Table(TextTable):
    """A table that a notebook shows as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        has_table = rows or self._none is None
        notes = [*self._notes()] if has_table else [*filter(None, [self._none]), *self._notes()]
        return (html(head, rows) if has_table else "") + "".join(f"<p>{escape(note)}</p>" for note in notes)


class MarkdownTable(TextTable):
    """A table that a notebook shows as Markdown."""

    __slots__ = ()

    def _escaped(self, cell: str) -> str:
        return escape(cell, quote=False).replace("|", "\\|")

    def _repr_markdown_(self) -> str:
        rows = self._table()
        return self._none if self._none and len(rows) == 1 else markdown(rows, self._escaped)


class Rows(Sequence[T]):
    """An immutable sequence of rows."""

    def __init__(self, rows: Iterable[T] = ()) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> T: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...

    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self._rows[at]


def lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns one line per row, two spaces between columns, none at the end.

    *rows* needs a row, and equally many cells in each.

    Example:
        >>> lines([("a", "b"), ("long", "")])
        ['a     b', 'long']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def html(head: Iterable[str], rows: Iterable[Iterable[str]], texts: Collection[str] = ()) -> str:
    """Returns an HTML table with all cells escaped. The columns named in *texts* are aligned left.

    Example:
        >>> html(["id"], [["<b>"]])
        '<table><thead><tr><th>id</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = [*head]
    styles = [' style="text-align:left"' if word in texts else "" for word in head]
    names = "".join(f"<th{style}>{escape(word)}</th>" for style, word in zip(styles, head, strict=True))
    cells = ((f"<td{style}>{escape(cell)}</td>" for style, cell in zip(styles, row, strict=True)) for row in rows)
    body = "".join(f"<tr>{''.join(each)}</tr>" for each in cells)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def markdown(rows: Iterable[Iterable[str]], escaped: Callable[[str], str]) -> str:
    """Returns a Markdown table; the first of *rows* is the header.

    Example:
        >>> print(markdown([["id"], ["1"]], str))
        | id |
        | --- |
        | 1 |
    """
    written = [[*map(escaped, cells)] for cells in rows]
    head, *body = ("| " + " | ".join(cells) + " |" for cells in written)
    return "\n".join([head, "|" + " --- |" * len(written[0]), *body])


def moment(at: datetime | None) -> str:
    """Returns a moment in local time, to the minute; '' for None."""
    return "" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M")


def line_counts(added: int | None, removed: int | None) -> tuple[str, str]:
    """Returns the cells for added and removed lines; empty if they were not counted.

    Example:
        >>> line_counts(2, None)
        ('+2', '')
    """
    return "" if added is None else f"+{added}", "" if removed is None else f"-{removed}"


def shortened(text: str, longest: int) -> str:
    """Returns *text*; if it is longer than *longest* characters, it is cut and ends with ….

    Example:
        >>> shortened("a long one", 7)
        'a long…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def on_one_line(name: str) -> str:
    r"""Returns a file's name on one line, with unprintable characters as escapes.

    Example:
        >>> print(on_one_line("a\nb"))
        a\nb
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in name
    )
