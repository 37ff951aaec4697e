"""The commands that an agent runs through agentnb."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentnb import Session
from agentnb.state import TerminalView
from tests.unit.acp.conftest import Answer, Works

PRINTED = "while [ ! -s printed ]; do sleep 0.01; done"
"""A command that ends when another one has written its process ids."""
PAUSES = "sleep 600 & echo $$ $! > printed; echo started; wait"


def create(command: str, *args: str, **more: Any) -> tuple[str, Any]:
    return "terminal/create", {"command": command, **({"args": args} if args else {}), **more}


def of(method: str, number: int | None = None) -> tuple[str, Any]:
    """Returns a request about the terminal of request *number*, or about the last one."""
    return f"terminal/{method}", {"terminalId": "$terminal" if number is None else f"$terminal-{number}"}


def last_terminal(works: Works) -> TerminalView:
    return (works.session.chat.terminals or ())[-1]


def alive(*pids: int) -> list[bool]:
    """Returns which of the processes run; zombies do not count."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except OSError:
            state = "X"
        found.append(state not in "ZX")
    return found


def test_agent_runs_a_command_in_a_terminal(works: Works, workspace: Path) -> None:
    """Create, wait, read, release; the transcript gets its output and end."""
    works.session.permissions = allow = Answer("allow")
    script = "echo $WORD; pwd; exit 3"
    answers = works.answers(
        create("sh", "-c", script, env=[{"name": "WORD", "value": "hi"}]),
        of("wait_for_exit"),
        of("output"),
        of("release"),
        *(of(method) for method in ("output", "wait_for_exit", "kill", "release")),
    )
    output, ended = f"hi\n{workspace}\n", {"exitCode": 3, "signal": None}
    assert answers[1:4] == [ended, {"output": output, "truncated": False, "exitStatus": ended}, {}]
    assert [answer["code"] for answer in answers[4:]] == [-32002] * 4
    assert [(request.kind, request.command) for request in allow.requests] == [("execute", f"WORD=hi {script}")]
    terminal = last_terminal(works)
    assert (terminal.output, terminal.exit_code) == (output, 3)


def test_command_that_is_a_whole_line_runs_in_the_shell(works: Works) -> None:
    """Some agents do not split the line."""
    _, ended = works.answers(create("echo one && echo two"), of("wait_for_exit"))
    assert (ended["exitCode"], last_terminal(works).output) == (0, "one\ntwo\n")
    assert last_terminal(works).command == "echo one && echo two"


def test_output_limit_drops_the_oldest_whole_characters(works: Works) -> None:
    """The agent gets the last bytes; the transcript gets all."""
    _, _, answer = works.answers(create("printf '%s' 'a€€'", outputByteLimit=4), of("wait_for_exit"), of("output"))
    assert (answer["output"], answer["truncated"], last_terminal(works).output) == ("€", True, "a€€")


def test_kill_ends_the_process_group_and_keeps_the_output(works: Works, workspace: Path) -> None:
    """The agent gets the output while the command runs, and after the kill; only release removes the terminal."""
    wait = create("sh", "-c", PRINTED), of("wait_for_exit", 1)
    asked = of("output", 0), of("kill", 0), of("wait_for_exit", 0), of("output", 0)
    answers = works.answers(create(PAUSES), *wait, *asked)
    running, _, ended, after = answers[3:]
    assert (running, ended) == ({"output": "started\n", "truncated": False}, {"exitCode": None, "signal": "SIGKILL"})
    assert (after["output"], alive(*map(int, (workspace / "printed").read_text().split()))) == (
        "started\n",
        [False, False],
    )


def test_release_ends_the_command_in_its_own_process_group(works: Works, workspace: Path) -> None:
    """This one goes on."""
    code = "import os; print(os.getpid(), os.getpgrp(), file=open('printed', 'w'), flush=True); os.read(0, 1)"
    pipe = workspace / "pipe"
    os.mkfifo(pipe)
    command = f'{sys.executable} -c "{code}" < pipe'
    with open(os.open(pipe, os.O_RDWR)):  # noqa: PTH123 - it never ends by itself
        works.answers(create(command), create("sh", "-c", PRINTED), of("wait_for_exit", 1), of("release", 0))
    pid, group = map(int, (workspace / "printed").read_text().split())
    assert (alive(pid), group != os.getpgrp()) == ([False], True)


def test_close_ends_every_command(start: Callable[..., Session], tmp_path: Path) -> None:
    works = Works(start("works", permissions="allow"))
    pids: list[int] = []
    for _ in range(3):
        (tmp_path / "printed").unlink(missing_ok=True)
        works.answers(create(PAUSES), create("sh", "-c", PRINTED), of("wait_for_exit", 1))
        pids += map(int, (tmp_path / "printed").read_text().split())
    assert alive(*pids) == [True] * 6
    works.session.close()
    assert alive(*pids) == [False] * 6


def test_command_that_cannot_run_is_refused_with_the_reason(works: Works) -> None:
    requests = {
        "no program 'no-such-program'": create("no-such-program"),
        "must name a program": create(""),
        "outside the workspace": create("ls", cwd="/"),
        "could not be run": create("ls", cwd="nowhere"),
        "no program": create("l\0s", "x"),
    }
    answers = works.answers(*requests.values())
    assert [says for says, answer in zip(requests, answers, strict=True) if says not in answer["message"]] == []
