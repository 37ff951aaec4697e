"""Rows that Python shows as a table: a sequence that cannot be changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")


class Rows(Sequence[T]):
    """Some rows.

    Args:
        rows: Them.
    """

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
