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


def test_outside_workspace_error_names_path_target_and_workspace(root: Path) -> None:
    """It also says what to do."""
    with pytest.raises(OutsideWorkspace) as failure:
        WorkspaceBoundary(root).resolve("out/x")
    assert str(failure.value) == (
        f"'out/x' (it leads to '{root.parent}/workshop/x') is outside the workspace '{root}'. "
        "Start the session with a cwd or `directories` that contain it, or allow access with a rule in policy.toml: "
        f'action = "ask", tool = "read", path = "{root.parent}/workshop/**".'
    )
