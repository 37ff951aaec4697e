"""The rows of batches in their file, and answers whose worker ends before they are rows.

The inside: races of threads and processes, and an end at an exact moment.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cloudpickle
import msgspec

from agentnb.ids import new_id
from agentnb.log.location import batch_file
from agentnb.plugins.map.asking import BatchQuestion, Job
from agentnb.plugins.map.records import EQUAL_INPUTS, BatchRows, Body
from agentnb.plugins.map.worker_agents import THIS_PROCESS, WorkerSettings, open_agents
from tests.unit.plugins.map.conftest import MOODY

NOTES = """
import sys
from agentnb.plugins.map.records import BatchRows, Body

rounds, inputs = int(sys.argv[1]), int(sys.argv[2])
for each in range(rounds):
    print("ready", flush=True)
    log = sys.stdin.readline().rstrip()
    records = BatchRows(None, "agent", "prompt", {"AGENTNB_LOG": log})
    for number in range(inputs):
        records.begin(number, number, "prompt", f"key {number}", lambda _: None)
        records.count_question(number)
        records.end(number, "done", Body(text="answer"))
    print(records.note or len(list(records.rows("done"))), flush=True)
    records.close()
"""
PROCESSES = 3
INPUTS = 10
ROUNDS = 15


def test_batches_read_while_running_keep_all_rows(tmp_path: Path) -> None:
    """Each batch has a connection to the one file."""
    environ = {"AGENTNB_LOG": str(tmp_path / "sessions.db")}
    over = threading.Event()
    batches = [BatchRows(None, "agent", "prompt", environ) for _ in range(3)]

    def write(records: BatchRows) -> int:
        for number in range(100):
            records.begin(number, number, "prompt", f"key {number}", lambda _: None)
            records.end(number, "done", Body(text="answer"))
        return sum(each.state == "done" for each in records.rows())

    def read(records: BatchRows) -> None:
        while not over.is_set():
            list(records.rows("done"))
            records.row(0)

    with ThreadPoolExecutor(6) as readers_and_writers:
        for each in batches:
            readers_and_writers.submit(read, each)
        try:
            assert list(readers_and_writers.map(write, batches)) == [100, 100, 100]
        finally:
            over.set()
    for each in batches:
        each.close()


def test_query_for_equal_inputs_uses_the_primary_key(tmp_path: Path) -> None:
    """SQLite does not scan the whole batch for each input: a million would take days."""
    log = tmp_path / "sessions.db"
    BatchRows(None, "agent", "prompt", {"AGENTNB_LOG": str(log)}).close()
    with contextlib.closing(sqlite3.connect(batch_file(log))) as file:
        (step,) = file.execute(f"EXPLAIN QUERY PLAN {EQUAL_INPUTS}", ("batch", "key", 1)).fetchall()
    assert step[-1] == "SEARCH rows USING PRIMARY KEY (batch=? AND key=?)"


def test_processes_that_share_a_new_file_keep_all_rows(tmp_path: Path) -> None:
    """None fails because the file is locked, at its creation or later: its batch could not be resumed."""
    with contextlib.ExitStack() as stack:
        words = [sys.executable, "-c", NOTES, str(ROUNDS), str(INPUTS)]
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": dict(os.environ), "text": True}
        running = [stack.enter_context(subprocess.Popen(words, **options)) for _ in range(PROCESSES)]  # type: ignore[call-overload]
        lines = []
        for number in range(ROUNDS):
            assert [each.stdout.readline() for each in running] == ["ready\n"] * PROCESSES
            for each in running:
                each.stdin.write(f"{tmp_path}/{number}/sessions.db\n")
                each.stdin.flush()
            lines += [each.stdout.readline().rstrip() for each in running]
        assert lines == [str(INPUTS)] * PROCESSES * ROUNDS


def test_finished_answer_is_kept_when_its_worker_ends(log: Path, tmp_path: Path) -> None:
    """Another worker of the machine that gets the input does not ask again; nothing is left at the end."""
    command = (sys.executable, str(MOODY), f"log={log}")
    options = {"agent": None, "command": command, "env": None, "cwd": tmp_path}
    question = BatchQuestion(options={**options, "permissions": "deny", "mcp_servers": ()}, prompt="{input}")
    settings = cloudpickle.dumps(WorkerSettings(question=question, files={}, process=THIS_PROCESS, place=""))
    batch = new_id()
    for _ in range(2):
        agents, lacks = open_agents(batch, settings, tmp_path)
        assert agents is not None, lacks
        answer = agents.ask(msgspec.json.encode(Job(number=0, text="a", key="k", copy=0)))
        assert b"said a" in (answer or b"")
        agents.close()
    assert log.read_text() == "a\n"
