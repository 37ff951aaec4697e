"""Changes of files by tool calls, with the cases that vitest runs too (`tests/cases/changes.json`).

The inside: tables of diffs, which git applies.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentnb.host.files.changes import LONGEST, changes
from agentnb.state import ToolCallResponsePart, decode

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "cases/changes.json").read_text("utf-8"))
CWD = Path("/w")


def part(call: dict[str, Any], number: int = 0) -> ToolCallResponsePart:
    """Returns the tool call of a case."""
    state = call.get("state", "completed")
    diffs = [{"type": "diff", "path": path, "oldText": old, "newText": new} for path, old, new in call.get("diffs", ())]
    locations = [{"path": path} for path in call.get("locations", ())]
    ended = {"confirmed": "not-needed", "success": state == "completed", "pastTenseMessage": "Done"}
    data = {
        "toolCallId": str(number),
        "toolName": call["kind"],
        "displayName": "x",
        "invocationMessage": "x",
        "details": {"kind": call["kind"], "locations": locations, "content": diffs},
        "status": "completed" if state == "failed" else state,
        **({"reason": "denied"} if state == "cancelled" else {}),
        **({"confirmed": "not-needed"} if state == "running" else {}),
        **(ended if state in {"completed", "failed"} else {}),
    }
    return decode(ToolCallResponsePart, {"kind": "toolCall", "toolCall": data})


def edit(*diffs: list[str | None]) -> ToolCallResponsePart:
    return part({"kind": "edit", "diffs": diffs})


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["description"]))
def test_changes_match_the_shared_case(case: dict[str, Any]) -> None:
    file_changes = changes([part(call, number) for number, call in enumerate(case["calls"])], CWD)
    assert [list(each[:4]) for each in file_changes] == case["changes"]
    assert [each.added is not None for each in file_changes] == [bool(each.diff) for each in file_changes]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("one\ntwo\nthree\n", "one\n2\nthree\nfour\n"),
        ("1\n2", "1\n2\n3"),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("\n" * 30 + "x\n", "y\n" + "\n" * 30),
        ("--- a\n+++ b\n", "@@ -1 +1 @@\n--- a\n"),
        ("page\x0cbreak\u2028x\n", "page\x0cbroken\u2028x\n"),
    ],
)
def test_the_diff_of_whole_files_can_be_applied(tmp_path: Path, old: str, new: str) -> None:
    """With ``git apply``; also texts without a final line end, odd line ends and headers."""
    git = shutil.which("git")
    assert git is not None
    (tmp_path / "a b.txt").write_bytes(old.encode())
    (change,) = changes([edit(["/w/a b.txt", old, new])], CWD)
    subprocess.run([git, "apply", "-"], input=change.diff.encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "a b.txt").read_bytes() == new.encode()


def test_new_file_diff_escapes_a_line_break_in_the_name() -> None:
    """The diff has exactly one header."""
    (change,) = changes([edit(["/w/a\n+++ b", None, "x\n"])], CWD)
    assert change.diff.splitlines()[:2] == ["--- /dev/null", '+++ "b/a\\n+++ b"']


def test_file_too_large_to_compare_has_no_line_counts() -> None:
    """Two texts of a million characters each, plus one."""
    (change,) = changes([edit(["/w/a", "x" * (LONGEST // 2), "y" * (LONGEST // 2 + 1)])], CWD)
    assert change == ("a", "changed", None, None, "")
