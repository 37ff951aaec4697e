"""The switch: the environment sets a whole process's cassette mode, and `%agents record` changes it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import agentnb
from agentnb.errors import CassetteBroken, UsageError
from tests.conftest import ROOT
from tests.unit.cassette.conversation import lines, turns
from tests.unit.forked import run_script

TALK = """
import sys, agentnb
from pathlib import Path
from agentnb.errors import CassetteMismatch
sessions = [agentnb.start(cwd=sys.argv[1], permissions=mode) for mode in ("allow", "deny")]
turns = []
for number, session in enumerate(sessions):
    turns.append(session.prompt(f"/write {number}.txt Words."))
    turns[-1].wait(60)  # the sessions are opened, and numbered, in this order
turns += [session.prompt(words) for session, words in zip(sessions, sys.argv[2:])]
for turn in turns:
    try:
        print(turn.wait(60).text)
    except CassetteMismatch as error:
        print(f"{type(error).__name__}: {error}")
print(sorted(path.name for path in Path(sys.argv[1]).iterdir()))
"""


def talk(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs two tabs in one process; one of them may write."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    for old in work.iterdir():
        old.unlink()
    environment = {"AGENTNB_CASSETTE": str(folder / "two.cassette.jsonl"), **environment}
    return run_script(TALK, str(work), *(words or ("Hello", "Goodbye")), cwd=ROOT, **environment)


Recorded = tuple[Path, subprocess.CompletedProcess[str]]
"""A folder with a recording and its events, and the result of its program."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("recorded")
    first = talk(folder, AGENTNB_EVENTS=str(folder / "events.jsonl"))
    assert first.returncode == 0, first.stderr
    return folder, first


def test_auto_mode_records_first_and_then_replays(recorded: Recorded, tmp_path: Path) -> None:
    """The replay needs no installed agent; it repeats what was allowed, not what was denied."""
    folder, first = recorded
    path = Path(shutil.copy(folder / "two.cassette.jsonl", tmp_path))
    data = path.read_bytes()
    assert turns(path) == 4
    second = talk(tmp_path)
    assert second.stdout == first.stdout
    assert "['0.txt']" in second.stdout
    assert path.read_bytes() == data
    assert second.stderr == first.stderr == ""


def test_different_prompt_raises_cassette_mismatch(recorded: Recorded, tmp_path: Path) -> None:
    """It has the diff; the other tab goes on."""
    for name in ("two.cassette.jsonl", "events.jsonl"):
        shutil.copy(recorded[0] / name, tmp_path)
    log = tmp_path / "events.jsonl"
    done = talk(tmp_path, "Hello", "Good evening", AGENTNB_CASSETTE_MODE="replay", AGENTNB_EVENTS=str(log))
    assert "CassetteMismatch: Session 2 with eliza, turn 2: the prompt differs from the recorded one." in done.stdout
    assert "-Goodbye\n+Good evening\n" in done.stdout
    assert "Hello. I am eliza." in done.stdout
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    data = {name: [event["data"] for event in events if event["event"] == f"cassette.{name}"] for name in EVENTS}
    assert [each["mode"] for each in data["opened"]] == ["record", "replay"]
    assert {(each["session"], each["turn"]) for each in data["matched"]} == {(1, 1), (2, 1), (1, 2)}
    assert data["finished"][0]["turns"] == 4
    assert len(data["mismatched"]) == 2
    assert all("Session 2 with eliza, turn 2" in each["error"] for each in data["mismatched"])


EVENTS = ("opened", "matched", "mismatched", "finished")


def test_record_mode_records_again_and_off_mode_does_nothing(recorded: Recorded, tmp_path: Path) -> None:
    path = tmp_path / "two.cassette.jsonl"
    talk(tmp_path, AGENTNB_CASSETTE_MODE="off")
    assert not path.exists()
    shutil.copy(recorded[0] / path.name, path)
    talk(tmp_path, "Good morning", AGENTNB_CASSETTE_MODE="record")
    assert turns(path) == 3
    assert "AgentStartFailed" not in talk(tmp_path, "Anything", AGENTNB_CASSETTE_MODE="off").stdout


@pytest.mark.parametrize(
    ("environment", "error", "message"),
    [
        ({"AGENTNB_CASSETTE_MODE": "replay"}, CassetteBroken, r"replay requires one\. Record it again"),
        ({"AGENTNB_CASSETTE_MODE": "play"}, UsageError, "AGENTNB_CASSETTE_MODE='play' is not one of"),
        ({"AGENTNB_CASSETTE_PACE": "slow"}, UsageError, "AGENTNB_CASSETTE_PACE='slow' is not one of"),
        (
            {"AGENTNB_CASSETTE_MODE": "record", "AGENTNB_CASSETTE": ""},
            UsageError,
            r"does not name a cassette\. Name it, AGENTNB_CASSETTE=fit\.cassette\.jsonl",
        ),
    ],
)
def test_invalid_cassette_mode_or_path_is_an_error(
    environment: dict[str, str],
    error: type[Exception],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It says what to type; no real agent starts instead."""
    path = tmp_path / "a.jsonl"
    if error is UsageError:
        path.touch()
    for name, value in {"AGENTNB_CASSETTE": str(path), **environment}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(error, match=message), agentnb.start("eliza", cwd=tmp_path) as session:
        session.open(60)


WANDER = """
import os, agentnb
for number, folder in enumerate((".", "sub")):
    os.chdir(folder)
    print(agentnb.start(cwd=".").prompt(f"/say {number}").wait(60).text)
"""


def test_relative_cassette_path_ignores_a_later_cd(tmp_path: Path) -> None:
    """It starts at the process's first folder: `%cd` gives no second cassette and no real agent."""
    (tmp_path / "sub").mkdir()
    outputs = []
    for mode in ("record", "replay", "auto"):
        done = run_script(WANDER, cwd=tmp_path, AGENTNB_CASSETTE="cd.cassette.jsonl", AGENTNB_CASSETTE_MODE=mode)
        assert (done.returncode, done.stderr) == (0, "")
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] == outputs[2]
    assert [path.name for path in tmp_path.rglob("*cassette*")] == ["cd.cassette.jsonl"]


def test_unwritable_cassette_path_is_rejected_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a prompt reaches an agent in vain."""
    (tmp_path / "plain").touch()
    monkeypatch.setenv("AGENTNB_CASSETTE_MODE", "record")
    for path in (tmp_path, tmp_path / "plain" / "a.jsonl"):
        monkeypatch.setenv("AGENTNB_CASSETTE", str(path))
        with pytest.raises(UsageError, match="no cassette can be written there"):
            agentnb.start("eliza", cwd=tmp_path)


MINE = """
name = "mine"
title = "My own agent"
command = ["{python}", "-m", "agentnb.plugins.eliza"]
steering = true

[capabilities]
write_text_file = false
"""
ASK_MINE = """
import sys, agentnb
session = agentnb.start("mine", cwd=sys.argv[1])
turn = session.prompt("/write a.txt Words.").wait(60)
print(turn.text, turn.error, [(call.title, call.status) for call in turn.tool_calls])
"""


@pytest.mark.parametrize("has_description", [True, False], ids=["described", "from 0.1"])
def test_replay_needs_only_the_cassette_for_an_unknown_agent(tmp_path: Path, has_description: bool) -> None:
    """An agent of the user's own settings: the cassette has its name and offers; 0.1 kept its name only."""
    (tmp_path / "settings/agents").mkdir(parents=True)
    (tmp_path / "settings/agents/mine.toml").write_text(MINE, encoding="utf-8")
    (tmp_path / "work").mkdir()
    path = tmp_path / "mine.cassette.jsonl"

    def ask(settings: Path) -> subprocess.CompletedProcess[str]:
        work = str(tmp_path / "work")
        return run_script(ASK_MINE, work, AGENTNB_CASSETTE=str(path), AGENTNB_CONFIG_DIR=str(settings))

    recorded = ask(tmp_path / "settings")
    assert recorded.returncode == 0, recorded.stderr
    described = {"title": "My own agent", "capabilities": {"write_text_file": False}, "steering": True}
    assert described in [row.get("description") for row in lines(path) if row.get("agent") == "mine"]
    assert str(tmp_path) not in path.read_text(encoding="utf-8")
    if not has_description:
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f', "description": {json.dumps(described)}', ""), encoding="utf-8")
        assert not any("description" in row for row in lines(path) if row.get("agent") == "mine")
    replayed = ask(tmp_path / "no settings")
    assert (replayed.stdout, replayed.stderr) == (recorded.stdout, "")
