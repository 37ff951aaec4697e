"""Parts of a file's change, kept and undone separately; the agent writes by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentnb.errors import ChangesError, UsageError
from tests.unit.host.conftest import change, changes_of, does
from tests.unit.host.kernels import Kernel

BEFORE = "".join(f"{number}\n" for number in range(30))
FIRST, LAST = BEFORE.replace("\n3\n", "\nthree\n"), BEFORE.replace("29\n", "")
AFTER = FIRST.replace("29\n", "")
TOP = {"beforeStart": 3, "beforeEnd": 4, "afterStart": 3, "afterEnd": 4}
END = {"beforeStart": 29, "beforeEnd": 30, "afterStart": 29, "afterEnd": 29}
"""Line 3 was replaced, the last line removed."""


class Review:
    """One turn that changed one file, as a page reviews it."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.file = kernel, kernel.folder / "a.txt"
        self.file.write_text(BEFORE)
        session = kernel.start("writes_files")
        self._follower = kernel.follow(changes_of(session, does(session, ["write", "a.txt", AFTER])))

    @property
    def meta(self) -> dict[str, Any]:
        (file,) = self._follower.state.files
        return dict((file.meta or {})["agentnb"])

    @property
    def counts(self) -> Any:
        return self._follower.state.files[0].edit.get("diff")

    @property
    def digests(self) -> dict[str, str]:
        edit = self._follower.state.files[0].edit
        return {side: edit[side]["content"]["uri"].rpartition("/")[2] for side in ("before", "after")}

    def do(self, operation: str, hunk: dict[str, Any] | None = None, **more: Any) -> Any:
        """Does *operation*, for *hunk* only; the contents are the present ones if it names no others."""
        target: dict[str, Any] = {"kind": "resource", "resource": "file:a.txt"}
        if hunk is not None:
            target["hunk"] = {**self.digests, **hunk}
        return change(self.kernel, self._follower.uri, operation, target=target, **more)


@pytest.fixture
def review(kernel: Kernel) -> Review:
    return Review(kernel)


def test_part_of_a_change_can_be_undone_and_redone(review: Review) -> None:
    """The user's edits elsewhere stay."""
    assert review.meta["divisible"]
    assert review.do("undo", TOP)["message"] == "A part of a.txt was undone."
    assert review.file.read_text() == LAST
    assert (review.meta["state"], review.meta["undoneParts"], review.counts) == ("open", 1, {"added": 0, "removed": 1})
    assert review.do("redo")["message"] == "A part of a.txt was redone."
    assert review.file.read_text() == AFTER
    assert ("undoneParts" in review.meta, review.counts) == (False, {"added": 1, "removed": 2})
    review.file.write_text(AFTER.replace("15\n", "mine\n"))
    review.do("undo", TOP)
    assert review.file.read_text() == LAST.replace("15\n", "mine\n")


def test_undo_of_a_part_the_user_changed_is_a_conflict(review: Review) -> None:
    review.file.write_text(AFTER.replace("three\n", "mine\n"))
    refused = review.do("undo", TOP)
    assert [each["path"] for each in refused["conflicts"]] == ["a.txt"]
    assert (review.file.read_text(), review.meta["state"]) == (AFTER.replace("three\n", "mine\n"), "open")
    review.do("undo", TOP, choices={"a.txt": "mine"})
    assert "undoneParts" not in review.meta
    review.do("undo", TOP, choices={"a.txt": "theirs"})
    assert review.file.read_text() == LAST


def test_outdated_or_invalid_hunk_lines_are_refused(review: Review) -> None:
    digests = review.digests
    review.do("undo", END)
    with pytest.raises(ChangesError, match="was decided in part meanwhile"):
        review.do("undo", {**TOP, **digests})
    for lines in ({**TOP, "beforeEnd": 99}, {**TOP, "beforeEnd": 3, "afterEnd": 3}):
        with pytest.raises(UsageError):
            review.do("undo", lines)
    with pytest.raises(UsageError, match="can only be given when one change"):
        review.do("redo", TOP)
    assert review.file.read_text() == FIRST


def test_notebooks_and_new_files_are_not_divisible(kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text("{}")
    session = kernel.start("writes_files")
    turn = does(session, ["write", "n.ipynb", '{"cells": []}'], ["write", "new.txt", "1\n"])
    state = kernel.follow(changes_of(session, turn)).state
    assert [("divisible" in (each.meta or {})["agentnb"]) for each in state.files] == [False, False]
