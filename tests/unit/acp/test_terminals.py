"""The terminals service, used by a real agent and directly."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentnb.acp.terminals import Terminals
from agentnb.agent.watchdog import group_alive
from agentnb.errors import OutsideWorkspace
from agentnb.policy.workspace import WorkspaceBoundary
from agentnb.rpc_message import RpcError
from agentnb.state import XTerminalData, XTerminalExited, XTerminalOpened
from tests.unit.acp.recording_listener import RecordingListener, talking
from tests.unit.api.conftest import PATIENCE

SCRIPT = "echo $WORD; pwd; exit 3"
PAUSE = "import signal, os; print(os.getpid(), flush=True); signal.pause()"
MEGABYTE = 1024 * 1024


def output_of(listener: RecordingListener) -> str:
    """Returns the output that the listener got."""
    return "".join(action.data for action in listener.terminals if isinstance(action, XTerminalData))


async def test_agent_runs_a_command_in_a_terminal(tmp_path: Path) -> None:
    """Create, wait, read, release; the listener gets its start, output and end."""
    requests: list[Any] = [
        ["terminal/create", {"command": "sh", "args": ["-c", SCRIPT], "env": [{"name": "WORD", "value": "hi"}]}],
        ["terminal/wait_for_exit", {"terminalId": "$terminal"}],
        ["terminal/output", {"terminalId": "$terminal"}],
        ["terminal/release", {"terminalId": "$terminal"}],
        ["terminal/output", {"terminalId": "$terminal"}],
    ]
    async with talking("works", tmp_path) as talk:
        await talk.prompt(json.dumps(requests))
        answers = [json.loads(line) for line in talk.listener.text.splitlines()]
        listener = talk.listener
    output = f"hi\n{WorkspaceBoundary(tmp_path).root}\n"
    ended = {"exitCode": 3, "signal": None}
    assert answers[1:4] == [ended, {"output": output, "truncated": False, "exitStatus": ended}, {}]
    assert answers[4]["code"] == -32002
    assert (listener.requests[0].kind, listener.requests[0].command) == ("terminal", SCRIPT)
    assert (type(listener.terminals[0]), output_of(listener), type(listener.terminals[-1])) == (
        XTerminalOpened,
        output,
        XTerminalExited,
    )
    assert listener.terminals[-1].exit_code == 3


@pytest.fixture
async def listener() -> RecordingListener:
    """A listener that allows everything."""
    return RecordingListener()


@pytest.fixture
async def terminals(tmp_path: Path, listener: RecordingListener) -> AsyncIterator[Terminals]:
    """The service; running commands are ended."""
    terminals = Terminals(WorkspaceBoundary(tmp_path), listener)
    yield terminals
    await terminals.close()


async def test_command_that_is_a_whole_line_runs_in_the_shell(
    terminals: Terminals, listener: RecordingListener
) -> None:
    """Some agents do not split the line."""
    created = await terminals.create({"command": "echo one && echo two"})
    assert await terminals.wait_for_exit(created) == {"exitCode": 0, "signal": None}
    assert (output_of(listener), listener.requests[0].command) == ("one\ntwo\n", "echo one && echo two")


async def test_output_limit_drops_the_oldest_whole_characters(
    terminals: Terminals, listener: RecordingListener
) -> None:
    """The agent gets the last bytes; the listener gets all."""
    created = await terminals.create({"command": "printf '%s' 'a€€'", "outputByteLimit": 4})
    await terminals.wait_for_exit(created)
    answer = await terminals.output(created)
    assert (answer["output"], answer["truncated"], output_of(listener)) == ("€", True, "a€€")


async def test_kill_ends_the_process_group_and_keeps_the_output(
    terminals: Terminals, listener: RecordingListener
) -> None:
    """The process group is gone; the terminal stays."""
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(PAUSE)} & wait"
    created = await terminals.create({"command": line})
    await asyncio.wait_for(listener.printed.wait(), PATIENCE)
    group = os.getpgid(int(output_of(listener)))
    await terminals.kill(created)
    assert await terminals.wait_for_exit(created) == {"exitCode": None, "signal": "SIGKILL"}
    assert (group_alive(group), (await terminals.output(created))["output"]) == (False, output_of(listener))


async def test_release_ends_the_command_and_removes_the_terminal(
    terminals: Terminals, listener: RecordingListener
) -> None:
    """Its own process group ends whole; this one goes on."""
    created = await terminals.create({"command": sys.executable, "args": ["-c", PAUSE]})
    await asyncio.wait_for(listener.printed.wait(), PATIENCE)
    group = int(output_of(listener))
    assert os.getpgid(group) == group != os.getpgrp()
    await terminals.release(created)
    assert (group_alive(group), type(listener.terminals[-1])) == (False, XTerminalExited)
    for method in (terminals.output, terminals.wait_for_exit, terminals.kill, terminals.release):
        with pytest.raises(RpcError, match="There is no terminal"):
            await method(created)


async def test_output_is_available_while_the_command_runs(terminals: Terminals, listener: RecordingListener) -> None:
    """The listener and the agent get it, without an exit status."""
    created = await terminals.create({"command": sys.executable, "args": ["-c", PAUSE]})
    await asyncio.wait_for(listener.printed.wait(), PATIENCE)
    assert await terminals.output(created) == {"output": output_of(listener), "truncated": False}
    assert output_of(listener).strip().isdigit()


async def test_close_ends_every_command(terminals: Terminals, listener: RecordingListener) -> None:
    for _ in range(3):
        listener.printed.clear()
        await terminals.create({"command": sys.executable, "args": ["-c", PAUSE]})
        await asyncio.wait_for(listener.printed.wait(), PATIENCE)
    groups = [int(pid) for pid in output_of(listener).split()]
    assert [os.getpgid(group) for group in groups] == groups
    await terminals.close()
    assert [group_alive(group) for group in groups] == [False] * 3


async def test_endless_output_does_not_starve_the_loop(terminals: Terminals, listener: RecordingListener) -> None:
    """Output is read no faster than it is shown: each piece is less than a burst plus one read."""
    created = await terminals.create({"command": "yes", "outputByteLimit": 1000})
    most, before = 0, 0
    while before < MEGABYTE:
        await asyncio.sleep(0)
        most, before = max(most, len(output_of(listener)) - before), len(output_of(listener))
    await terminals.release(created)
    assert most < MEGABYTE // 2, most


@pytest.mark.parametrize(
    ("params", "error", "says"),
    [
        ({"command": "no-such-program"}, RpcError, "no program 'no-such-program'"),
        ({"command": ""}, RpcError, "must name a program"),
        ({"command": "ls", "cwd": "/"}, OutsideWorkspace, "outside the workspace"),
        ({"command": "ls", "cwd": "nowhere"}, RpcError, "could not be run"),
        ({"command": "l\0s", "args": ["x"]}, RpcError, "no program"),
    ],
)
async def test_command_that_cannot_run_is_refused_with_the_reason(
    terminals: Terminals, params: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        await terminals.create(params)
