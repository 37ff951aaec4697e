"""Cancelling, crashing, noise: in a separate process if the process does not survive it."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.unit.api.conftest import PATIENCE
from tests.unit.plugins.eliza.patient import COMMAND, Patient

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_cancel_right_after_its_prompt_is_not_lost(patient: Patient) -> None:
    session = await patient.session()
    turn = asyncio.ensure_future(patient.prompt(session, "/hang"))
    # The prompt is written when its task first runs, right before the notification.
    await asyncio.ensure_future(patient.connection.cancel(session_id=session))
    assert (await asyncio.wait_for(turn, timeout=PATIENCE)).stop_reason == "cancelled"


async def test_invalid_lines_are_reported_only_on_stderr() -> None:
    """Invalid JSON, JSON that is not an object, wrong parameters; the next request is answered."""
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


async def test_client_that_stops_reading_causes_no_traceback() -> None:
    """Eliza ends when its stdin is closed, even while it writes."""
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
