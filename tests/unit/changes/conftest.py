"""A workspace and its store, with either engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agentnb.changes.store import ChangeStore

Opened: TypeAlias = Callable[..., ChangeStore]


def is_sensitive(path: str) -> bool:
    return path.rpartition("/")[2].startswith(".env")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture(params=["git", "copy"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def opened(tmp_path: Path, workspace: Path, engine: str) -> Opened:
    """Returns a function that opens the store with these arguments."""

    def opened(**arguments: Any) -> ChangeStore:
        folders = arguments.pop("folder", tmp_path / "store"), arguments.pop("workspace", workspace)
        return ChangeStore(*folders, **{"is_sensitive": is_sensitive, "engine": engine, **arguments})

    return opened


@pytest.fixture
def store(opened: Opened) -> ChangeStore:
    return opened()
