"""The files that an agent reads and writes through agentnb."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentnb import PermissionRequest, Session
from tests.unit.acp.conftest import Answer, Works

Start = Callable[..., Session]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def read(path: object, **more: Any) -> tuple[str, Any]:
    return "fs/read_text_file", {"path": str(path), **more}


def write(path: object, content: str) -> tuple[str, Any]:
    return "fs/write_text_file", {"path": str(path), "content": content}


def test_file_outside_the_workspace_is_refused(works: Works, workspace: Path) -> None:
    """For reads and writes, by any name; the error says what to do, nothing happens, and the turn goes on."""
    outside = workspace.parent / "outside.txt"
    outside.write_text("secret")
    (workspace / "link").symlink_to(workspace.parent)
    paths = [str(outside), "../outside.txt", "link/outside.txt"]
    answers = works.answers(*map(read, paths), *(write(path, "x") for path in paths), ("session/none", {}))
    assert [f"is outside the workspace '{workspace}'" in answer["message"] for answer in answers[:6]] == [True] * 6
    assert answers[2]["message"] == (
        f"'link/outside.txt' (it leads to '{outside}') is outside the workspace '{workspace}'. "
        "Start the session with a cwd or `directories` that contain it, or allow access with a rule in policy.toml: "
        f'action = "ask", tool = "read", path = "{workspace.parent}/**".'
    )
    assert (answers[6]["code"], outside.read_text()) == (-32601, "secret")
    outside.unlink()


def test_agent_reads_and_writes_files(works: Works, workspace: Path) -> None:
    """By ACP requests, with a preview of the change."""
    works.session.permissions = allow = Answer("allow")
    path, missing = workspace / "new" / "a.txt", workspace / "b.txt"
    answers = works.answers(write(path, "one\ntwo\n"), read(path), read(missing))
    assert answers[:2] == [{}, {"content": "one\ntwo\n"}]
    assert (answers[2]["code"], answers[2]["data"]) == (-32002, {"uri": str(missing)})
    ((diff,),) = (request.diffs for request in allow.requests)
    assert (diff.path, diff.old_text, diff.new_text) == (str(path), None, "one\ntwo\n")


def test_read_counts_lines_from_one(works: Works, workspace: Path) -> None:
    """ACP `line` and `limit`; values that are not numbers are ignored."""
    (workspace / "f").write_text("a\nb\nc\n")
    cases: list[tuple[Any, Any, str]] = [
        (None, None, "a\nb\nc\n"),
        (1, None, "a\nb\nc\n"),
        (2, None, "b\nc\n"),
        (2, 1, "b\n"),
        (3, 9, "c\n"),
        (9, None, ""),
        (1, 0, ""),
        ("x", True, "a\nb\nc\n"),
    ]
    answers = works.answers(*(read("f", line=line, limit=limit) for line, limit, _ in cases))
    assert [answer["content"] for answer in answers] == [content for _, _, content in cases]


def test_additional_directory_is_usable_and_has_its_own_boundary(start: Start, tmp_path: Path) -> None:
    """A link in it that leads out of it is not followed."""
    shared, outside = (tmp_path.parent / f"{tmp_path.name}-{name}" for name in ("shared", "outside"))
    for folder in (shared, outside):
        folder.mkdir()
    (shared / "data.txt").write_text("shared")
    (shared / "away").symlink_to(outside)
    works = Works(start("works", directories=[shared], permissions="allow"))
    there, new, *refused = works.answers(
        read(f"../{shared.name}/data.txt"),
        write(shared / "sub/new.txt", "x"),
        write(shared / "away/x", "x"),
        write(outside / "x", "x"),
    )
    assert (there, new, (shared / "sub/new.txt").read_text()) == ({"content": "shared"}, {}, "x")
    assert (["outside the workspace" in each["message"] for each in refused], names(outside)) == ([True, True], [])


def test_denied_write_changes_nothing(works: Works, workspace: Path) -> None:
    """The error has the reason."""
    works.session.permissions = "deny"
    (workspace / "f").write_text("old")
    (answer,) = works.answers(write("f", "new"))
    assert (answer["code"], 'permissions="deny"' in answer["message"]) == (-32001, True)
    assert ((workspace / "f").read_text(), names(workspace)) == ("old", ["f"])


def test_read_only_file_is_refused_without_asking(works: Works, workspace: Path) -> None:
    """Replacing it would only need write access to the folder."""
    works.session.permissions = allow = Answer("allow")
    locked = workspace / "locked.csv"
    locked.write_text("old")
    locked.chmod(0o444)
    (answer,) = works.answers(write(locked, "new"))
    assert "locked.csv is read-only, so nothing was written. Write another file, or ask" in answer["message"]
    assert (allow.requests, locked.read_text()) == ([], "old")


def test_write_keeps_the_mode_newlines_and_links(works: Works, workspace: Path) -> None:
    """A Windows file keeps its line endings, and the card shows only the lines that really change."""
    works.session.permissions = allow = Answer("allow")
    script, link = workspace / "run.sh", workspace / "link"
    script.write_bytes(b"a\r\nb\r\n")
    script.chmod(0o750)
    link.symlink_to(script)
    assert works.answers(write(link, "a\nB\r\n")) == [{}]
    assert (script.read_bytes(), script.stat().st_mode & 0o777, link.is_symlink()) == (b"a\r\nB\r\n", 0o750, True)
    assert names(workspace) == ["link", "run.sh"]
    ((diff,),) = (request.diffs for request in allow.requests)
    assert (diff.old_text, diff.new_text) == ("a\r\nb\r\n", "a\r\nB\r\n")


class Saves(Answer):
    """Saves *path* while the request is open, the first *times* times."""

    def __init__(self, path: Path, times: int) -> None:
        super().__init__("allow")
        self.path, self.times = path, times

    def __call__(self, request: PermissionRequest) -> str:
        if len(self.requests) < self.times:
            self.path.write_text(f"my words {len(self.requests)}")
        return super().__call__(request)


def test_file_changed_during_a_permission_request_asks_again(works: Works, workspace: Path) -> None:
    """The user must approve the new change; a file that keeps changing is not written."""
    path = workspace / "a.txt"
    for old in ("one", None):
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_text(old)
        works.session.permissions = saves = Saves(path, times=2)
        assert works.answers(write(path, "two")) == [{}]
        old_texts = [request.diffs[0].old_text for request in saves.requests]
        assert (old_texts, path.read_text()) == ([old, "my words 0", "my words 1"], "two")
        again = "has changed in the meantime"
        assert [again in request.title for request in saves.requests] == [False, True, True]
    works.session.permissions = saves = Saves(path, times=1000)
    (answer,) = works.answers(write(path, "three"))
    assert "changed by something else each of the 5 times" in answer["message"]
    assert (len(saves.requests), path.read_text(), names(workspace)) == (5, "my words 4", ["a.txt"])


class Relinks(Answer):
    """Leads *link* to *target* while the request is open."""

    def __init__(self, link: Path, target: Path) -> None:
        super().__init__("allow")
        self.link, self.target = link, target

    def __call__(self, request: PermissionRequest) -> str:
        self.link.unlink()
        self.link.symlink_to(self.target)
        return super().__call__(request)


def test_link_moved_during_a_permission_request_is_not_followed(works: Works, workspace: Path) -> None:
    """The user approved another file."""
    link, seen, other = (workspace / name for name in ("link", "seen", "other"))
    for path in (seen, other):
        path.write_text("old")
    link.symlink_to(seen)
    works.session.permissions = Relinks(link, other)
    (answer,) = works.answers(write(link, "new"))
    assert f"{link} no longer leads to the same file" in answer["message"]
    assert (seen.read_text(), other.read_text()) == ("old", "old")


def preview(works: Works, path: Path, content: str) -> tuple[str, str | None, str]:
    """Returns the card's text and both sides of its diff, as they stay on the tool call."""
    works.session.permissions = allow = Answer("allow")
    turn = works.turn(write(path, content))
    ((diff,),) = (request.diffs for request in allow.requests)
    return turn.tool_calls[0].text, diff.old_text, diff.new_text


def test_preview_of_a_large_file_has_the_changed_lines(works: Works, workspace: Path) -> None:
    lines = [f"line {number}\n" for number in range(1, 100_001)]
    path = workspace / "big.txt"
    path.write_text("".join(lines))
    lines[49_999:50_000] = ["new\n", "newer\n"]
    text, old, new = preview(works, path, "".join(lines))
    assert "The file has 1,088,895 characters, and would have 1,088,894." in text
    assert "lines 49,950 to 50,050" in text
    before, after = (old or "").splitlines(), new.splitlines()
    assert (before[50], after[50:52], len(before), len(after)) == ("line 50000", ["new", "newer"], 101, 102)
    assert path.read_text() == "".join(lines)


def test_preview_of_a_too_large_change_is_cut_with_a_note(works: Works, workspace: Path) -> None:
    path = workspace / "big.txt"
    path.write_text("x\n" * 200_000)
    text, old, new = preview(works, path, "y\n" * 200_000)
    assert "from line 1 on; the changes are too long to be shown in full" in text
    assert ("400,000 characters" in text, len(new), len(old or "")) == (True, 65_536, 65_536)
    path.unlink()
    text, old, _ = preview(works, path, "y\n" * 200_000)
    assert (text, old) == ("A new file of 400,000 characters; the first 262,144 are shown.", None)


def test_preview_says_when_a_binary_file_is_replaced(works: Works, workspace: Path) -> None:
    (workspace / "b.bin").write_bytes(b"\xff\xfe\x00")
    text, old, new = preview(works, workspace / "b.bin", "text")
    assert text == "This replaces a file that is not text (3 bytes) with 4 characters of text."
    assert (old, new) == ("", "text")


def test_write_is_atomic_and_leaves_no_temporary_file(works: Works, workspace: Path) -> None:
    """The new file replaces the old one once it is complete; a name may be as long as the system allows."""
    path, longest = workspace / "f", workspace / ("🐿" * 63)
    path.write_text("old")
    (workspace / "blocked").write_text("a file, no folder")
    with path.open() as reader:
        written, long, blocked = works.answers(write(path, "new"), write(longest, "x"), write("blocked/x", "new"))
        assert (reader.read(), path.read_text(), longest.read_text()) == ("old", "new", "x")
    assert (written, long, "code" in blocked) == ({}, {}, True)
    assert names(workspace) == ["blocked", "f", longest.name]


def test_paths_that_are_no_text_file_are_refused(works: Works, workspace: Path) -> None:
    """Folders, pipes, other encodings and parameters of the wrong type never block."""
    (workspace / "bytes").write_bytes(b"\xff\xfe")
    os.mkfifo(workspace / "pipe")
    requests = {
        "is not UTF-8 text": read(workspace / "bytes"),
        "pipe is not a file": read(workspace / "pipe"),
        f"{workspace} is not a file": read(workspace),
        "`path` must be text": ("fs/read_text_file", {"path": 5}),
        "is a folder": write(workspace, ""),
        "not a path": read("a\0b"),
    }
    answers = works.answers(*requests.values())
    assert [says for says, answer in zip(requests, answers, strict=True) if says not in answer["message"]] == []
