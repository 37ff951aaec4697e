"""The wire of eliza where its client does not keep to the protocol."""

from __future__ import annotations

import json
import subprocess

from tests.unit.api.conftest import PATIENCE
from tests.unit.plugins.eliza.patient import COMMAND


def test_lines_that_are_no_messages_are_told_on_stderr_and_nothing_else_happens() -> None:
    """No JSON, JSON that is no object, a notification with wrong parameters; the next request is answered."""
    lines = ["no json", "null", "[1]", "", '{"method": "session/cancel"}', '{"id": 1, "method": "_eliza/echo"}']
    done = subprocess.run(
        COMMAND, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert done.stdout == '{"jsonrpc":"2.0","id":1,"result":{"echo":{}}}\n'
    assert [line[:38] for line in done.stderr.splitlines()] == [
        "eliza: a line of 7 bytes is no message",
        "eliza: a line of 4 bytes is no message",
        "eliza: a line of 3 bytes is no message",
        "eliza: session/cancel is ignored: Inva",
    ]


def test_a_client_that_stops_reading_leaves_no_traceback() -> None:
    """Eliza ends when its stdin is closed, whatever it was saying."""
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for number, (method, params) in enumerate(
            [
                ("session/new", {"cwd": "/work", "mcpServers": []}),
                ("session/prompt", {"sessionId": "sess-1", "prompt": [{"type": "text", "text": "/flood 1000000"}]}),
            ]
        ):
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        while b'"1 "' not in process.stdout.readline():
            pass
        process.stdout.close()
        process.stdin.close()
        assert (process.stderr.read(), process.wait(PATIENCE)) == (b"", 0)
