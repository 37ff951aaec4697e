"""A table as plain text, for a repr, and as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def padded(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The cells of *rows*, each as wide as the widest of its column.

    Args:
        rows: At least one; all have as many cells.

    Example:
        >>> padded([("a", "b"), ("long", "c")])
        [['a   ', 'b'], ['long', 'c']]
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]


def lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line per row, two blanks between columns, none at the end.

    Example:
        >>> lines([("a", "b"), ("long", "")])
        ['a     b', 'long']
    """
    return ["  ".join(cells).rstrip() for cells in padded(rows)]


def html(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """The same as an HTML table; what the cells say is text.

    Example:
        >>> html(["id"], [["<b>"]])
        '<table><thead><tr><th>id</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    names = "".join(f"<th>{escape(word)}</th>" for word in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def line_counts(added: int | None, removed: int | None) -> tuple[str, str]:
    """The cells for added and removed lines; empty where they are not counted.

    Example:
        >>> line_counts(2, None)
        ('+2', '')
    """
    return "" if added is None else f"+{added}", "" if removed is None else f"-{removed}"


def on_one_line(name: str) -> str:
    r"""A file's name on one line; what cannot be printed is written as an escape.

    Example:
        >>> print(on_one_line("a\nb"))
        a\nb
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in name
    )
