"""The workspace boundary."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentnb.errors import OutsideWorkspace
from agentnb.policy.workspace import WorkspaceBoundary


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with links that stay in it, leave it, and lead nowhere."""
    root = tmp_path / "work"
    (root / "in").mkdir(parents=True)
    (tmp_path / "workshop").mkdir()
    (root / "out").symlink_to(tmp_path / "workshop")
    (root / "loop").symlink_to(root / "loop")
    (root / "back").symlink_to(root / "in")
    return root.resolve()


@pytest.mark.parametrize(
    "path", ["..", "../workshop", "out", "out/x", "in/../../x", "/", "/etc/passwd", "loop", "a\0b"]
)
def test_outside(root: Path, path: str) -> None:
    """Up, through links, absolute, a neighbour whose name begins the same, no path at all: refused by name."""
    with pytest.raises(OutsideWorkspace) as failure:
        WorkspaceBoundary(root).resolve(path)
    assert repr(path) in str(failure.value)


def test_the_message_names_the_path_where_it_leads_and_the_workspace(root: Path) -> None:
    """And what to do."""
    with pytest.raises(OutsideWorkspace) as failure:
        WorkspaceBoundary(root).resolve("out/x")
    assert str(failure.value) == (
        f"'out/x' (it leads to '{root.parent}/workshop/x') is outside the workspace '{root}'. "
        "Start the session with a cwd or `directories` that contain it, or allow access with a rule in policy.toml: "
        f'action = "ask", tool = "read", path = "{root.parent}/workshop/**".'
    )


def test_additional_directories_count_like_the_first_folder(root: Path) -> None:
    """Links out of them are followed and refused, links into them are good; the innermost holds a path."""
    shared = root.parent / "workshop"
    (shared / "deep").mkdir()
    (shared / "away").symlink_to("/etc")
    workspace = WorkspaceBoundary(root, [shared, shared / "deep"])
    for named in (str(shared / "x"), "out/x", "../workshop/x"):
        assert workspace.root_of(workspace.resolve(named)) == shared
    assert workspace.root_of(workspace.resolve(str(shared / "deep/x"))) == shared / "deep"
    assert workspace.root_of(workspace.resolve("in/x")) == root
    for named in (str(shared / "away/passwd"), str(root.parent / "neighbour"), f"{shared}s/x"):
        with pytest.raises(OutsideWorkspace, match=r"is outside the workspace '.*' and '.*workshop'"):
            workspace.resolve(named)
