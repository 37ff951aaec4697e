"""Cancelling, crashing, noise: each in a process of its own where the process does not survive it."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest
from acp.schema import AgentMessageChunk, ToolCallProgress

from agentnb.plugins.eliza.commands.faults import CRASH_CODE
from tests.unit.api.conftest import PATIENCE
from tests.unit.plugins.eliza.patient import COMMAND, Patient, environment, visit

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def cancelled(patient: Patient, prompt: str, kind: type = AgentMessageChunk) -> tuple[str, str]:
    """Cancel a turn as soon as it has sent something of that kind; its session and how it ended."""
    session = await patient.session()
    turn = asyncio.ensure_future(patient.prompt(session, prompt))
    await patient.until(lambda: bool(patient.of(session, kind)))
    await patient.connection.cancel(session_id=session)
    return session, (await asyncio.wait_for(turn, timeout=PATIENCE)).stop_reason


@pytest.mark.parametrize("prompt", ["/hang", "/slow 100000 1", "/flood 1000000"])
async def test_cancel(patient: Patient, prompt: str) -> None:
    """A cancelled command stops at once and the session goes on."""
    session, reason = await cancelled(patient, prompt)
    assert reason == "cancelled"
    assert (await patient.prompt(session, "/say on")).stop_reason == "end_turn"
    assert patient.text(session).endswith("on")


async def test_cancel_in_a_pause(patient: Patient) -> None:
    """A pause ends when the turn is cancelled."""
    session = await patient.session()
    turn = asyncio.ensure_future(patient.prompt(session, "/slow 1000 600000"))
    await patient.prompt(await patient.session(), "/say the other session is not held up")
    await patient.connection.cancel(session_id=session)
    assert (await asyncio.wait_for(turn, timeout=PATIENCE)).stop_reason == "cancelled"
    assert patient.text(session) == ""


async def test_early_cancel(patient: Patient) -> None:
    """A cancel that comes with its prompt is not lost."""
    session = await patient.session()
    turn = asyncio.ensure_future(patient.prompt(session, "/hang"))
    # The prompt is written when its task first runs, right before the notification.
    await asyncio.ensure_future(patient.connection.cancel(session_id=session))
    assert (await asyncio.wait_for(turn, timeout=PATIENCE)).stop_reason == "cancelled"


async def test_cancel_with_a_terminal(patient: Patient) -> None:
    """Cancelling a command kills and releases its terminal."""
    patient.exit_code = None
    session, reason = await cancelled(patient, "/run sleep 1000", ToolCallProgress)
    await patient.until(lambda: ("release", "term-1") in patient.calls)
    assert reason == "cancelled"
    assert patient.calls[-2:] == [("kill", "term-1"), ("release", "term-1")]
    assert patient.text(session) == ""


async def test_crash() -> None:
    """Crash says goodbye and dies in the middle of the turn."""
    async with visit() as patient:
        session = await patient.session()
        with pytest.raises(ConnectionError):
            await patient.prompt(session, "/crash")
        assert await patient.process.wait() == CRASH_CODE
        assert patient.text(session) == "It was nice to meet you."
        assert patient.process.stderr is not None
        assert await patient.process.stderr.read() == b"eliza: died on purpose (/crash)\n"


async def test_closed_stdin() -> None:
    """It ends when its stdin closes even in the middle of a turn."""
    async with visit() as patient:
        session = await patient.session()
        turn = asyncio.ensure_future(patient.prompt(session, "/hang"))
        await patient.until(lambda: bool(patient.chunks(session)))
        assert patient.process.stdin is not None
        patient.process.stdin.close()
        assert await asyncio.wait_for(patient.process.wait(), timeout=PATIENCE) == 0
        with pytest.raises(ConnectionError):
            await turn


async def lines_of(*prompts: str) -> tuple[list[bytes], bytes]:
    """Everything a process prints when given these prompts one after the other, read without the SDK."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=-1, stdout=-1, stderr=-1, env={**os.environ, **environment()}, limit=2**24
    )
    assert process.stdin is not None
    assert process.stdout is not None
    lines: list[bytes] = []
    errors = asyncio.ensure_future(process.stderr.read() if process.stderr else asyncio.sleep(0, b""))
    requests: list[tuple[str, dict[str, Any]]] = [
        ("initialize", {"protocolVersion": 1}),
        ("session/new", {"cwd": "/work", "mcpServers": []}),
        *(("session/prompt", {"sessionId": "sess-1", "prompt": [{"type": "text", "text": text}]}) for text in prompts),
    ]
    for number, (method, params) in enumerate(requests):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        while not lines or b'"id":%d,' % number not in lines[-1]:
            lines.append(await process.stdout.readline())
    process.stdin.close()
    lines += (await process.stdout.read()).splitlines(keepends=True)
    await process.wait()
    return lines, await errors


def messages(lines: list[bytes]) -> list[dict[str, Any]]:
    """The lines that are messages of the agent's."""
    found = []
    for line in lines:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and ("method" in message or isinstance(message.get("id"), int)):
            found.append(message)
    return found


async def test_clean_stdout() -> None:
    """Only noise prints what is no message."""
    lines, errors = await lines_of("hello", "/help", "/markdown", "/tool read", "/plan 2", "/fail", "/read x")
    assert len(messages(lines)) == len(lines)
    assert errors == b""


async def test_lines_that_are_no_messages_are_told_on_stderr_and_nothing_else_happens() -> None:
    """No JSON, JSON that is no object, a notification with wrong parameters; the next request is answered."""
    lines = ["no json", "null", "[1]", "", '{"method": "session/cancel"}', '{"id": 1, "method": "_eliza/echo"}']
    process = await asyncio.create_subprocess_exec(*COMMAND, stdin=-1, stdout=-1, stderr=-1)
    stdout, stderr = await asyncio.wait_for(process.communicate(("\n".join(lines) + "\n").encode()), PATIENCE)
    assert stdout == b'{"jsonrpc":"2.0","id":1,"result":{"echo":{}}}\n'
    assert [line[:38] for line in stderr.decode().splitlines()] == [
        "eliza: a line of 7 bytes is not a mess",
        "eliza: a line of 4 bytes is not a mess",
        "eliza: a line of 3 bytes is not a mess",
        "eliza: session/cancel is ignored: Inva",
    ]


async def test_a_client_that_stops_reading_leaves_no_traceback() -> None:
    """Eliza ends when its stdin is closed, whatever it was saying."""
    process = await asyncio.create_subprocess_exec(*COMMAND, stdin=-1, stdout=-1, stderr=-1)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    prompt = {"sessionId": "sess-1", "prompt": [{"type": "text", "text": "/flood 1000000"}]}
    requests = [("session/new", {"cwd": "/work", "mcpServers": []}), ("session/prompt", prompt)]
    for number, (method, params) in enumerate(requests):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(json.dumps(request).encode() + b"\n")
    while b'"1 "' not in await process.stdout.readline():
        pass
    process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio offers no other end of a pipe
    process.stdin.close()
    assert (await process.stderr.read(), await asyncio.wait_for(process.wait(), PATIENCE)) == (b"", 0)
