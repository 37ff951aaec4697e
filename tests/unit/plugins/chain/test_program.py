"""`python -m agentnb.conductor`: a chain for any ACP client, and one that is itself a component."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.conftest import ROOT
from tests.unit.plugins.chain.conducted import PROXY, PYTHON, SESSION

ECHO = f"{PYTHON} {ROOT / 'tests/agents/echo.py'}"


class Program:
    """The conductor with a client that writes and reads lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.heard: list[dict[str, Any]] = []

    def ask(self, request_id: int | str, method: str, **params: Any) -> dict[str, Any]:
        """Returns the answer, and keeps the messages before it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            received: dict[str, Any] = json.loads(line)
            if received.get("id") == request_id:
                return received
            self.heard.append(received)
        raise AssertionError("the conductor ended")

    def end(self) -> tuple[int, str]:
        """Closes stdin; returns the exit code and stderr."""
        _, errors = self.process.communicate()
        return self.process.returncode, errors.decode()


@contextmanager
def program(*words: str) -> Iterator[Program]:
    command = [sys.executable, "-m", "agentnb.conductor", *words]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, cwd=ROOT) as process:
        try:
            yield Program(process)
        finally:
            process.kill()


def test_program_runs_a_chain_with_an_inner_conductor() -> None:
    """The inner conductor passes on its component's changes; the client's ids come back unchanged."""
    inner = f"{sys.executable} -m agentnb.conductor proxy '{PYTHON} {PROXY} shouts sdk'"
    with program("agent", f"{PYTHON} {PROXY}", inner, ECHO) as conductor:
        conductor.ask("first", "initialize", protocolVersion=1)
        conductor.ask(2, "session/new", cwd="/", mcpServers=[])
        answer = conductor.ask(3, "session/prompt", sessionId=SESSION, prompt=[{"type": "text", "text": "hi"}])
        texts = [each["params"]["update"]["content"]["text"] for each in conductor.heard]
        assert (answer["result"], texts) == ({"stopReason": "end_turn"}, ["HI"])
        assert conductor.end() == (0, "")


def test_component_that_dies_is_named_and_ends_the_program() -> None:
    """The client's open request gets the error, stderr names it for people, the exit code is 1."""
    with program("agent", f"{PYTHON} {PROXY} dies_at_session/new", ECHO) as conductor:
        conductor.ask(1, "initialize", protocolVersion=1)
        refused = conductor.ask(2, "session/new", cwd="/", mcpServers=[])
        message = "The component 'proxy.py' stopped unexpectedly (exit code 9). Last output:\nout of patience"
        assert refused["error"]["message"] == message
        assert conductor.end() == (1, f"agentnb conductor: {message}\n")


def test_missing_command_is_named_in_the_error() -> None:
    with program("agent", "no-such-proxy", ECHO) as conductor:
        code, errors = conductor.end()
        assert (code, "The component 'no-such-proxy' cannot be started." in errors) == (1, True)
