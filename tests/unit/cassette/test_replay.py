"""Replay: a cassette is an ACP agent, also for the official SDK's client."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import acp
import pytest

from tests.unit.cassette.conversation import lines, recorded, turns, write_lines
from tests.unit.forked import run_agentnb
from tests.unit.plugins.eliza.patient import COMMAND, ROOT, Patient, environment, visit
from tests.unit.running import run

NO_FILES = {"AGENTNB_CASSETTE_FILES": "off"}
"""For sessions in an unknown folder."""
PROMPTS = ("Hello", "/ask execute", "/read a.txt", "/write b.txt New words.", "/run echo hello", "/form", "/plan 2")
AGENTNB = (sys.executable, "-m", "agentnb")


@asynccontextmanager
async def recording(path: Path) -> AsyncIterator[Patient]:
    """Connects a client to eliza through the recording proxy."""
    command = (*AGENTNB, "record", "--name", "eliza", str(path), "--", *COMMAND)
    async with visit(command=command, env=NO_FILES) as patient:
        patient.files["/work/a.txt"] = "one\ntwo\n"
        patient.answers = {"name": "Ada"}
        yield patient


@asynccontextmanager
async def replaying(path: Path, *options: str) -> AsyncIterator[Patient]:
    """Connects a client to the cassette."""
    async with visit(command=(*AGENTNB, "replay", str(path), *options)) as patient:
        patient.files["/work/a.txt"] = "one\ntwo\n"
        patient.answers = {"name": "Ada"}
        yield patient


def heard(patient: Patient, session: str) -> list[tuple[str, object]]:
    """Returns all updates of a session, without the ids that a replay counts."""
    rows = [
        update.model_dump(exclude_none=True, exclude={"tool_call_id"}) for _, update in patient.updates if _ == session
    ]
    return [(row["session_update"], row) for row in rows]


Recorded = tuple[Path, list[tuple[str, object]]]
"""A cassette and the updates of its session."""


@pytest.fixture(scope="module")
def cassette(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Records a session with all kinds of messages; returns its path and updates."""
    path = tmp_path_factory.mktemp("cassette") / "all.cassette.jsonl"

    async def record() -> list[tuple[str, object]]:
        async with recording(path) as patient:
            session = await patient.session()
            for prompt in PROMPTS:
                await patient.prompt(session, prompt)
            return heard(patient, session)

    updates = run(record())
    assert turns(path) == len(PROMPTS)
    return path, updates


async def test_replay_sends_the_recorded_updates_and_requests(cassette: Recorded) -> None:
    """Every update, in order, and every request."""
    path, updates = cassette
    async with replaying(path) as patient:
        session = await patient.session()
        for prompt in PROMPTS:
            answer = await patient.prompt(session, prompt)
            assert answer.stop_reason == "end_turn"
        assert heard(patient, session) == updates
        assert patient.files["/work/b.txt"] == "New words.\n"
        assert [call[0] for call in patient.calls] == ["create", "wait", "release"]
        assert len(patient.asked) == 2


async def test_replay_fails_with_a_diff_when_the_prompt_differs(cassette: Recorded) -> None:
    """The error names the turn, both prompts, and how to record again; a replay skips no turn."""
    async with replaying(cassette[0]) as patient:
        session = await patient.session()
        await patient.prompt(session, PROMPTS[0])
        with pytest.raises(acp.RequestError) as caught:
            await patient.prompt(session, "/ask read")
        message = str(caught.value)
        assert message.startswith("Session 1 with eliza, turn 2: the prompt differs from the recorded one.")
        assert "--- recorded\n+++ today\n" in message
        assert "-/ask execute\n+/ask read\n" in message
        assert "AGENTNB_CASSETTE_MODE=record" in message
        with pytest.raises(acp.RequestError, match="It is recorded as turn 3"):
            await patient.prompt(session, PROMPTS[2])
        await patient.prompt(session, PROMPTS[1])


async def test_replay_fails_with_a_diff_when_an_attachment_differs(tmp_path: Path) -> None:
    path = tmp_path / "a.cassette.jsonl"
    link = acp.resource_link_block("df", "file:///work/df.csv")
    async with recording(path) as patient:
        await patient.prompt(await patient.session(), "Look", link)
    async with replaying(path) as patient:
        session = await patient.session()
        with pytest.raises(acp.RequestError, match=r"-@ df \(file://.*/df.csv\)"):
            await patient.prompt(session, "Look")
        await patient.prompt(session, "Look", link)


PANDAS_3 = """df: pandas.DataFrame, shape (2, 2)
columns:
  name: str
  day: datetime64[us]
head:
  name        day
0  Ada 2026-11-21"""
PANDAS_2 = """df: pandas.core.frame.DataFrame, shape (2, 2)
columns:
  name: object
  day: datetime64[ns]
head:
  name        day
0  Ada 2026-11-21"""


async def test_replay_accepts_a_data_frame_from_another_pandas_version(tmp_path: Path) -> None:
    """Only the names of the class and of the column types differ; another shape is another prompt."""
    path = tmp_path / "a.cassette.jsonl"
    async with recording(path) as patient:
        session = await patient.session()
        for then in (PANDAS_3, PANDAS_2):
            await patient.prompt(session, "Look", attached_value(then))
    async with replaying(path) as patient:
        session = await patient.session()
        with pytest.raises(acp.RequestError, match=r"\+  df: pandas\.DataFrame, shape \(3, 2\)"):
            await patient.prompt(session, "Look", attached_value(PANDAS_2.replace("(2, 2)", "(3, 2)")))
        for now in (PANDAS_2, PANDAS_3):
            await patient.prompt(session, "Look", attached_value(now))


def attached_value(text: str) -> acp.schema.EmbeddedResourceContentBlock:
    """Returns an attached value."""
    return acp.resource_block(acp.embedded_text_resource("agentnb://context/df", text))


async def test_replay_fails_for_more_turns_or_sessions_than_recorded(tmp_path: Path) -> None:
    """The error has the recorded number."""
    path = tmp_path / "a.cassette.jsonl"
    async with recording(path) as patient:
        await patient.prompt(await patient.session(), "Hello")
    async with replaying(path) as patient:
        session = await patient.session()
        await patient.prompt(session, "Hello")
        with pytest.raises(acp.RequestError, match="turn 2: the recording ends after 1"):
            await patient.prompt(session, "Hello")
        with pytest.raises(acp.RequestError, match="has 1 × session/new with eliza, and this is an additional one"):
            await patient.session()


async def test_replay_fails_when_a_recorded_permission_is_denied(cassette: Recorded) -> None:
    """The agent went on as if it were allowed: that would be wrong today."""
    async with replaying(cassette[0]) as patient:
        patient.choice = "reject_once"
        session = await patient.session()
        await patient.prompt(session, PROMPTS[0])
        with pytest.raises(acp.RequestError, match="recorded: `allowed`, now: `rejected`"):
            await patient.prompt(session, PROMPTS[1])


async def test_replay_fails_when_a_file_the_agent_read_has_changed(cassette: Recorded) -> None:
    async with replaying(cassette[0]) as patient:
        patient.files["/work/a.txt"] = "one\nthree\n"
        session = await patient.session()
        for prompt in PROMPTS[:2]:
            await patient.prompt(session, prompt)
        with pytest.raises(acp.RequestError, match=r"the file has changed\.\n(?s:.*)-two\n\+three"):
            await patient.prompt(session, PROMPTS[2])


async def test_replay_ignores_different_dates_and_ids_in_prompts(tmp_path: Path) -> None:
    """By the rules in the header; other differences fail."""
    path = tmp_path / "a.cassette.jsonl"
    async with recording(path) as patient:
        await patient.prompt(
            await patient.session(), "As of 2026-11-21T10:30:48Z, 6f1c0a52-93a4-4c1e-8d57-2b7f6a0e9c11, run 7"
        )
    today = "As of 2031-01-02T03:04:05.678+01:00, 00000000-0000-4000-8000-000000000000, run"
    async with replaying(path) as patient:
        session = await patient.session()
        with pytest.raises(acp.RequestError, match="run 8"):
            await patient.prompt(session, f"{today} 8")
        await patient.prompt(session, f"{today} 7")


async def test_replay_identifies_sessions_by_their_first_prompt(tmp_path: Path) -> None:
    """In whatever order they are opened and prompted."""
    path = tmp_path / "a.cassette.jsonl"
    async with recording(path) as patient:
        for name in ("Ada", "Bob"):
            session = await patient.session()
            await patient.prompt(session, f"I am {name}")
            await patient.prompt(session, f"/say I listen to {name}")
    async with replaying(path) as patient:
        sessions = {name: await patient.session() for name in ("Bob", "Ada")}
        await asyncio.gather(*(patient.prompt(sessions[name], f"I am {name}") for name in sessions))
        await asyncio.gather(*(patient.prompt(sessions[name], f"/say I listen to {name}") for name in sessions))
        for name, session in sessions.items():
            assert patient.text(session).endswith(f"I listen to {name}")


async def test_replay_cancels_a_turn(tmp_path: Path) -> None:
    """A turn without a recorded cancel ends at once when it is cancelled."""
    path = tmp_path / "a.cassette.jsonl"
    async with recording(path) as patient:
        session = await patient.session()
        hanging = asyncio.ensure_future(patient.prompt(session, "/hang"))
        await patient.until(lambda: "silent" in patient.text(session))
        await patient.connection.cancel(session_id=session)
        assert (await hanging).stop_reason == "cancelled"
        await patient.prompt(session, "/slow 5 1")
    slow_down(path)
    async with replaying(path, "--pace", "recorded") as patient:
        session = await patient.session()
        hanging = asyncio.ensure_future(patient.prompt(session, "/hang"))
        await patient.until(lambda: "silent" in patient.text(session))
        assert not hanging.done()
        await patient.connection.cancel(session_id=session)
        assert (await hanging).stop_reason == "cancelled"
        slow = asyncio.ensure_future(patient.prompt(session, "/slow 5 1"))
        before = len(patient.chunks(session))
        await patient.until(lambda: len(patient.chunks(session)) > before)
        await patient.connection.cancel(session_id=session)
        assert (await slow).stop_reason == "cancelled"


async def test_replay_exits_where_the_agent_crashed(tmp_path: Path) -> None:
    path = tmp_path / "a.cassette.jsonl"
    async with recording(path) as patient:
        session = await patient.session()
        with pytest.raises(ConnectionError):
            await patient.prompt(session, "/crash")
        await patient.process.wait()
    async with replaying(path) as patient:
        session = await patient.session()
        with pytest.raises(ConnectionError):
            await patient.prompt(session, "/crash")
        assert "nice to meet you" in patient.text(session)
        assert await patient.process.wait() == 1


async def test_replay_requires_the_recorded_mode_change(tmp_path: Path) -> None:
    """A recorded mode must be set again, to the same value."""
    path = tmp_path / "a.cassette.jsonl"
    async with recording(path) as patient:
        session = await patient.session()
        await patient.connection.set_session_mode(session_id=session, mode_id="plain")
        await patient.prompt(session, "Echo")
    async with replaying(path) as patient:
        session = await patient.session()
        with pytest.raises(acp.RequestError, match="before it session/set_mode was recorded"):
            await patient.prompt(session, "Echo")
        with pytest.raises(acp.RequestError, match="session/set_mode is not as recorded"):
            await patient.connection.set_session_mode(session_id=session, mode_id="doctor")
        await patient.connection.set_session_mode(session_id=session, mode_id="plain")
        await patient.prompt(session, "Echo")
        assert patient.text(session) == "Echo"


def slow_down(path: Path) -> None:
    """Delays the last turn's agent after its first text: no replay waits for it, but a cancel must."""
    *rows, pace, end = lines(path)
    first, *others = pace["pace"]
    write_lines(path, [*rows, {"pace": [first, *(600_000 for _ in others)]}, end])


def play(path: Path, *messages: dict[str, object]) -> subprocess.CompletedProcess[str]:
    """Runs the replayer for a client that only writes."""
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    command = [*AGENTNB, "replay", str(path)]
    env = {**os.environ, **environment()}
    return subprocess.run(
        command, input=lines, capture_output=True, text=True, check=False, env=env, cwd=ROOT, timeout=60
    )


def test_broken_cassette_is_reported_to_client_and_stderr(tmp_path: Path) -> None:
    path = tmp_path / "a.cassette.jsonl"
    path.write_text('{"cassette": 7}\n', encoding="utf-8")
    done = play(path, {"id": 1, "method": "initialize", "params": {}})
    assert done.returncode == 1
    assert "version 7" in done.stderr
    assert "version 7" in json.loads(done.stdout)["error"]["message"]


def test_replay_reports_a_recording_that_stops_within_a_turn(tmp_path: Path) -> None:
    """The kernel was killed during the recording."""
    path = tmp_path / "a.cassette.jsonl"
    with recorded(path) as talk:
        session = talk.begin()
        talk.prompt(session, "Hello")
        talk.says(session, "Hel")
    prompt = {"sessionId": "cassette-1", "prompt": [{"type": "text", "text": "Hello"}]}
    done = play(
        path,
        {"id": 1, "method": "session/new", "params": {"cwd": "/w", "mcpServers": []}},
        {"id": 2, "method": "session/prompt", "params": prompt},
    )
    assert "stops within turn 1" in json.loads(done.stdout.splitlines()[-1])["error"]["message"]


@pytest.mark.parametrize("method", ["initialize", "session/new"])
def test_replay_reports_a_recording_without_the_agent_response(method: str, tmp_path: Path) -> None:
    """The client gets an error for any request at once, and waits for nothing."""
    path = tmp_path / "a.cassette.jsonl"
    with recorded(path) as talk:
        if method == "session/new":
            talk.received(id=talk.request("initialize", protocolVersion=1), result={"protocolVersion": 1})
        talk.request(method, cwd=talk.cwd, mcpServers=[])
    done = play(path, {"id": 7, "method": method, "params": {"cwd": "/w", "mcpServers": []}})
    answer = json.loads(done.stdout.splitlines()[-1])
    assert (answer["id"], f"The recording stops at {method}" in answer["error"]["message"]) == (7, True)


def test_record_fails_for_a_missing_program(tmp_path: Path) -> None:
    """The shell's exit code, no cassette."""
    path = tmp_path / "a.cassette.jsonl"
    done = run_agentnb("record", str(path), "--", "no-such-agent-here")
    assert done.returncode == 127
    assert "no-such-agent-here cannot be started" in done.stderr
    assert not path.exists()


@pytest.mark.parametrize("words", [("a.jsonl",), ("a.jsonl", "b", "--", "true"), ("--",), ()])
def test_record_requires_the_command_of_the_agent(words: tuple[str, ...]) -> None:
    """After the two dashes."""
    done = run_agentnb("record", *words)
    assert done.returncode == 2
    assert done.stderr == "agentnb: say which agent: agentnb record [PATH] -- COMMAND ...\n"


@pytest.mark.parametrize(
    ("variable", "words", "name"),
    [
        ({}, ("--name", "doctor", "--"), "doctor.cassette.jsonl"),
        ({}, ("--",), f"{Path(sys.executable).name}.cassette.jsonl"),
        ({"AGENTNB_CASSETTE": "said.jsonl"}, ("--",), "said.jsonl"),
    ],
)
def test_record_names_a_cassette_after_the_agent_by_default(
    tmp_path: Path, variable: dict[str, str], words: tuple[str, ...], name: str
) -> None:
    """In this folder, or the environment's."""
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}})
    env = {**os.environ, **environment(), **variable}
    command = [*AGENTNB, "record", *words, *COMMAND]
    subprocess.run(command, input=f"{request}\n", text=True, check=True, cwd=tmp_path, env=env, capture_output=True)
    assert [path.name for path in tmp_path.iterdir()] == [name]
