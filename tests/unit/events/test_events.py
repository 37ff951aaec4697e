"""Events through `logging`: collected, awaited and written to a file; which data they contain."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.errors import UsageError
from agentnb.events.kinds import AGENT_DIED, CASSETTE_MISMATCHED, TURN_QUEUED, TURN_STARTED
from agentnb.testing import Events, events
from tests.conftest import ROOT
from tests.unit.api.conftest import PATIENCE, start

__all__ = ["start"]  # a fixture
Start = Callable[..., Session]
KEY = "sk-ant-api03-" + "Zx8Qw3Er5Ty7Ui9Op1As2Df4Gh6Jk0" * 3


@pytest.fixture
def heard() -> Iterator[Events]:
    with events() as heard:
        yield heard


class Kept(logging.Handler):
    """A user's own handler."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def own() -> Iterator[Kept]:
    """A handler on the logger of all events, which has no level."""
    handler, logger = Kept(), logging.getLogger("agentnb.events")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def test_handler_receives_events_at_its_log_level(own: Kept) -> None:
    """With the data as attributes and as text."""
    TURN_STARTED.tell(tab="tab", turn="t0")
    assert own.records == []
    logging.getLogger("agentnb.events").setLevel(logging.INFO)
    TURN_STARTED.tell(tab="tab", turn="t1")
    (record,) = own.records
    assert (record.name, record.getMessage()) == ("agentnb.events.turn", "turn.started tab=tab turn=t1")
    assert (record.__dict__["category"], record.__dict__["event"]) == ("turn", "turn.started")
    assert record.__dict__["data"] == {"tab": "tab", "turn": "t1"}


def test_collecting_events_changes_no_log_level(own: Kept, heard: Events) -> None:
    TURN_STARTED.tell(tab="tab", turn="t1")
    assert (heard.names, own.records) == (["turn.started"], [])


def test_events_print_nothing_without_a_handler() -> None:
    """Not even the warning that Python prints without a handler."""
    code = "from agentnb.events.kinds import AGENT_DIED; AGENT_DIED.tell(agent='x', pid=1, error='gone')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_events_hide_credentials(heard: Events, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its form or by an environment variable's value, at any depth."""
    monkeypatch.setenv("DB_PASSWORD", "open sesame")
    AGENT_DIED.tell(agent="x", pid=1, error=f"the key {KEY} and open sesame are wrong")
    CASSETTE_MISMATCHED.tell(path="p", error=[{"deep": f"say {KEY}"}])
    assert KEY not in str([event.data for event in heard])
    assert "open sesame" not in str([event.data for event in heard])
    assert heard.of("agent.died")[0].data["error"] == "the key *** and *** are wrong"


def test_events_contain_prompt_text_only_on_request(heard: Events) -> None:
    """Only for that collector."""
    with events(text=True) as curious:
        TURN_QUEUED.tell(tab="tab", turn="t1", _text="my secret plan")
    assert [event.data.get("text") for event in (*heard, *curious)] == [None, "my secret plan"]


def test_events_are_filtered_by_category_name_and_data(heard: Events) -> None:
    with events("agent") as agents, events(name="turn.started") as starts:
        TURN_QUEUED.tell(tab="a", turn="t1")
        TURN_STARTED.tell(tab="a", turn="t2")
        AGENT_DIED.tell(agent="x", pid=1, error="gone")
    assert (agents.names, starts.names) == (["agent.died"], ["turn.started"])
    assert [event.name for event in heard.of(tab="a", turn="t2")] == ["turn.started"]
    assert [event.name for event in heard.of(category="turn")] == ["turn.queued", "turn.started"]
    TURN_STARTED.tell(tab="a", turn="t3")
    assert (len(starts), len(heard)) == (1, 4)


def test_wait_for_returns_the_matching_event(heard: Events) -> None:
    """From another thread; at once if it has already happened; by count; not for another event."""
    begun = threading.Event()

    def tell() -> None:
        begun.wait()
        for number in range(3):
            TURN_STARTED.tell(tab="a", turn=f"t{number}")

    thread = threading.Thread(target=tell)
    thread.start()
    begun.set()
    assert heard.wait_for("turn.started", turn="t1", timeout=PATIENCE).data["turn"] == "t1"
    assert heard.wait_for("turn.started", count=3, timeout=PATIENCE).data["turn"] == "t2"
    thread.join()
    assert heard.wait_for("turn.started", timeout=0).data["turn"] == "t0"
    with pytest.raises(TimeoutError, match=r"turn\.started .*t9.* did not happen 1 times in 0 s\.(.|\n)*t2"):
        heard.wait_for("turn.started", turn="t9", timeout=0)


def test_unknown_event_name_raises_an_error(heard: Events) -> None:
    """Otherwise it would wait for ever, or find nothing."""
    for slip in (lambda: heard.of("turn.start"), lambda: heard.wait_for("turn.begun"), lambda: heard.of(category="t")):
        with pytest.raises(UsageError, match=r"There are .*turn"):
            slip()


def test_session_reports_each_lifecycle_event(heard: Events, start: Start) -> None:
    """In order; how it stopped, which process died, and the restart."""
    session = start()
    tab = session.tab_id
    session.prompt("/say one").wait(PATIENCE)
    heard.wait_for("turn.ended", tab=tab, state="complete", stop_reason="end_turn", timeout=PATIENCE)
    names = [event.name for event in heard if event.category != "process"]
    assert names == [
        "session.opened",
        "turn.started",
        "agent.spawned",
        "agent.initialized",
        "session.ready",
        "turn.prompted",
        "turn.ended",
    ]
    session.prompt("/crash")
    assert "died" not in heard.wait_for("turn.ended", tab=tab, state="error", timeout=PATIENCE).data["stop_reason"]
    heard.wait_for("agent.died", agent="eliza", timeout=PATIENCE)
    assert heard.wait_for("agent.restarted", tab=tab, timeout=PATIENCE).data["deaths"] == 1
    pids = [event.data["pid"] for event in heard.of("agent.spawned")]
    session.close()
    heard.wait_for("session.closed", tab=tab, timeout=PATIENCE)
    assert heard.wait_for("agent.stopped", timeout=PATIENCE).data["pid"] == pids[-1]
    assert heard.wait_for("process.ended", pid=pids[0], timeout=PATIENCE).data["status"] == 3


def test_permission_event_names_who_decided(heard: Events, start: Start) -> None:
    start(permissions="allow").prompt("/ask edit").wait(PATIENCE)
    start().prompt("/ask edit").wait(PATIENCE)
    decided = [(event.data["outcome"], event.data["by"]) for event in heard.of("policy.decided")]
    assert decided == [("allow", "mode"), ("deny", "nobody")]


WRITES = """
import agentnb
session = agentnb.start("eliza")
session.prompt("/say my secret plan").wait(120)
session.close()
"""


@pytest.mark.parametrize(
    "code",
    [
        "with events('turn') as heard: print(heard.names, heard.of('turn.ended'))",
        "with events(name='turn.ended') as heard: print(heard.names, heard.of(category='agent'))",
    ],
)
def test_event_names_are_known_without_other_imports(code: str) -> None:
    """Collecting imports the kinds of events."""
    command = [sys.executable, "-c", f"from agentnb.testing import events\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("[] []\n", "")


def written(folder: Path, path: Path, **more: str) -> None:
    """Runs WRITES, without output, with a file for events at *path*."""
    env = {**os.environ, "AGENTNB_EVENTS": str(path), "PYTHONPATH": str(ROOT), **more}
    command = [sys.executable, "-c", WRITES]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("more", "has_text"), [({}, False), ({"AGENTNB_EVENTS_TEXT": "1"}, True)], ids=["", "with-text"]
)
def test_events_file_has_one_json_line_per_event(tmp_path: Path, more: dict[str, str], has_text: bool) -> None:
    """`AGENTNB_EVENTS`; private; with prompts only if requested."""
    path = tmp_path / "made/events.jsonl"
    written(tmp_path, path, **more)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert {"session.opened", "agent.spawned", "turn.ended", "process.started"} <= {line["event"] for line in lines}
    assert {tuple(line) for line in lines} == {("time", "level", "event", "data", "process")}
    assert ("my secret plan" in path.read_text(encoding="utf-8")) is has_text
    assert path.stat().st_mode & 0o777 == 0o600


def test_unwritable_events_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    written(tmp_path, tmp_path / "file/events.jsonl")


def test_pytest_fixture_collects_events(agentnb_events: Events, start: Start) -> None:
    """`agentnb_events` exists in every pytest with agentnb installed."""
    start().prompt("/say x")
    assert agentnb_events.wait_for("turn.ended", timeout=PATIENCE).data["state"] == "complete"


def test_failing_log_handler_does_not_stop_turns(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    """Even if the user's handler is on agentnb's logger: the turn ends, and the next one runs."""

    class Raising(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise ValueError(record)

    handler, logger = Raising(), logging.getLogger("agentnb.events")
    logger.addHandler(handler)
    caplog.set_level(logging.DEBUG, logger="agentnb.events")
    session = start()
    try:
        assert [session.prompt(f"/say {word}").wait(PATIENCE).text for word in ("a", "b")] == ["a", "b"]
    finally:
        logger.removeHandler(handler)
