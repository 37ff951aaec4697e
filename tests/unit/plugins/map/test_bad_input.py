"""Batches with bad input: very many inputs, large ones, agents that die, unwritable files."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from agentnb.errors import LogUnavailable
from tests.unit.forked import run_script
from tests.unit.plugins.map.conftest import MOODY, Asks

UNANSWERED = int(os.environ.get("AGENTNB_BATCH_ASKED", "200"))
ANSWERED = int(os.environ.get("AGENTNB_BATCH_ANSWERED", "4000"))
MORE = 1.2 if UNANSWERED > 10_000 else 2.0  # caches fill at first, and a busy machine writes the log later
"""The largest ratio of the memory after all inputs to that after half of them."""
MEGABYTES_10 = 10_000_000
LAZY = """
import gc, sys
import agentnb
from agentnb.plugins.map.records import BatchRows, Body

number, answered, command = int(sys.argv[1]), sys.argv[2] == "answered", sys.argv[3:]
held = []
batch = None
if answered:  # an earlier pass of the batch has all answers
    from agentnb.plugins.map.asking import BatchQuestion

    question = BatchQuestion(options={"command": command}, prompt="{input}")
    records = BatchRows(None, question.agent, question.prompt)
    for each in range(number):
        records.begin(each, each, str(each), question.key(str(each)), lambda _: Body(text=f"said {each}"))
    records.close()
    batch = records.id

def inputs():
    for each in range(number):
        if each in (number // 2, number - 1):
            gc.collect()
            held.append(sys.getallocatedblocks())
        yield str(each)

options = {"command": command, "concurrency": 16, "resume": batch, "progress": False}
found = agentnb.map("{input}", inputs(), **options).wait()
print(len(found), found.counts["done"], found[number - 1], held[1] / held[0])
"""
READ_ONLY = """
import sys
import agentnb
from agentnb.errors import LogUnavailable
from agentnb.system_calls import drop_capabilities

drop_capabilities()
batch = agentnb.map("{input}", ["a", "b"], command=sys.argv[1:], progress=False).wait()
print(list(batch))
print(batch.note)
try:
    agentnb.map("{input}", ["a"], command=sys.argv[1:], progress=False, resume="any")
except LogUnavailable as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "how"), [(UNANSWERED, "asked"), (ANSWERED, "answered")])
def test_memory_does_not_grow_with_the_number_of_inputs(tmp_path: Path, log: Path, number: int, how: str) -> None:
    """They come from a lazy generator; a resumed batch skips answered ones."""
    words = [sys.executable, "-c", LAZY, str(number), how, sys.executable, str(MOODY), f"log={log}"]
    environment = {**os.environ, "AGENTNB_LOG": str(tmp_path / "sessions.db")}
    workspace = tmp_path / "workspace"  # apart from the log: a workspace's files are compared at each turn
    workspace.mkdir()
    ran = subprocess.run(words, cwd=workspace, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    length, done, _, last, ratio = ran.stdout.split()
    assert (int(length), int(done), int(last)) == (number, number, number - 1)
    assert float(ratio) < MORE
    assert (log.read_text().count("\n") if log.exists() else 0) == (number if how == "asked" else 0)


def test_batch_answers_all_inputs_when_the_agent_keeps_dying(ask: Asks, log: Path) -> None:
    """The dead agent's inputs are asked again; each input has one result."""
    inputs = [f"n{each}" for each in range(30)]
    batch = ask(inputs, "{input}", "dies-every=7", concurrency=3, retries=10).wait()
    assert list(batch) == [f"said {each}" for each in inputs]
    assert batch.counts == {"running": 0, "done": 30, "failed": 0, "cancelled": 0}
    logged = log.read_text().split()
    assert set(logged) == set(inputs)
    assert sum(each.attempts for each in batch.results) >= len(logged) > len(inputs)  # some died before they logged it


def test_batch_accepts_and_returns_rows_of_10_megabytes(ask: Asks) -> None:
    """Other cells of the table: missing values are empty, braces in a value are not fields."""
    rows = [{"text": "x" * MEGABYTES_10, "n": 1.0}, {"text": "{n} }{", "n": float("nan")}, {"text": None, "n": 2.0}]
    batch = ask(pd.DataFrame(rows), 'a {text} {{"n": {n}}}', concurrency=2).wait()
    first, *others = list(batch)
    assert (len(first), first[-13:]) == (len('said a  {"n": 1.0}') + MEGABYTES_10, 'xx {"n": 1.0}')
    assert others == ['said a {n} }{ {"n": }', 'said a  {"n": 2.0}']
    assert len(repr(batch)) < 1_000


@pytest.mark.parametrize("trouble", ["no folder", "no database", "a folder", "of a newer agentnb"])
def test_batch_runs_without_resume_when_its_file_is_unusable(
    ask: Asks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """No existing file changes; the error when resuming gives the reason."""
    log = tmp_path / "log/sessions.db"
    file = log.with_name("batches.db")
    monkeypatch.setenv("AGENTNB_LOG", str(log))
    if trouble == "no folder":
        log.parent.write_text("a file")
    else:
        log.parent.mkdir()
    if trouble == "no database":
        file.write_text("a diary" * 1000)
    if trouble == "a folder":
        file.mkdir()
    if trouble == "of a newer agentnb":
        with contextlib.closing(sqlite3.connect(file)) as newer:
            newer.execute("PRAGMA user_version = 99")
    batch = ask(["a", "b"]).wait()
    assert list(batch) == ["said a", "said b"]
    assert batch.note.startswith("This batch cannot be resumed later: ")
    assert file.name in batch.note
    with pytest.raises(LogUnavailable, match="No batch can be resumed"):
        ask(["a"], resume="any")
    if trouble == "no database":
        assert file.read_text() == "a diary" * 1000


@pytest.mark.skipif(sys.platform != "linux", reason="the superuser's rights are given up by Linux's calls")
def test_batch_runs_without_resume_when_its_log_is_read_only(tmp_path: Path, log: Path) -> None:
    """It runs in a process without the superuser's rights, which would let it write to read-only files."""
    (tmp_path / "workspace").mkdir()
    log_file = tmp_path / "log/sessions.db"
    kept = log_file.with_name("batches.db")
    kept.parent.mkdir()
    kept.touch(mode=0o444)
    kept.parent.chmod(0o555)
    words = [sys.executable, str(MOODY), f"log={log}"]
    ran = run_script(READ_ONLY, *words, cwd=tmp_path / "workspace", AGENTNB_LOG=str(log_file))
    kept.parent.chmod(0o755)
    assert ran.returncode == 0, ran.stderr
    answers, note, refused = ran.stdout.splitlines()
    assert answers == "['said a', 'said b']"
    assert note.startswith(f"This batch cannot be resumed later: {kept} cannot be used (")
    assert refused.startswith("No batch can be resumed: ")
    assert kept.read_bytes() == b""


def test_batches_at_the_same_time_have_separate_answers(ask: Asks, log: Path) -> None:
    """Equal inputs too; they share the agent's process and end in any order."""
    batches = [ask([f"n{each}" for each in range(8)], f"{name} {{input}}", concurrency=4) for name in ("one", "two")]
    for name, batch in zip(("one", "two"), batches, strict=True):
        assert list(batch) == [f"said {name} n{each}" for each in range(8)]
        assert [each.number for each in batch.results] == list(range(8))
    assert len(log.read_text().splitlines()) == len(set(log.read_text().splitlines())) == 16
