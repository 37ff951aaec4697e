"""A table as plain text, for a repr."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


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
