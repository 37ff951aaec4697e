"""The front end: the extension in JupyterLab's folders, its version, and if it is disabled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentnb import __version__
from agentnb.checkup.examination import OWN, WIDGETS, examine_front


def install(folder: Path, name: str, version: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "package.json").write_text(json.dumps({"name": name, "version": version}), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with both extensions."""
    install(tmp_path / "lab", OWN, __version__)
    install(tmp_path / "lab", WIDGETS, "5.0.16")
    return tmp_path / "lab"


def states(folders: list[Path], settings: list[Path] | None = None) -> list[tuple[str, str]]:
    return [(checkup.name, checkup.state) for checkup in examine_front(folders, settings or [], pages=True)]


def test_both_extensions_are_found(folder: Path, tmp_path: Path) -> None:
    """In the first folder that has them."""
    install(tmp_path / "older", OWN, "0.0.1")
    assert states([tmp_path / "none", folder, tmp_path / "older"]) == [("extension", "ready"), ("widgets", "ready")]
    assert states([tmp_path / "older", folder]) == [("extension", "old"), ("widgets", "ready")]


def test_missing_or_unreadable_extension_is_reported(folder: Path, tmp_path: Path) -> None:
    own, widgets = examine_front([tmp_path / "none"], [], pages=True)
    assert (own.state, widgets.state) == ("missing", "missing")
    assert str(own.todo).endswith(f"-m pip install --force-reinstall --no-deps jupyter-agentnb=={__version__}")
    (folder / OWN / "package.json").write_text("{", encoding="utf-8")
    checkup = examine_front([folder], [], pages=True)[0]
    assert (checkup.state, "is of version unknown" in checkup.message) == ("old", True)


@pytest.mark.parametrize(
    ("disabled", "own", "widgets"),
    [
        ({OWN: True}, "broken", "ready"),
        ({f"{OWN}:chat": True, WIDGETS: True}, "broken", "broken"),
        ([OWN], "broken", "ready"),
        ({OWN: False, "another": True, "agentnb-other": True}, "ready", "ready"),
        (7, "ready", "ready"),
    ],
)
def test_disabled_extension_is_reported_with_enable_command(
    folder: Path, tmp_path: Path, disabled: Any, own: str, widgets: str
) -> None:
    """Whole or one of its plugins; unreadable settings are ignored."""
    path, bad = tmp_path / "page_config.json", tmp_path / "bad.json"
    path.write_text(json.dumps({"disabledExtensions": disabled}), encoding="utf-8")
    bad.write_text("[", encoding="utf-8")
    checkups = examine_front([folder], [bad, tmp_path / "none", path], pages=True)
    assert [each.state for each in checkups] == [own, widgets]
    if own == "broken":
        assert str(checkups[0].todo).startswith("jupyter labextension enable agentnb")


def test_extensions_are_absent_when_there_is_no_jupyterlab() -> None:
    """JupyterLab may be in another environment."""
    (checkup,) = examine_front([], [], pages=False)
    assert (checkup.state, "install agentnb in theirs as well" in checkup.message) == ("absent", True)
