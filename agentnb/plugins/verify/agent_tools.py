"""Tools for agents: verify the notebook, run the user's tests, interrupt and restart the kernel."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError
from agentnb.kernel.code_runner import Edit
from agentnb.ports import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.ports import ToolSession

TEST_SECONDS = 600.0
MOST_NAMES = 8
"""Variables that a card names."""
MOST_FAILURES = 20
LONGEST_FAILURE = 2_000
LARGEST_REPORT = 16 * 1024 * 1024


async def verify_notebook(session: ToolSession, arguments: dict[str, Any]) -> dict[str, Any]:
    """Verify the kernel's notebook, or a notebook's file."""
    from agentnb.kernel.content import text_result
    from agentnb.plugins.verify.result import SECONDS
    from agentnb.plugins.verify.verify import allowed_hosts, check_seconds, verify
    from agentnb.policy.request import PolicyRequest

    path = await asyncio.to_thread(_notebook, session, arguments.get("path"))
    seconds = arguments.get("seconds", SECONDS)
    check_seconds(seconds)
    if arguments.get("fast"):
        await session.ask(PolicyRequest(kind="read", title=f"Look at the names in {path.name}", path=str(path)))
        return text_result(repr(await asyncio.to_thread(verify, path, run=False)))
    words = ["agentnb", "verify", str(path), *(["--network", ",".join(hosts)] if (hosts := allowed_hosts()) else [])]
    await session.authorize(f"Run {path.name} from the top, in a copy", shlex.join(words))
    result = await asyncio.to_thread(verify, path, seconds=seconds)
    return text_result(repr(result))


def _notebook(session: ToolSession, named: str | None) -> Path:
    if named:
        return (Path(session.folder) / named).resolve()
    from agentnb.plugins.verify.own_notebook import own_notebook

    own = own_notebook()
    if own is None:
        raise UsageError("The name of this notebook is unknown.", hint="Give its path in the workspace.")
    return own.path


async def interrupt(session: ToolSession, _arguments: dict[str, Any]) -> str:
    """Interrupt the cell that the user's kernel runs."""
    from agentnb.host.environment import current_environment

    queue = current_environment().job_queue
    await session.authorize("Interrupt the kernel", "kill -INT kernel")
    if queue.has_waiter:
        raise UsageError("The kernel waits for this turn: there is nothing else to interrupt.")
    if not queue.is_main_thread_busy():
        return "The kernel is not running anything."
    os.kill(os.getpid(), signal.SIGINT)
    return "Interrupted. What the cell did so far remains."


async def restart_kernel(session: ToolSession, _arguments: dict[str, Any]) -> str:
    """Restart the user's kernel after the turn: the conversation lives in it, and comes back by itself."""
    from agentnb.policy.request import PolicyRequest

    runner, host = session.code_runner(), session.host
    notebook = None if runner is None else await asyncio.to_thread(runner.notebook, outputs=False)
    if runner is None or host is None or notebook is None or not notebook.live:
        raise UsageError("No browser page shows the notebook: nothing can restart its kernel.", hint="Ask the user.")
    conversation = host.find(session.session)
    turn = conversation.chat.state.active_turn
    lost = lost_variables(runner.namespace.variables())
    title = "Restart the kernel after this turn"
    await session.ask(PolicyRequest(kind="permission", asked="other", title=title, concern=lost))
    is_over = asyncio.Event()

    def look(*_: object) -> None:
        if turn is None or not conversation.channels.is_active(turn.id):
            is_over.set()

    async def restart() -> None:
        await is_over.wait()
        host.listeners.remove(look)
        with suppress(UsageError):  # the page is gone
            await runner.edit(Edit(action="restart", notebook=notebook.name))

    host.listeners.append(look)
    host.loop.spawn(restart())
    return "The kernel restarts as soon as your turn is over; end it now. The conversation comes back by itself."


def lost_variables(variables: Mapping[str, Any]) -> str:
    """Returns a sentence that names the variables lost by a restart."""
    names = [name for name in sorted(variables) if not isinstance(variables[name], ModuleType)]
    if not names:
        return "Stops the running code. The kernel has no variables."
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"Permanently loses your variables: {', '.join(names[:MOST_NAMES])}{more}."


async def run_tests(session: ToolSession, arguments: dict[str, Any]) -> dict[str, Any]:
    """Run pytest in the workspace."""
    from agentnb.kernel.content import text_result

    chosen = [str(each) for each in arguments.get("tests", [])]
    if any(each.startswith("-") for each in chosen):
        raise UsageError("A test's name does not begin with a dash.", hint="Give paths, or path::name.")
    words = [sys.executable, "-m", "pytest", "-q", *chosen]
    await session.authorize("Run the tests", shlex.join(words))
    with tempfile.TemporaryDirectory(prefix="agentnb-tests-") as folder:
        report = Path(folder, "report.xml")
        process = await asyncio.create_subprocess_exec(
            *words,
            f"--junit-xml={report}",
            cwd=session.folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            printed, _ = await asyncio.wait_for(process.communicate(), arguments.get("seconds", TEST_SECONDS))
        except (asyncio.TimeoutError, asyncio.CancelledError) as error:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            if isinstance(error, asyncio.CancelledError):
                raise
            return text_result("The tests took too long, and were ended.", failed=True)
        text = test_report(report) or printed.decode("utf-8", "replace")[-LONGEST_FAILURE:]
    return text_result(text, failed=process.returncode not in {0, 5})


def test_report(path: Path) -> str:
    """Returns JUnit XML as text: the number of tests, and each failure; '' if there is no report."""
    from xml.etree import ElementTree as ET

    if not path.is_file() or path.stat().st_size > LARGEST_REPORT:
        return ""
    cases = [*ET.parse(path).iter("testcase")]  # noqa: S314 - pytest wrote it just now
    bad = [(case, each) for case in cases for each in case if each.tag in {"failure", "error"}]
    skipped = sum(case.find("skipped") is not None for case in cases)
    counts = f"{len(cases)} tests: {len(cases) - len(bad) - skipped} passed, {len(bad)} failed, {skipped} skipped."
    lines = [
        f"{case.get('classname', '').replace('.', '/')}::{case.get('name')}: {each.get('message', '')}\n"
        f"{(each.text or '')[-LONGEST_FAILURE:]}"
        for case, each in bad[:MOST_FAILURES]
    ]
    more = [f"and {len(bad) - MOST_FAILURES} more"] if len(bad) > MOST_FAILURES else []
    return "\n\n".join([counts, *lines, *more])


def _schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [], "additionalProperties": False}


TOOLS = (
    Tool(
        "verify_notebook",
        "Runs the user's notebook from the top in a fresh kernel, closed in on a copy of the files, and compares what "
        "it gives with what it shows. Says which cell fails or differs, why, and what to do. Nothing is changed.",
        _schema(
            path={"type": "string", "description": "A notebook's path in the workspace; the open one if absent."},
            fast={"type": "boolean", "description": "Only look at the names in the cells; nothing is run."},
            seconds={"type": "number", "description": "How long the cells may take in all.", "minimum": 1},
        ),
        verify_notebook,
        title="Verify the notebook",
        with_kernel=True,
    ),
    Tool(
        "interrupt",
        "Interrupts the cell that the user's kernel is running, as the button in Jupyter does.",
        _schema(),
        interrupt,
        title="Interrupt the kernel",
        with_kernel=True,
    ),
    Tool(
        "restart_kernel",
        "Restarts the user's kernel when your turn is over: all variables are lost, which cannot be undone. To see "
        "only whether the notebook runs from the top, use verify_notebook, which takes nothing away.",
        _schema(),
        restart_kernel,
        title="Restart the kernel",
        with_kernel=True,
    ),
    Tool(
        "run_tests",
        "Runs the user's own tests (pytest) in the workspace, and gives the failures with their tracebacks.",
        _schema(
            tests={
                "type": "array",
                "items": {"type": "string"},
                "description": "Files, folders or path::name; all if absent.",
            },
            seconds={"type": "number", "description": "How long they may take.", "minimum": 1},
        ),
        run_tests,
        title="Run the tests",
        with_kernel=True,
    ),
)
