"""Batches with a real agent: order, failures, resuming, cancelling; each input ends with one result."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import agentnb
from agentnb.errors import BatchFailed, FilesConflict, UnknownAgent, UsageError
from tests.unit.forked import run_script
from tests.unit.plugins.map.conftest import MOODY, Asks

SPENDS = [sys.executable, str(MOODY.with_name("spends.py"))]


@dataclass
class Label:
    label: str
    score: int


def test_answers_have_the_order_of_the_inputs(ask: Asks, log: Path) -> None:
    """Each equal input is asked; the answers fit into a column of their data frame."""
    table = pd.DataFrame({"text": ["a", "b", "a", "d", "e"]}, index=list("vwxyz"))
    batch = ask(table, "{text}", concurrency=3)
    table["answer"] = batch
    assert list(table["answer"]) == ["said a", "said b", "said a", "said d", "said e"]
    assert sorted(log.read_text().split()) == ["a", "a", "b", "d", "e"]
    frame = batch.to_frame()
    assert (list(frame.index), set(frame["state"])) == (list("vwxyz"), {"done"})
    assert repr(batch).splitlines()[:3] == ["5 of 5 done", "input  state  answer", "v      done   said a"]
    assert "<td>said a</td>" in ask(["a"]).wait()._repr_html_()
    assert (len(batch), batch[-1], batch[1:3]) == (5, "said e", ["said b", "said a"])


def test_batch_of_any_length_ends(ask: Asks) -> None:
    """Also one whose length is known only at its end."""
    assert list(ask([])) == []
    for number in (0, 1, 7):
        lazy = ask(f"n{each}" for each in range(number))
        assert (len(lazy), list(lazy)) == (number, [f"said n{each}" for each in range(number)])


def test_each_result_is_returned_once_as_it_completes(ask: Asks) -> None:
    """Each comes once, in blocking and async code; the batch can be awaited."""

    async def main() -> tuple[list[int], int]:
        batch = ask(["a", "b", "c"])
        seen = [each.number async for each in batch]
        return sorted(seen), len(list((await batch).results))

    assert sorted(each.number for each in ask(["a", "b", "c"]).as_completed()) == [0, 1, 2]
    assert asyncio.run(main()) == ([0, 1, 2], 3)


def test_batch_asks_once_more_for_an_answer_of_the_wrong_type(ask: Asks) -> None:
    """The same session gets the error; the value has the wanted type."""
    batch = ask(["json-late"], output=Label)
    assert list(batch) == [Label("good", 3)]
    assert batch.result(0).output == Label("good", 3)
    failed = ask(["fits never"], output=list[int], on_error="keep").wait()
    assert (failed[0], failed.failures) == (None, {"answer does not fit": 1})


def test_batch_archives_its_conversations_and_rows_open_them(ask: Asks) -> None:
    """The history has room for a person's conversations; one opened from its row stays archived."""
    batch = ask(["a", "fail", "c"], on_error="keep", retries=0).wait()
    titles = {"a · 0", "fail · 1", "c · 2"}
    assert {row.title for row in agentnb.history(limit=1_000)}.isdisjoint(titles)
    assert {row.title for row in agentnb.history(archived=True, limit=1_000)} >= titles
    opened = batch.result(1).open()
    assert (opened.title, len(opened.turns)) == ("fail · 1", 1)
    opened.close()


def test_failure_ends_the_batch_unless_on_error_is_keep(ask: Asks, log: Path) -> None:
    """With on_error="keep" the others are answered; otherwise reading it raises an error with advice."""
    kept = ask(["a", "fail", "c"], on_error="keep", retries=1).wait()
    assert list(kept) == ["said a", None, "said c"]
    (failed,) = kept.failed
    assert (failed.number, failed.attempts, failed.state) == (1, 2, "failed")
    assert "It did not work." in failed.error
    log.unlink()
    raised = ask(["fail", *"bcdefgh"], concurrency=1, retries=0)
    with pytest.raises(BatchFailed, match=rf"Input 0 \(0\) failed: .*It did not work.*resume='{raised.id}'"):
        raised.wait()
    with pytest.raises(BatchFailed):
        list(raised)
    assert log.read_text() == "fail\n"


def test_batch_asks_a_busy_model_again_after_a_pause(ask: Asks) -> None:
    """This is not a failure; a model that stays busy is."""
    batch = ask(["busy one 2", "busy two 1"], retries=0)
    assert list(batch) == ["said busy one 2", "said busy two 1"]
    assert batch.result(0).attempts == 3
    never = ask(["busy three 100"], retries=0, on_error="keep", backoff=0.001).wait()
    assert never.failures == {"model is busy": 1}


def test_input_that_times_out_fails_without_stopping_others(ask: Asks) -> None:
    batch = ask(["wait", "b"], timeout=3.0, retries=0, on_error="keep", concurrency=1).wait()
    assert (list(batch), batch.failures) == ([None, "said b"], {"timeout": 1})


@pytest.mark.parametrize(
    ("word", "limit", "reason"),
    [
        ("fail", {"max_failures": 2}, "2 inputs failed (max_failures)."),
        ("cost", {"max_cost": 2.0}, "It cost 2.00 USD (max_cost=2)."),
        ("cost", {"budget": "$2"}, "The batch's budget of $2.00 is used up ($2.00). Resume it with a larger budget."),
        ("a", {"budget": "2 turns"}, "The batch's budget of 2 turns is used up. Resume it with a larger budget."),
    ],
)
def test_batch_ends_at_its_limits(ask: Asks, log: Path, word: str, limit: dict[str, Any], reason: str) -> None:
    """The rest is not asked; kept failures have None as answer."""
    batch = ask([word] * 5, concurrency=1, retries=0, on_error="keep", **limit).wait()
    assert (len(log.read_text().splitlines()), batch.stopped) == (2, reason)
    assert list(batch)[2:] == [None] * 3


def test_batch_stopped_by_its_budget_resumes_with_a_larger_one(tmp_path: Path) -> None:
    """Running turns are cancelled; earlier costs count; a replay costs nothing."""
    inputs, recorded = ["cost 1", "cost 5;wait", "cost 1;tokens 1 1"], tmp_path / "answers.jsonl"
    options: dict[str, Any] = {"command": SPENDS, "cwd": tmp_path, "progress": False, "concurrency": 1}
    batch = agentnb.map("{input}", inputs, budget="$5", **options)
    with pytest.raises(BatchFailed, match=r"The batch's budget of \$5.00 is used up \(\$6.00\)"):
        batch.wait()
    assert batch.counts == {"running": 0, "done": 1, "failed": 0, "cancelled": 1}
    with pytest.raises(BatchFailed, match=r"budget of \$1.00 is used up"):
        agentnb.map("{input}", inputs[:1] + inputs[2:], budget="$1", resume=batch.id, **options).wait()
    again = inputs[:1] + inputs[2:]
    with pytest.warns(UserWarning, match=r"The batch's budget: \$2.00 of \$2.50 used"):
        resumed = agentnb.map("{input}", again, budget="$2.50", resume=batch.id, cassette=recorded, **options).wait()
    assert resumed.usage["costs"] == {"USD": 2.0}
    replayed = agentnb.map("{input}", again[1:], budget="$0.01, 1 token", cassette=recorded, **options).wait()
    assert (list(replayed), replayed.stopped) == (["did cost 1;tokens 1 1"], "")
    with pytest.raises(UsageError, match="budget: 'much' is not an amount"):
        agentnb.map("{input}", inputs, budget="much", **options)


def test_cancelled_batch_resumes_with_the_missing_inputs(ask: Asks, log: Path) -> None:
    """The prompt's text decides, not its place: a moved input is not asked again, a changed one is."""
    batch = ask(["a", "b", "wait", "c"], concurrency=1)
    assert batch[1] == "said b"
    batch.cancel()
    batch.wait(check=False)
    assert batch.counts["done"] == 2
    log.unlink()
    resumed = ask(["b", "new", "a", "a"], resume=batch.id)
    assert list(resumed) == ["said b", "said new", "said a", "said a"]
    assert sorted(log.read_text().split()) == ["a", "new"]
    assert resumed.id == batch.id


def test_error_raised_by_the_inputs_reaches_the_caller(ask: Asks) -> None:
    """Earlier answers are kept."""

    def broken() -> Iterator[str]:
        yield "a"
        raise ZeroDivisionError("mine")

    batch = ask(broken())
    assert batch[0] == "said a"
    with pytest.raises(ZeroDivisionError, match="mine"):
        batch.wait()
    batch = ask([{"text": "a"}, {"other": "b"}], "{text}", concurrency=1)
    with pytest.raises(UsageError, match="the input has no 'text'"):
        batch.wait()
    assert [each.text for each in batch.results] == ["said a"]


def test_invalid_arguments_are_refused_before_any_prompt(tmp_path: Path) -> None:
    wrong: list[tuple[type[Exception], dict[str, Any]]] = [
        (UnknownAgent, {"agent": "nobody"}),
        (UsageError, {"concurrency": 0}),
        (UsageError, {"processes": 1000}),
        (UsageError, {"on_error": "ignore"}),
        (UsageError, {"permissions": "maybe"}),
        *((UsageError, {"output": each}) for each in (object(), "text", {"type": "no type"})),
        (UsageError, {"resume": "nothing"}),
        (UsageError, {"cwd": tmp_path / "nowhere"}),
    ]
    for error, options in wrong:
        with pytest.raises(error):
            agentnb.map("{input}", ["a"], progress=False, **options)
    with pytest.raises(UsageError, match="The prompt is int"):
        agentnb.map(5, ["a"])  # type: ignore[call-overload]


def test_isolated_inputs_return_changes_of_separate_workspaces(
    ask: Asks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder itself changes on request only, and not over other changes."""
    workspace = tmp_path / "workspace"
    (workspace / "notes.txt").write_text("old\n")
    monkeypatch.chdir(workspace)
    batch = ask(["write notes.txt one", "write notes.txt two", "nothing"], cwd="isolated", permissions="allow").wait()
    first, second, third = batch.results
    assert (workspace / "notes.txt").read_text() == "old\n"
    assert [(each.path, each.status) for each in first.changes] == [("notes.txt", "modified")]
    assert "-old\n+write notes.txt one" in first.changes[0].diff
    assert third.changes == ()
    assert second.keep() == ("notes.txt",)
    assert (workspace / "notes.txt").read_text() == "write notes.txt two"
    with pytest.raises(FilesConflict, match=r"notes\.txt"):
        first.keep()
    assert ask(["where"], cwd="shared").wait().result(0).changes == ()


def test_failed_isolated_input_also_returns_its_changes(
    ask: Asks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are those of the last try; the state is failed, and the folder is unchanged."""
    workspace = tmp_path / "workspace"
    monkeypatch.chdir(workspace)
    options: dict[str, Any] = {"cwd": "isolated", "permissions": "allow", "on_error": "keep"}
    result = ask(["write-fail notes.txt"], **options).wait().result(0)
    assert (result.state, result.attempts, list(workspace.iterdir())) == ("failed", 2, [])
    assert [(each.path, each.status) for each in result.changes] == [("notes.txt", "added")]
    assert (result.keep(), (workspace / "notes.txt").read_text()) == (("notes.txt",), "write-fail notes.txt")


def test_several_processes_share_the_inputs(ask: Asks) -> None:
    inputs = [f"n{each}" for each in range(6)]
    assert list(ask(inputs, concurrency=3, processes=3)) == [f"said {each}" for each in inputs]


def test_compare_agents_reports_agreement_and_majority(tmp_path: Path) -> None:
    """Case and the last full stop do not count."""
    agents = [{"agent": "eliza", "name": each} for each in ("one", "two")]
    compared = agentnb.compare_agents("/say {input}.", agents, ["Yes", "no"], cwd=tmp_path).wait()
    assert compared.agreement == {("one", "two"): 1.0}
    assert compared.majority == ["Yes.", "no."]
    assert list(compared.to_frame().columns) == ["one", "two"]
    assert "one = two" in repr(compared)
    with pytest.raises(UsageError, match="two agents"):
        agentnb.compare_agents("{input}", ["eliza", "eliza"], ["a"])
    with pytest.warns(DeprecationWarning, match="compare_agents"):  # its name in 0.2
        before: Any = agentnb.compare("/say {input}.", agents, ["Yes"], cwd=tmp_path)
    assert before.wait().majority == ["Yes."]


def test_batch_asks_again_when_the_check_rejects_an_answer(ask: Asks, log: Path) -> None:
    """The agent gets a data check's cause without values; after the last try the input has failed."""
    table = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=9), "sold": range(9)})

    def check(row: str, answer: str) -> Any:
        assert row in answer
        return None if "earlier" in answer else agentnb.compare(table, table.assign(day=table["day"].astype(str)))

    assert "An earlier answer was not accepted: Look at @table." in ask(["a"], check=check)[0]
    first, second = log.read_text().splitlines()
    assert (first, second.startswith("a An earlier answer was not accepted:")) == ("a", True)
    assert "`day` has another type" in second
    batch = ask(["b"], check=lambda _row, _answer: "no", on_error="keep").wait(check=False)
    assert (batch[0], batch.result(0).error) == (None, "no")


def test_batch_records_only_inputs_missing_from_its_cassette(
    ask: Asks, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay needs no agent, and an unrecorded answer is an error; recording drops unused answers."""
    cassette = tmp_path / "fit.batch.jsonl"
    first = list(ask(["a", "b", "b", "json-late"], cassette=cassette, output=None))
    assert list(ask(["other"], "<{input}>", cassette=cassette)) == ["said <other>"]
    recorded = cassette.read_bytes()
    log.unlink()
    assert list(ask(["b", "a", "b", "json-late"], cassette=cassette)) == [first[1], first[0], first[2], first[3]]
    assert (log.exists(), cassette.read_bytes()) == (False, recorded)
    assert list(ask(["a", "new"], cassette=cassette)) == ["said a", "said new"]
    assert log.read_text() == "new\n"
    monkeypatch.setenv("AGENTNB_CASSETTE_MODE", "record")
    monkeypatch.setenv("AGENTNB_CASSETTE", str(tmp_path / "fit.cassette.jsonl"))
    assert list(ask(["a", "new"])) == ["said a", "said new"]
    assert (log.read_text(), cassette.read_text().count("\n")) == ("new\n", 4)
    assert not (tmp_path / "fit.cassette.jsonl").exists()
    monkeypatch.setenv("AGENTNB_CASSETTE_MODE", "replay")
    assert list(ask(["new", "a"])) == ["said new", "said a"]
    options: dict[str, Any] = {"command": ["/no/such/program"], "cassette": cassette, "progress": False}
    with pytest.raises(agentnb.CassetteMismatch, match="has no answer to this input: c"):
        agentnb.map("{input}", ["c"], **options).wait()
    cassette.write_text("rubbish\n")
    with pytest.raises(agentnb.CassetteBroken, match="cannot be read"):
        agentnb.map("{input}", ["a"], **options)


@pytest.mark.parametrize("mode", ["auto", "record"])
def test_cassette_holds_batches_that_end_in_any_order(
    ask: Asks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Some have the same prompt for other inputs."""
    monkeypatch.setenv("AGENTNB_CASSETTE", str(tmp_path / "fit.cassette.jsonl"))
    if mode != "auto":
        monkeypatch.setenv("AGENTNB_CASSETTE_MODE", mode)
    cassette = tmp_path / f"{mode}.batch.jsonl"
    prompts = ["{input}", "{input}", "<{input}>"]
    batches = [ask([name], prompt, cassette=cassette) for name, prompt in zip("abc", prompts, strict=True)]
    assert [list(each) for each in batches] == [["said a"], ["said b"], ["said <c>"]]
    for each in batches:
        each.wait()
    monkeypatch.setenv("AGENTNB_CASSETTE_MODE", "replay")
    assert [*ask(["b", "a"], cassette=cassette), *ask(["c"], "<{input}>", cassette=cassette)] == [
        "said b",
        "said a",
        "said <c>",
    ]


def test_credentials_are_not_recorded(ask: Asks, tmp_path: Path) -> None:
    """They are removed from prompt and answer."""
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    cassette = tmp_path / "answers.jsonl"
    assert list(ask([secret], cassette=cassette)) == [f"said {secret}"]
    assert secret not in cassette.read_text()


def test_storage_counts_and_deletes_rows_of_batches(ask: Asks) -> None:
    """Rows of a running batch are not."""
    done, runs = ask(["a secret question"]).wait(), ask(["wait"], concurrency=1)
    while not runs.counts["running"]:
        pass
    kept = agentnb.storage()
    (row,) = [each for each in kept if each.name == "batches"]
    assert (row.items >= 2, row.bytes > 0) == (True, True)
    kept.delete_all(dry_run=False)
    files = [*kept.path.parent.glob("batches.db*")]
    assert files
    # In another process: closing a database's file ends the locks that SQLite has on it in this one (POSIX).
    grep = subprocess.run(["grep", "-l", "a secret question", *files], capture_output=True, check=False)
    assert (grep.returncode, grep.stdout) == (1, b"")
    with pytest.raises(UsageError, match="There is no batch"):
        ask(["a"], resume=done.id)
    runs.cancel()
    assert runs.wait(check=False).counts["cancelled"] == 1
    assert next(iter(runs.results)).state == "cancelled"


INTERRUPTED = """
import os, signal, sys, threading
import agentnb
from agentnb.plugins.map import batch as module
signal.signal(signal.SIGINT, signal.default_int_handler)
batch = agentnb.map("{input}", ["a", "wait", "wait", "b"], command=sys.argv[1:], concurrency=2, progress=False)
assert batch[0] == "said a"
assert not {"dask", "distributed"} & sys.modules.keys()
while batch.counts["running"] < 2:
    pass
main = threading.get_ident()

def waits():
    frame = sys._current_frames()[main]
    while frame is not None and frame.f_code.co_filename != module.__file__:
        frame = frame.f_back
    return frame is not None

def interrupt():
    while not waits():
        pass
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    batch.wait()
except KeyboardInterrupt:
    batch.wait(check=False)
    print(batch.id, batch.stopped, batch.counts["done"], batch.counts["cancelled"], sep="\\n", flush=True)
"""


@pytest.mark.slow
def test_interrupt_cancels_running_inputs_and_keeps_answers(tmp_path: Path, ask: Asks) -> None:
    """Another kernel asks the rest."""
    words = [sys.executable, "-c", INTERRUPTED, sys.executable, str(MOODY), f"log={tmp_path / 'asked.txt'}"]
    ran = subprocess.run(words, cwd=tmp_path / "workspace", capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    number, *lines = ran.stdout.splitlines()
    assert lines == ["It was interrupted.", "1", "2"]
    resumed = ask(["a", "b"], resume=number)
    assert list(resumed) == ["said a", "said b"]
    assert [each.attempts for each in resumed.results] == [1, 1]
    assert (tmp_path / "asked.txt").read_text().split().count("a") == 1


def test_cancel_ends_a_batch_with_an_unresponsive_agent(tmp_path: Path) -> None:
    """It neither answers nor listens; its inputs are cancelled and can be asked again."""
    deaf = [sys.executable, str(MOODY.with_name("deaf.py"))]
    batch = agentnb.map("{input}", ["a", "b", "c"], command=deaf, cwd=tmp_path, concurrency=2, progress=False)
    while batch.counts["running"] < 2:
        pass
    batch.cancel()
    batch.wait(check=False)
    assert batch.counts == {"running": 0, "done": 0, "failed": 0, "cancelled": 2}
    assert [(each.number, each.state) for each in batch.results] == [(0, "cancelled"), (1, "cancelled")]


def test_attachments_of_a_prompt_function_reach_the_agent(tmp_path: Path) -> None:
    """A function returns the prompt and its attachments: here a file for each row."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.txt").write_text(f"this is {name}\n")
    rows = [{"name": "one"}, {"name": "two"}]

    def prompt(row: dict[str, str]) -> tuple[str, list[Path]]:
        return "/context", [tmp_path / f"{row['name']}.txt"]

    answers = list(agentnb.map(prompt, rows, agent="eliza", cwd=tmp_path, progress=False))
    assert [name in text for name, text in zip(("one.txt", "two.txt"), answers, strict=True)] == [True, True]


def test_data_frame_has_cost_and_time_of_each_input(ask: Asks) -> None:
    """Text, value, state, error, tries, costs, seconds and conversation; None if the agent does not report it."""
    frame = ask(["cost", "fail"], on_error="keep", retries=0).wait().to_frame()
    first, second = frame.iloc[0], frame.iloc[1]
    assert (first["state"], first["attempts"], first["costs"]) == ("done", 1, {"USD": 1.0})
    assert (second["state"], second["costs"], second["output"]) == ("failed", {}, None)
    assert "It did not work." in second["error"]
    assert (frame["seconds"] > 0).all()
    assert frame["session"].str.len().gt(0).all()
    assert frame[["input_tokens", "output_tokens"]].isna().all(axis=None)


TERMINAL = """
import sys
import agentnb
agentnb.map("{input}", ["a", "fail", "c"], command=sys.argv[1:], on_error="keep", retries=0).wait()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
def test_terminal_shows_a_progress_bar_until_the_batch_ends(tmp_path: Path) -> None:
    """It is on stderr with the progress; a program whose stderr is not a terminal shows none."""
    import pty

    words = [sys.executable, "-c", TERMINAL, sys.executable, str(MOODY)]
    mine, theirs = pty.openpty()
    with os.fdopen(mine, "rb", 0) as screen:
        with os.fdopen(theirs, "wb") as terminal:
            ran = subprocess.run(words, cwd=tmp_path, stderr=terminal, stdout=subprocess.PIPE, check=True)
            terminal.write(b"over")
        output = b""
        while not output.endswith(b"over"):
            output += screen.read(4096)
    last = output.decode().split("\r\x1b[K")[-1]
    assert last.startswith(f"[{'█' * 24}] 2 of 3 done · 1 failed · ")
    assert last.endswith(" s\r\nover")
    assert ran.stdout == b""
    quiet = run_script(TERMINAL, sys.executable, str(MOODY), cwd=tmp_path)
    assert (quiet.stdout, quiet.stderr) == ("", "")
