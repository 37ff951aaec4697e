"""The files service, used by a real agent and directly."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentnb.acp.files import SIDE, TIMES, Files
from agentnb.errors import OutsideWorkspace, PermissionDenied
from agentnb.kernel.code_runner import NotebookCell
from agentnb.policy.request import PolicyRequest
from agentnb.policy.workspace import WorkspaceBoundary
from agentnb.rpc_message import RpcError
from agentnb.safe_files import open_parent
from agentnb.server.comm.notebook import PageNotebook
from agentnb.server.comm.open_notebooks import UnsavedNotebook
from agentnb.state import ToolDiffContent, ToolTextContent
from tests.unit.acp.recording_listener import RecordingListener, talking


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
async def files(tmp_path: Path) -> Files:
    """The service, with a listener that allows everything."""
    return Files(WorkspaceBoundary(tmp_path), RecordingListener())


async def test_file_outside_the_workspace_is_refused(tmp_path: Path) -> None:
    """For reads and writes, the error names path and workspace; nothing happens, and the turn goes on."""
    outside, inside = tmp_path / "outside.txt", tmp_path / "inside"
    outside.write_text("secret")
    inside.mkdir()
    async with talking("reads_outside", inside) as talk:
        for path in (str(outside), "../outside.txt"):
            await talk.prompt(path)
        assert talk.listener.text.count(f"is outside the workspace '{inside.resolve()}'") == 4
        assert (outside.read_text(), talk.listener.requests) == ("secret", [])


async def test_agent_reads_and_writes_files(tmp_path: Path) -> None:
    """By ACP requests, with a preview of the change."""
    path = tmp_path / "new" / "a.txt"
    requests: list[Any] = [
        ["fs/write_text_file", {"path": str(path), "content": "one\ntwo\n"}],
        ["fs/read_text_file", {"path": str(path)}],
        ["fs/read_text_file", {"path": str(tmp_path / "b.txt")}],
    ]
    async with talking("works", tmp_path) as talk:
        await talk.prompt(json.dumps(requests))
        answers = [json.loads(line) for line in talk.listener.text.splitlines()]
        requests = talk.listener.requests
    assert answers[:2] == [{}, {"content": "one\ntwo\n"}]
    assert (answers[2]["code"], answers[2]["data"]) == (-32002, {"uri": str(tmp_path / "b.txt")})
    assert [(request.kind, request.path) for request in requests[:2]] == [("write", str(path)), ("read", str(path))]
    assert requests[0].preview == (ToolDiffContent(path=str(path), old_text=None, new_text="one\ntwo\n"),)


@pytest.mark.parametrize(
    ("line", "limit", "content"),
    [
        (None, None, "a\nb\nc\n"),
        (1, None, "a\nb\nc\n"),
        (2, None, "b\nc\n"),
        (2, 1, "b\n"),
        (3, 9, "c\n"),
        (9, None, ""),
        (1, 0, ""),
        ("x", True, "a\nb\nc\n"),
    ],
)
async def test_read_counts_lines_from_one(tmp_path: Path, files: Files, line: Any, limit: Any, content: str) -> None:
    """ACP `line` and `limit`; values that are not numbers are ignored."""
    (tmp_path / "f").write_text("a\nb\nc\n")
    assert await files.read({"path": str(tmp_path / "f"), "line": line, "limit": limit}) == {"content": content}


async def test_read_returns_unsaved_notebook_content(tmp_path: Path) -> None:
    """By lines, too; a denied reader learns nothing, and a missing file stays missing."""
    cell = {"cell_type": "raw", "id": "a", "metadata": {}, "source": ["saved"]}
    path, listener = tmp_path / "a.ipynb", RecordingListener()
    path.write_text(json.dumps({"nbformat": 4, "cells": [cell]}), encoding="utf-8")
    page = NotebookCell(id="a", kind="raw", count=None, source="one\ntwo")
    listener.kept = UnsavedNotebook(PageNotebook(path="a.ipynb", unsaved=True, cells=(page,)))
    files = Files(WorkspaceBoundary(tmp_path), listener)
    whole = (await files.read({"path": str(path)}))["content"]
    assert json.loads(whole)["cells"][0]["source"] == ["one\n", "two"]
    third = await files.read({"path": str(path), "line": 3, "limit": 2})
    assert third == {"content": "".join(whole.splitlines(keepends=True)[2:4])}
    with pytest.raises(RpcError, match="no file"):
        await files.read({"path": str(tmp_path / "b.ipynb")})
    listener.deny = "no"
    with pytest.raises(PermissionDenied):
        await files.read({"path": str(path)})


async def test_write_through_a_link_out_of_the_workspace_is_refused(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)
    with pytest.raises(OutsideWorkspace, match="it leads to"):
        await Files(WorkspaceBoundary(inside), RecordingListener()).write(
            {"path": str(inside / "link" / "x"), "content": ""}
        )
    assert not (tmp_path / "x").exists()


async def test_additional_directory_is_usable_and_has_its_own_boundary(tmp_path: Path) -> None:
    """A link placed below it after the check is not followed."""
    work, shared, outside = (tmp_path / name for name in ("work", "shared", "outside"))
    for folder in (work, shared, outside):
        folder.mkdir()
    (shared / "data.txt").write_text("shared")
    (shared / "sub").mkdir()
    files = Files(WorkspaceBoundary(work, [shared]), RecordingListener())
    assert await files.read({"path": "../shared/data.txt"}) == {"content": "shared"}
    await files.write({"path": str(shared / "sub/new.txt"), "content": "x"})
    assert (shared / "sub/new.txt").read_text() == "x"
    (shared / "away").symlink_to(outside)
    for named in (str(shared / "away/x"), str(outside / "x")):
        with pytest.raises(OutsideWorkspace):
            await files.write({"path": named, "content": "x"})
    path = WorkspaceBoundary(work, [shared]).resolve(str(shared / "sub/new.txt"))
    (shared / "sub").rename(shared / "was")
    (shared / "sub").symlink_to(outside)
    with pytest.raises(OutsideWorkspace, match="no longer leads"), open_parent(shared, path):
        pass
    assert names(outside) == []


async def test_denied_write_changes_nothing(tmp_path: Path) -> None:
    """The error has the listener's reason."""
    (tmp_path / "f").write_text("old")
    with pytest.raises(PermissionDenied, match="not today"):
        await Files(WorkspaceBoundary(tmp_path), RecordingListener(deny="not today")).write(
            {"path": str(tmp_path / "f"), "content": "new"}
        )
    assert ((tmp_path / "f").read_text(), names(tmp_path)) == ("old", ["f"])


async def test_read_only_file_is_refused_without_asking(tmp_path: Path, files: Files) -> None:
    """Replacing it would only need write access to the folder."""
    locked = tmp_path / "locked.csv"
    locked.write_text("old")
    locked.chmod(0o444)
    with pytest.raises(
        RpcError, match=r"locked\.csv is read-only, so nothing was written\. Write another file, or ask"
    ):
        await Files(WorkspaceBoundary(tmp_path), RecordingListener(deny="asked")).write(
            {"path": str(locked), "content": "new"}
        )
    assert await files.read({"path": str(locked)}) == {"content": "old"}


async def test_write_keeps_the_mode_newlines_and_links(tmp_path: Path, files: Files) -> None:
    script, link = tmp_path / "run.sh", tmp_path / "link"
    script.write_bytes(b"a\r\nb\r\n")
    script.chmod(0o750)
    link.symlink_to(script)
    await files.write({"path": str(link), "content": "c\nd\n"})
    assert (script.read_bytes(), script.stat().st_mode & 0o777, link.is_symlink()) == (b"c\r\nd\r\n", 0o750, True)
    assert names(tmp_path) == ["link", "run.sh"]


async def test_preview_has_the_newlines_that_are_written(tmp_path: Path) -> None:
    """A Windows file keeps its line endings, and the card shows only the lines that really change."""
    listener, path = RecordingListener(), tmp_path / "win.txt"
    path.write_bytes(b"a\r\nb\r\n")
    await Files(WorkspaceBoundary(tmp_path), listener).write({"path": str(path), "content": "a\nB\r\n"})
    assert path.read_bytes() == b"a\r\nB\r\n"
    assert listener.requests[0].preview == (
        ToolDiffContent(path=str(path), old_text="a\r\nb\r\n", new_text="a\r\nB\r\n"),
    )


class Slow(RecordingListener):
    """Saves *words* into *path* while the card is open, the first *times* times."""

    def __init__(self, path: Path, words: str, times: int) -> None:
        super().__init__()
        self.path, self.words, self.times = path, words, times

    async def authorize(self, request: PolicyRequest) -> PolicyRequest:
        if len(self.requests) < self.times:
            self.path.write_text(f"{self.words} {len(self.requests)}")
        return await super().authorize(request)


async def test_file_changed_during_a_permission_request_asks_again(tmp_path: Path) -> None:
    """The user must approve the new change; otherwise nothing is written."""
    path = tmp_path / "a.txt"
    for old in ("one", None):
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_text(old)
        listener = Slow(path, "my words", times=2)
        await Files(WorkspaceBoundary(tmp_path), listener).write({"path": str(path), "content": "two"})
        old_texts = [request.preview[0].old_text for request in listener.requests if request.preview]  # type: ignore[union-attr]
        assert old_texts == [old, "my words 0", "my words 1"]
        assert [request.again for request in listener.requests] == [False, True, True]
        assert "has changed in the meantime" in listener.requests[1].title
        assert path.read_text() == "two"


async def test_file_that_keeps_changing_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    listener = Slow(path, "my words", times=1000)
    with pytest.raises(RpcError, match="changed by something else"):
        await Files(WorkspaceBoundary(tmp_path), listener).write({"path": str(path), "content": "two"})
    assert (len(listener.requests), path.read_text(), names(tmp_path)) == (TIMES, f"my words {TIMES - 1}", ["a.txt"])


async def preview(path: Path, content: str) -> tuple[list[str], ToolDiffContent]:
    listener = RecordingListener()
    await Files(WorkspaceBoundary(path.parent), listener).write({"path": str(path), "content": content})
    *texts, diff = listener.requests[0].preview or ()
    assert isinstance(diff, ToolDiffContent)
    return [each.text for each in texts if isinstance(each, ToolTextContent)], diff


async def test_preview_of_a_large_file_has_the_changed_lines(tmp_path: Path) -> None:
    lines = [f"line {number}\n" for number in range(1, 100_001)]
    path = tmp_path / "big.txt"
    path.write_text("".join(lines))
    lines[49_999:50_000] = ["new\n", "newer\n"]
    (text,), diff = await preview(path, "".join(lines))
    assert "The file has 1,088,895 characters, and would have 1,088,894." in text
    assert "lines 49,950 to 50,050" in text
    assert (diff.old_text or "").splitlines()[50] == "line 50000"
    assert diff.new_text.splitlines()[50:52] == ["new", "newer"]
    assert (len((diff.old_text or "").splitlines()), len(diff.new_text.splitlines())) == (101, 102)
    assert path.read_text() == "".join(lines)


async def test_preview_of_a_too_large_change_is_cut_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "big.txt"
    path.write_text("x\n" * 200_000)
    (text,), diff = await preview(path, "y\n" * 200_000)
    assert "from line 1 on; the changes are too long to be shown in full" in text
    assert "400,000 characters" in text
    assert len(diff.new_text) == len(diff.old_text or "") == SIDE
    path.unlink()
    (text,), diff = await preview(path, "y\n" * 200_000)
    assert text == "A new file of 400,000 characters; the first 262,144 are shown."
    assert diff.old_text is None


async def test_preview_says_when_a_binary_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "b.bin"
    path.write_bytes(b"\xff\xfe\x00")
    (text,), diff = await preview(path, "text")
    assert text == "This replaces a file that is not text (3 bytes) with 4 characters of text."
    assert (diff.old_text, diff.new_text) == ("", "text")


async def test_write_is_atomic_and_leaves_no_temporary_file(tmp_path: Path, files: Files) -> None:
    """The new file replaces the old one only once it is complete."""
    path = tmp_path / "f"
    path.write_text("old")
    reader = path.open()
    await files.write({"path": str(path), "content": "new"})
    with reader:
        assert (reader.read(), path.read_text()) == ("old", "new")
    (tmp_path / "blocked").write_text("a file, no folder")
    with pytest.raises((RpcError, OutsideWorkspace)):
        await files.write({"path": str(tmp_path / "blocked" / "x"), "content": "new"})
    assert names(tmp_path) == ["blocked", "f"]


async def test_file_with_the_longest_possible_name_is_written(tmp_path: Path, files: Files) -> None:
    """The temporary file beside it has a shorter name."""
    path = tmp_path / ("🐿" * 63)
    await files.write({"path": str(path), "content": "x"})
    assert (path.read_text(), names(tmp_path)) == ("x", [path.name])


async def test_paths_that_are_no_text_file_are_refused(tmp_path: Path, files: Files) -> None:
    """Folders, pipes, other encodings and parameters of the wrong type never block."""
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    os.mkfifo(tmp_path / "pipe")
    for params, says in (
        ({"path": str(tmp_path / "bytes")}, "is not UTF-8 text"),
        ({"path": str(tmp_path / "pipe")}, "is not a file"),
        ({"path": str(tmp_path)}, "is not a file"),
        ({"path": 5}, "`path` must be text"),
    ):
        with pytest.raises(RpcError, match=says):
            await files.read(params)
    with pytest.raises(RpcError, match="is a folder"):
        await files.write({"path": str(tmp_path), "content": ""})
    with pytest.raises(OutsideWorkspace, match="not a path"):
        await files.read({"path": "a\0b"})
