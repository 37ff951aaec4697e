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


async def test_cancel_without_a_turn(patient: Patient) -> None:
    """Cancelling when nothing runs does nothing."""
    session = await patient.session()
    await patient.connection.cancel(session_id=session)
    await patient.connection.cancel(session_id="sess-none")
    assert (await patient.prompt(session, "/say on")).stop_reason == "end_turn"


async def test_second_prompt(patient: Patient) -> None:
    """A second prompt is refused while one runs."""
    session = await patient.session()
    turn = asyncio.ensure_future(patient.prompt(session, "/hang"))
    await patient.until(lambda: bool(patient.chunks(session)))
    with pytest.raises(Exception, match=f"A turn is running in `{session}`; wait for its end, or cancel it."):
        await patient.prompt(session, "hello")
    await patient.connection.cancel(session_id=session)
    assert (await turn).stop_reason == "cancelled"


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


def said(found: list[dict[str, Any]]) -> str:
    """What the agent said in these messages."""
    updates = [message["params"]["update"] for message in found if message.get("method") == "session/update"]
    return "".join(update["content"]["text"] for update in updates if update["sessionUpdate"] == "agent_message_chunk")


async def test_noise() -> None:
    """Noise comes between messages and breaks none."""
    lines, errors = await lines_of("/noise", "/noise all", "/say still here")
    found = messages(lines)
    assert said(found) == "Noise: survived.Noise: survived.still here"
    assert [message["id"] for message in found if "result" in message] == [0, 1, 2, 3, 4]
    assert {b"null\n", b"[1, 2]\n", b"42\n", b"\xff\xfe\x80 not UTF-8\n"} <= set(lines)
    assert len(errors) > 256 * 1024


async def test_clean_stdout() -> None:
    """Only noise prints what is no message."""
    lines, errors = await lines_of("hello", "/help", "/markdown", "/tool read", "/plan 2", "/fail", "/read x")
    assert len(messages(lines)) == len(lines)
    assert errors == b""


async def test_unknown() -> None:
    """Unknown sends an update of a kind that no client knows."""
    lines, _ = await lines_of("/unknown")
    updates = [message["params"]["update"] for message in messages(lines) if "params" in message]
    assert {"sessionUpdate": "eliza_mood", "mood": "patient", "level": 3} in updates


async def test_same_bytes() -> None:
    """The same prompts make the same bytes."""
    prompts = ("hello", "/plan 3", "/image", "my cat is ill", "hm", "/tool edit", "/diff", "/usage")
    assert await lines_of(*prompts) == await lines_of(*prompts)
