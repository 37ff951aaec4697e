"""Events through `logging`: collected, awaited and written to a file; which data they contain."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.errors import UsageError
from agentnb.testing import Events, events
from tests.conftest import ROOT
from tests.unit.api.conftest import PATIENCE, start
from tests.unit.forked import run_script

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


def test_handler_receives_events_at_its_log_level(own: Kept, start: Start) -> None:
    """With the data as attributes and as text; collecting events changes no level."""
    session = start()
    with events("turn") as heard:
        session.prompt("/say x").wait(PATIENCE)
    assert (heard.names[0], own.records) == ("turn.started", [])
    logging.getLogger("agentnb.events").setLevel(logging.INFO)
    turn = session.prompt("/say y").wait(PATIENCE)
    record = next(each for each in own.records if each.__dict__["event"] == "turn.started")
    data = {"tab": session.tab_id, "turn": turn.id}
    assert (record.name, record.getMessage()) == (
        "agentnb.events.turn",
        f"turn.started tab={session.tab_id} turn={turn.id}",
    )
    assert (record.__dict__["category"], record.__dict__["data"]) == ("turn", data)


CRASH = "import agentnb; agentnb.start().prompt('/crash').wait(60, check=False)"


def test_events_print_nothing_without_a_handler(tmp_path: Path) -> None:
    """Not even the warning that Python prints without a handler."""
    done = run_script(CRASH, cwd=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_events_have_prompts_only_on_request_and_no_credentials(
    heard: Events, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only that collector gets text; credentials are known by their form or by a variable's value."""
    monkeypatch.setenv("DB_PASSWORD", "open sesame")
    with events(text=True) as curious:
        start().prompt(f"/say {KEY} and open sesame").wait(PATIENCE)
    (started,) = curious.of("turn.started")
    assert started.data["text"] == "/say *** and ***"
    assert "/say" not in str([event.data for event in heard])
    assert not {KEY, "open sesame"} & {word for event in curious for word in map(str, event.data.values())}


def test_events_are_filtered_and_awaited(heard: Events, start: Start) -> None:
    """By category, name and data; also if it has already happened; by count; not for another event."""
    session = start()
    with events("agent") as agents, events(name="turn.started") as starts:
        session.prompt("/say a").wait(PATIENCE)
        turn = session.prompt("/say b").wait(PATIENCE)
    assert agents.names == ["agent.spawned", "agent.initialized"]
    assert next(iter(heard.of(tab=session.tab_id, turn=turn.id))).name == "turn.started"
    assert {event.category for event in heard.of(category="turn")} == {"turn"}
    later = session.prompt("/say c")
    assert heard.wait_for("turn.ended", turn=later.id, timeout=PATIENCE).data["turn"] == later.id
    assert heard.wait_for("turn.started", count=3, timeout=PATIENCE).data["turn"] == later.id
    assert heard.wait_for("turn.started", turn=turn.id, timeout=0).data["turn"] == turn.id
    assert (len(starts), len(heard.of("turn.started"))) == (2, 3)
    with pytest.raises(TimeoutError, match=rf"turn\.started .*t9.* did not happen 1 times in 0 s\.(.|\n)*{later.id}"):
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


def test_permission_event_names_who_decided(agentnb_events: Events, start: Start) -> None:
    """With the fixture that every pytest has where agentnb is installed."""
    start(permissions="allow").prompt("/ask edit").wait(PATIENCE)
    start().prompt("/ask edit").wait(PATIENCE)
    decided = [(event.data["outcome"], event.data["by"]) for event in agentnb_events.of("policy.decided")]
    assert decided == [("allow", "mode"), ("deny", "nobody")]


WRITES = """
import agentnb
session = agentnb.start("eliza")
session.prompt("/say my secret plan").wait(120)
session.close()
"""


def test_event_names_are_known_without_other_imports() -> None:
    """Collecting imports the kinds of events."""
    code = """
from agentnb.testing import events
with events("turn") as heard, events(name="turn.ended") as ended:
    print(heard.names, heard.of("turn.ended"), ended.names, ended.of(category="agent"))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("[] [] [] []\n", "")


def written(folder: Path, path: Path, **more: str) -> None:
    """Runs WRITES, without output, with a file for events at *path*."""
    done = run_script(WRITES, cwd=folder, AGENTNB_EVENTS=str(path), **more)
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
