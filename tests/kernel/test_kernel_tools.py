"""Agents use a real kernel: while a cell waits for them, while it idles, while it is busy; or may not."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from tests.conftest import ROOT
from tests.kernel.running_kernel import ONE_KERNEL, WAIT_S

if TYPE_CHECKING:
    from tests.kernel.running_kernel import RunningKernel

ALLOW = "--kernel --permissions allow"
BUSY = """import asyncio, time
def work():
    while True: time.sleep(0.01)
async def wait():
    while True: await asyncio.sleep(0.01)"""
"""Python handles a signal that arrives just before a system call only when the call returns, so no call is long."""
STDIO = f"[{sys.executable!r}, {str(ROOT / 'tests/agents/starts_mcp.py')!r}]"


def test_code_runs_while_the_cell_waits_for_the_turn(kernel: RunningKernel) -> None:
    """The code runs on the main thread, in the user's namespace.

    It can await, except in a cell that blocks.
    """
    kernel.run("import threading\nxs = [1, 2]")
    code = "print(threading.current_thread() is threading.main_thread())\nxs.append(3)\nsum(xs)"
    result = kernel.run(f"%%agent {ALLOW} -o turn\n/kernel run {code}")
    assert (result.status, result.stdout, len(result.displayed())) == ("ok", "", 1)
    assert kernel.run("turn.text, xs").values == ["('`kernel: run_code` said: True\\n6', [1, 2, 3])"]
    awaits = kernel.run("%%agent -o turn\n/kernel run import asyncio\nawait asyncio.sleep(0)\n'awaited'")
    assert awaits.status == "ok"
    assert "said: 'awaited'" in kernel.run("turn.text").values[0]
    blocking = "def ask():\n    %agent -o turn /kernel run "
    assert kernel.run(f"{blocking}ys = xs * 2; len(ys)\nask()").status == "ok"
    assert "said: 6" in kernel.run("turn.text").values[0]
    refused = kernel.run(f"{blocking}import asyncio; await asyncio.sleep(0)\nask()")
    assert "code cannot await now" in refused.displayed()[-1]
    own = kernel.run("%agent /kernel run %agent Hello")
    assert "cannot wait for that agent&#x27;s own turn" in own.displayed()[0].replace("'", "&#x27;")
    assert kernel.run("_ , xs").status == "ok"


def test_background_turn_runs_code_when_the_kernel_is_idle(kernel: RunningKernel) -> None:
    """A background turn runs code between cells, and fails if the cell does not end in time."""
    kernel.run("import agentnb, asyncio, os\nsession = agentnb.start(kernel_tools=True, permissions='allow')")
    os.mkfifo(kernel.folder / "ran")
    kernel.run(
        "def tell():\n    open('ran', 'w').close()\nturn = session.prompt('/kernel run mine = 1; tell()')", console=True
    )
    (kernel.folder / "ran").read_bytes()
    assert kernel.run("turn.wait(); mine").values == ["1"]
    busy = """turn = session.prompt('/mcp kernel run_code {"code": "never = 1", "wait": 0.1}')
over = asyncio.Event()
loop = asyncio.get_running_loop()
turn.add_done_callback(lambda _: loop.call_soon_threadsafe(over.set))
await over.wait()
print(turn.text, 'never' in globals())"""
    output = "failed: The kernel is busy with a cell. Try again when the cell has ended. False"
    assert output in kernel.run(busy).stdout
    waits = kernel.run("turn = session.prompt('/kernel run later = 1; 7')\nawait turn; turn.text, later")
    assert waits.values == ["('`kernel: run_code` said: 7', 1)"]
    kernel.run(f"{BUSY}\nturn = session.prompt('/kernel run tell(); work()')", console=True)
    (kernel.folder / "ran").read_bytes()
    kernel.interrupt()
    assert kernel.run("turn.wait(); turn.state").values == ["'cancelled'"]


def test_the_interrupt_stops_the_code_and_the_turn(kernel: RunningKernel) -> None:
    """Both running and awaiting code stop."""
    os.mkfifo(kernel.folder / "beat")
    kernel.run(f"{BUSY}\ndef beat():\n    open('beat', 'w').close()")
    for code in ("beat(); work()", "beat(); await wait()"):
        waiting = kernel.send(f"%%agent -n {ALLOW}\n/kernel run {code}")
        (kernel.folder / "beat").read_bytes()
        kernel.interrupt()
        result = kernel.finish(waiting)
        assert (result.status, result.error.split(":")[0]) == ("error", "AgentInterrupted")
    assert kernel.run("%agent -o turn /kernel run 6 * 7").status == "ok"
    assert "said: 42" in kernel.run("turn.text").values[0]


@ONE_KERNEL
def test_interrupt_tool_ends_the_running_cell_with_permission(kernel: RunningKernel) -> None:
    """A cell that waits for the turn is not interrupted, nor any without permission."""
    kernel.run("import agentnb\nsession = agentnb.start(kernel_tools=True, permissions='allow')")
    interrupted = kernel.run(f"{BUSY}\nturn = session.prompt('/mcp kernel interrupt {{}}')\nwork()")
    assert interrupted.error.startswith("KeyboardInterrupt")
    assert "Interrupted. What the cell did so far remains." in kernel.run("turn.wait(); turn.text").values[0]
    waits = kernel.run("turn = session.prompt('/mcp kernel interrupt {}')\nturn.wait(); turn.text").values[0]
    assert "The kernel waits for this turn" in waits
    code = "agentnb.start(kernel_tools=True, permissions='deny').prompt('/mcp kernel interrupt {}').wait().text"
    assert "Interrupted" not in kernel.run(code).values[0]
    restart = kernel.run("session.prompt('/mcp kernel restart_kernel {}').wait().text").values[0]
    assert "failed: The name of this notebook is unknown." in restart


@ONE_KERNEL
def test_running_code_needs_permission_and_reading_does_not(kernel: RunningKernel) -> None:
    """Without a user, code is denied with the reason; the log has each decision."""
    kernel.run("secret = 'x'\nxs = [1]")
    denied = kernel.run("%agent -n --kernel /kernel run xs.append(2)").displayed()[0]
    assert "No front end is attached to ask" in denied
    assert "xs.append(2)" in denied
    assert kernel.run("xs").values == ["[1]"]
    assert "xs: list, length 1" in kernel.run("%agent /kernel variables").displayed()[0]
    assert kernel.run("%agent -n -t shut --kernel --permissions deny /kernel run 1").status == "ok"
    rows = "[(each.kind, each.outcome, each.what) for each in policy().records]"
    log = f"from agentnb.api.settings import policy\nprint({rows})"
    decided = kernel.run(log).stdout
    assert "('kernel', 'deny', 'xs.append(2)')" in decided
    assert "('read', 'allow', \"List the kernel's variables\")" in decided
    kernel.run("%config Agentnb.kernel_tools = False")
    assert "kernel access of this conversation to Off" in kernel.run("%agent -n /kernel variables").displayed()[0]
    assert "xs: list, length 1" in kernel.run("%agent -k /kernel variables").displayed()[0]


@ONE_KERNEL
def test_stdio_agent_uses_the_kernel_through_the_bridge(kernel: RunningKernel) -> None:
    """Each session has its own token; its socket is gone when it closes or the kernel is killed."""
    kernel.run("import agentnb, json\nxs = [1]")
    begin = f"agentnb.start(command={STDIO}, permissions='allow', kernel_tools=True)"
    kernel.run(f"one, two = {begin}, {begin}")
    ran = kernel.run('one.prompt(\'kernel run_code {"code": "xs.append(2); xs"}\').wait().text')
    assert "[1, 2]" in ran.values[0]
    kernel.run("given = json.loads(two.prompt('kernel show').wait().text)['env']")
    strange = 'f\'kernel env AGENTNB_KERNEL_TOKEN {given["AGENTNB_KERNEL_TOKEN"]} run_code {{"code": "1"}}\''
    assert kernel.run(f"one.prompt({strange}).wait().text").values == ["'\"it ended: \"'"]
    folder = Path(kernel.run("given['AGENTNB_KERNEL_SOCKET']").values[0].strip("'")).parent
    first = kernel.run("json.loads(one.prompt('kernel show').wait().text)['env']['AGENTNB_KERNEL_SOCKET']")
    assert Path(first.values[0].strip("'")).exists()
    kernel.run("one.close()")
    assert not Path(first.values[0].strip("'")).parent.exists()
    assert folder.is_dir()
    below = kernel.descendants()
    os.kill(kernel.pid, signal.SIGKILL)
    psutil.wait_procs(below, timeout=WAIT_S)
    assert not folder.exists()


@ONE_KERNEL
def test_replay_runs_the_recorded_kernel_code_again(kernel: RunningKernel) -> None:
    """A replayed session runs the code again, under today's policy: if denied today, the turn fails.

    It also fails if the code gives something else. A bridged agent's code runs again, too.
    """
    kernel.run("%agents record tools.cassette.jsonl\nxs = [1]")
    assert kernel.run(f"%agent -n {ALLOW} /kernel run xs.append(2); print(len(xs))").status == "ok"
    kernel.run("%agents record stop")
    cassette = (kernel.folder / "tools.cassette.jsonl").read_text(encoding="utf-8")
    assert "xs.append(2)" in cassette
    kernel.run("import sys, agentnb\nxs = ['today']")
    begin = (
        "agentnb.start(command=[sys.executable, '-m', 'agentnb', 'replay', 'tools.cassette.jsonl'], kernel_tools=True"
    )
    again = kernel.run(
        f"turn = {begin}, permissions='allow').prompt('/kernel run xs.append(2); print(len(xs))').wait(); xs"
    )
    assert again.values == ["['today', 2]"]
    denied = kernel.run(f"{begin}, permissions='deny').prompt('/kernel run xs.append(2); print(len(xs))').wait()")
    assert denied.error.startswith("CassetteMismatch")
    assert kernel.run("print(xs)").stdout == "['today', 2]\n"
    other = kernel.run(
        f"xs = []\n{begin}, permissions='allow').prompt('/kernel run xs.append(2); print(len(xs))').wait()"
    )
    assert "\n-2\n+1\n" in other.error
    kernel.run("%agents record bridge.cassette.jsonl")
    ask = 'prompt(\'kernel run_code {"code": "n = len(xs)"}\').wait()'
    kernel.run(f"agentnb.start(command={STDIO}, permissions='allow', kernel_tools=True).{ask}")
    kernel.run("%agents record stop\ndel n")
    kernel.run(f"{begin.replace('tools.cassette', 'bridge.cassette')}, permissions='allow').{ask}")
    assert kernel.run("print(n)").stdout == "1\n"
