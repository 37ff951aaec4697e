"""The ledger is kept and shown; agents' text in it is never markup.

The inside: full disks, secrets in its file, and hostile text in each of its fields.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import agentnb
from agentnb.budget import Spent
from agentnb.log.location import delete_batches
from agentnb.log.writer import started
from agentnb.plugins.loop.attempt import idea_of
from agentnb.plugins.loop.ledger import Ledger, LedgerView, LoopSpec, LoopTry, html_of, lines_of, this_process
from agentnb.plugins.loop.limits import LoopLimits
from tests.conftest import ROOT

SPEC = LoopSpec(prompt="Improve it", metric="score()", limits=LoopLimits(tries=3))
HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'


def opened(folder: Path, **options: bool) -> Ledger:
    return Ledger({**os.environ, "AGENTNB_LOG": str(folder / "sessions.db")}, **options)


def test_ledger_reopens_a_loop_without_its_secrets(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    options = {"agent": "claude", "env": {"KEY": "s3cret"}}
    spec = LoopSpec(prompt="p", metric="m", limits=LoopLimits(tries=1), options=options)
    ledger.create("/work", spec)
    ledger.put(0, LoopTry(number=0, state="start", values=(1.0,)))
    ledger.put(1, LoopTry(number=1, state="keeping"), "+ new")
    ledger.put(1, LoopTry(number=1, state="kept", costs={"USD": 1.5}), None)
    again = opened(tmp_path, must_exist=True)
    assert again.reopen(None, "/work").options == {"agent": "claude"}
    assert again.id == ledger.id
    rows = [(each.number, each.state, each.costs) for each in again.rows()]
    assert rows == [(0, "start", {}), (1, "kept", {"USD": 1.5})]
    assert again.difference(1) == "+ new"
    assert b"s3cret" not in b"".join(each.read_bytes() for each in tmp_path.iterdir())
    for loop, folder, says in (
        (None, "/other", "No loop was started in /other"),
        ("x", "/work", "There is no loop 'x'"),
    ):
        with pytest.raises(agentnb.UsageError, match=says):
            again.reopen(loop, folder)


def test_loop_running_in_another_process_is_detected() -> None:
    assert not SPEC.is_running_elsewhere
    with subprocess.Popen([sys.executable, "-S", "-c", "import sys; sys.stdin.read()"], stdin=-1) as other:
        owner = (this_process()[0], other.pid, started(other.pid))
        spec = LoopSpec(prompt="", metric="", limits=LoopLimits(), owner=owner)
        assert spec.is_running_elsewhere
        other.communicate(b"")
    assert not spec.is_running_elsewhere


def test_deleting_old_batches_deletes_old_loops(tmp_path: Path) -> None:
    ended, running = opened(tmp_path), opened(tmp_path)
    for each in (ended, running):
        each.create("/work", SPEC)
        each.put(0, LoopTry(number=0, state="start"))
    ended.update(SPEC, "ended")
    assert delete_batches(tmp_path / "sessions.db") == 1
    assert (len(ended.rows()), len(running.rows())) == (0, 1)


def test_loop_refuses_arguments_that_cannot_be_stored(tmp_path: Path) -> None:
    spec = LoopSpec(prompt="", metric="", limits=LoopLimits(), options={"permissions": print})
    with pytest.raises(agentnb.UsageError, match="only plain values"):
        opened(tmp_path).create("/work", spec)


SMALL_DISK = """
import sys
from pathlib import Path
from agentnb.plugins.loop.ledger import *
folder = Path(sys.argv[1])
ledger = Ledger({"AGENTNB_LOG": str(folder / "sessions.db")})
ledger.create("/work", LoopSpec(prompt="", metric="", limits=LoopLimits()))
try:
    for number in range(1000):
        ledger.put(number, LoopTry(number=number, state="kept"), "x" * 20_000)
except Exception as error:
    print(type(error).__name__, error)
print(len(ledger.rows()) == number)
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="Linux only: a small disk is mounted")
def test_full_disk_raises_an_error_and_keeps_written_rows(tmp_path: Path) -> None:
    mount = 'mount -t tmpfs -o size=900k agentnb "$1" && exec "$0" -c "$2" "$1"'
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", mount, sys.executable, str(tmp_path), SMALL_DISK]
    ran = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    if "unshare" in ran.stderr or "mount:" in ran.stderr:
        pytest.skip(f"no disk of its own can be had here: {ran.stderr.strip()}")
    message = "LogUnavailable The rows of the loop cannot be kept: database or disk is full."
    assert ran.stdout.splitlines() == [message, "True"], ran.stderr


def view(*rows: LoopTry, **fields: object) -> LedgerView:
    start = LoopTry(number=0, state="start", values=(0.5,))
    values = {"metric": "auc", "rows": (start, *rows), "best": 0.9, "state": "running", "why": "", "spent": Spent()}
    rest = {"held": ("y_test",), "notes": (), "difference": lambda _: HOSTILE}
    return LedgerView(**{**values, **rest, **fields})  # type: ignore[arg-type]


class Elements(HTMLParser):
    """Checks that each element of a document is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs)
        self.names.add(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_ledger_escapes_text_of_agents() -> None:
    rows = [
        LoopTry(number=1, state="kept", idea=HOSTILE, values=(0.7,), agent=HOSTILE),
        LoopTry(number=2, state="failed", idea=HOSTILE, why=HOSTILE, changes=HOSTILE),
        LoopTry(number=3, state="not better", idea=HOSTILE, values=(0.6, 0.2)),
    ]
    elements = Elements(html_of(view(*rows, metric=HOSTILE, why=HOSTILE, notes=(HOSTILE,), held=(HOSTILE,))))
    assert elements.open == []
    assert not elements.names & {"script", "img"}


def test_long_ledger_shows_its_latest_rows() -> None:
    rows = [LoopTry(number=number, state="kept", values=(0.5 + number / 1e4,)) for number in range(1, 500)]
    ledger = view(*rows)
    assert "470 earlier rows" in html_of(ledger)
    assert len(html_of(ledger)) < 120_000
    assert len(lines_of(ledger)) < 40


@pytest.mark.parametrize(
    ("text", "idea"),
    [
        ("I did much.\nIdea: more trees", "more trees"),
        ("**Idea:** `deeper` trees\nDone.", "`deeper` trees"),
        ("No line of that kind.\nLast words.\n", "Last words."),
        ("Idea: first\nIdea: second", "second"),
        ("", ""),
        (f"Idea: {'x' * 500}", f"{'x' * 119}…"),
    ],
)
def test_idea_is_taken_from_the_agents_answer(text: str, idea: str) -> None:
    assert idea_of(text) == idea
