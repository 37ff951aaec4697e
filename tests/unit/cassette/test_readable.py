"""A cassette as text for people, and in ``git diff``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.unit.cassette.conversation import recorded
from tests.unit.command_line import run_here

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
FIELDS = ("cassette", "agent", "session", "from", "method", "params", "id", "result", "error", "rules", "description")
METHODS = st.sampled_from(["session/prompt", "session/update", "client", "agent"])
ROWS = st.dictionaries(st.sampled_from(FIELDS), JSON | METHODS, max_size=6).map(json.dumps) | st.text(max_size=8)


def record(path: Path, *pieces: str) -> None:
    """Records a turn in which the agent sends *pieces* and reads a file."""
    with recorded(path, "mine") as conversation:
        session = conversation.begin()
        request = conversation.prompt(session, "What is in a.csv?\nBe short.")
        conversation.says(session, *pieces)
        conversation.received(id=1, method="fs/read_text_file", params={"sessionId": session, "path": "a.csv"})
        conversation.sent(id=1, result={"content": "x\n1\n" * 10_000})
        conversation.says(session, "Numbers.")
        conversation.received(id=request, result={"stopReason": "end_turn"})


def test_readable_text_has_prompts_joined_answers_and_requests(tmp_path: Path) -> None:
    path = tmp_path / "fits.cassette.jsonl"
    record(path, "I lo", "ok in", "to it.\n", "Now.")
    begin, ask = "\n> What is in a.csv?\n> Be short.\n", "Agent: fs/read_text_file\n  path: a.csv\n"
    text = run_here("show", str(path)).stdout.partition("### Turn 1")[2]
    assert text.startswith(f"{begin}Agent:\n  I look into it.\n  Now.\n{ask}Client answers fs/read_text_file\n")
    assert text.endswith("Agent:\n  Numbers.\nAgent answers the prompt\n  stopReason: end_turn\n")


@settings(deadline=None)
@given(st.lists(ROWS, max_size=8))
def test_readable_accepts_any_file(rows: list[str]) -> None:
    """Also of a broken file or one in conflict: git must be able to compare it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.cassette.jsonl")
        path.write_text("\n".join(rows), encoding="utf-8", errors="replace")
        done = run_here("show", str(path))
        assert (done.returncode, done.stdout[-1:]) == (0, "\n")


def test_git_diff_shows_cassettes_as_text(tmp_path: Path) -> None:
    """With the configuration in the manual, and without large contents."""

    def git(*words: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    manual = (ROOT / "docs/how-to/record-and-replay.md").read_text(encoding="utf-8")
    assert 'git config diff.cassette.textconv "agentnb show"' in manual
    assert "*.cassette.jsonl diff=cassette" in manual
    git("init", "-q")
    git("config", "diff.cassette.textconv", f'"{sys.executable}" -m agentnb show')
    (tmp_path / ".gitattributes").write_text("*.cassette.jsonl diff=cassette\n", encoding="utf-8")
    path = tmp_path / "fits.cassette.jsonl"
    record(path, "It is ", "about fits.")
    git("add", ".")
    git("commit", "-qm", "first")
    record(path, "It ", "is about ", "misfits.")
    changed = [
        line for line in git("diff", "--", path.name).splitlines() if line[:1] in "+-" and line[:3] not in "+++---"
    ]
    assert changed == ["-  It is about fits.", "+  It is about misfits."]
