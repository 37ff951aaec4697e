"""The copy of a workspace for an input: its files, its reported changes, and their application.

The inside: generated files, hostile names and links.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb.errors import FilesConflict, UsageError
from agentnb.plugins.map.workspaces import IsolatedWorkspace, WorkspaceChange, put_into
from tests.thorough import examples

NAMES = st.sampled_from(["a", "b.txt", "folder/c", "folder/deep/d", ".git/index"])
CONTENTS = st.binary(max_size=20)
FILES = st.dictionaries(NAMES, CONTENTS, max_size=5)


def filled(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def held(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@settings(max_examples=examples(30))
@given(FILES, FILES, st.sets(NAMES))
def test_applied_changes_make_the_folder_equal_to_the_copy(
    tmp_path_factory: pytest.TempPathFactory, old: dict[str, bytes], written: dict[str, bytes], deleted: set[str]
) -> None:
    """Git's own files are copied but are not changes."""
    folder = filled(tmp_path_factory.mktemp("folder"), old)
    workspace = IsolatedWorkspace(folder)
    assert held(workspace.folder) == old
    filled(workspace.folder, written)
    for name in deleted & held(workspace.folder).keys():
        (workspace.folder / name).unlink()
    expected = {name: content for name, content in held(workspace.folder).items() if name != ".git/index"}
    changes = workspace.changes()
    workspace.remove()
    assert held(folder) == old
    put_into(folder, changes)
    assert {name: content for name, content in held(folder).items() if name != ".git/index"} == expected
    assert not workspace.folder.exists()


def test_contents_of_secrets_and_large_files_are_not_kept(tmp_path: Path) -> None:
    """A link is copied as a link; contents that were not kept cannot be put back."""
    folder = filled(tmp_path / "folder", {".env": b"TOKEN=1", "a": b"1"})
    (folder / "link").symlink_to("a")
    workspace = IsolatedWorkspace(folder)
    assert (workspace.folder / "link").readlink() == Path("a")
    filled(workspace.folder, {".env": b"TOKEN=2", "large": bytes(1_000_001)})
    changes = workspace.changes()
    workspace.remove()
    assert [(each.path, each.diff, each.content) for each in changes] == [(".env", "", None), ("large", "", None)]
    with pytest.raises(UsageError, match="was too large to keep"):
        put_into(folder, changes)


@pytest.mark.parametrize("name", ["../out", "/out", "folder/../../out", "link/out", "."])
def test_changes_outside_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    """A name or a link leads out; nothing is written."""
    folder = filled(tmp_path / "folder", {"a": b"1"})
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises((UsageError, FilesConflict)):
        put_into(folder, [WorkspaceChange(path=name, status="added", content=b"x")])
    assert not (tmp_path / "out").exists()


def test_renewed_copy_equals_the_folder_and_has_no_changes(tmp_path: Path) -> None:
    """It stays in the same place, where a kernel may use it."""
    workspace = IsolatedWorkspace(filled(tmp_path / "origin", {"a.txt": b"a", "sub/b.bin": b"b" * 2_000_000}))
    before = workspace.folder.stat().st_ino
    filled(workspace.folder, {"a.txt": b"other", "new/c.txt": b"c"})
    (workspace.folder / "sub" / "b.bin").unlink()
    workspace.renew()
    assert (held(workspace.folder), workspace.changes()) == (held(tmp_path / "origin"), ())
    assert workspace.folder.stat().st_ino == before
    workspace.remove()
