"""What every engine of the store can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from agentnb.changes.model import Version

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from agentnb.changes.coverage import Look

Differences: TypeAlias = dict[str, tuple[Version | None, Version | None]]
"""Paths with their earlier and later version; None where there is none."""


class Engine(Protocol):
    """Stores contents, and trees of a whole workspace."""

    name: str

    @property
    def files(self) -> int:
        """How many files the last tree has."""

    def refresh(self, look: Look, excludes: str, *, tracked_only: bool = False) -> str:
        """Store what changed since the last tree; give the name of the tree of what there is now."""

    def differences(self, before: str, after: str) -> Differences:
        """The files that two trees have in different versions."""

    def find(self, tree: str, paths: Iterable[str]) -> dict[str, Version]:
        """The versions that *tree* has of *paths*, and of what is below them."""

    def folders(self, tree: str, paths: Iterable[str]) -> frozenset[str]:
        """Which of *paths* are folders with files in *tree*."""

    def read(self, blob: str) -> bytes:
        """The content *blob*; raises ContentNotStored where it is not stored any more."""

    def reading(self) -> AbstractContextManager[None]:
        """Say that many contents will be read until the end of this."""

    def write(self, content: bytes) -> str:
        """Store *content*; give its name."""

    def keep(self, trees: Iterable[str], blobs: Iterable[str]) -> None:
        """Forget all content but that of *trees* and *blobs*, and of the last tree."""
