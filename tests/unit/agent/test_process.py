"""The inside: processes that are killed at the worst moment, and whatever they started; nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from agentnb.agent.child import Child
from agentnb.agent.guard import Guard
from agentnb.agent.process import SpawnedAgent
from agentnb.agent.watchdog import group_alive
from agentnb.errors import AgentNotFound, AgentStartFailed
from tests.unit.acp.recording_listener import scripted, talking
from tests.unit.api.conftest import PATIENCE

KERNEL = Path(__file__).with_name("kernel.py")
STARTS = Path(__file__).with_name("killed_while_starting.py")
ROOT = Path(__file__).parents[3]


ENDS = {"launcher ended": signal.SIGUSR1}
"""The signal on which the launcher exits while its agent runs."""
AT_ONCE = 4.0
"""Seconds; less than the five for which output is read after a command has ended."""


def alive(pid: int) -> bool:
    """True if process *pid* runs; zombies do not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


async def until_dead(*pids: int) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while any(map(alive, pids)):  # no system reports the end of a process that is not our child
        assert asyncio.get_running_loop().time() < deadline, f"still there: {list(filter(alive, pids))}"
        await asyncio.sleep(0.01)


async def test_agent_that_ignores_the_stop_is_killed(tmp_path: Path) -> None:
    """Closed stdin and SIGTERM do not end it, so SIGKILL must."""
    answered = asyncio.Event()
    process = await SpawnedAgent.spawn(scripted("stubborn"), tmp_path, on_output=lambda _: answered.set())
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    process.write(json.dumps(request).encode() + b"\n")
    await asyncio.wait_for(answered.wait(), PATIENCE)  # until it ignores signals, SIGTERM would end it
    await process.stop(patience=0.2)
    assert (process.child.returncode, group_alive(process.pid)) == (-signal.SIGKILL, False)


async def test_children_end_when_the_agent_dies(tmp_path: Path) -> None:
    async with talking("leaves_children", tmp_path) as talk:
        await talk.prompt()
        children = [int(pid) for pid in talk.listener.text.split()]
        pid = talk.agent.pid
        assert os.getpgid(pid) == os.getsid(pid) == pid  # an interrupt of the kernel does not reach it
        os.kill(pid, signal.SIGKILL)
        await asyncio.wait_for(talk.agent.wait_closed(), PATIENCE)
        assert list(map(alive, children)) == [False, False]
        assert "stopped unexpectedly (killed by signal 9)" in str(talk.listener.error)


@pytest.mark.parametrize("way", ["launcher killed", "subreaper killed", "launcher ended"])
async def test_agent_ends_at_once_when_its_launcher_ends(tmp_path: Path, way: str) -> None:
    """The agent keeps the launcher's pipes and writes forever, so its output never ends."""
    now = asyncio.get_running_loop().time
    async with talking("launches", tmp_path) as talk:
        prompt = asyncio.ensure_future(talk.prompt())
        while talk.listener.text.count(".") < 3:
            talk.listener.spoken.clear()
            await asyncio.wait_for(talk.listener.spoken.wait(), PATIENCE)
        agent, launcher = map(int, talk.listener.text.split()[:2])
        assert launcher == talk.agent.pid
        began = now()
        os.kill(launcher if way != "subreaper killed" else parent(launcher), ENDS.get(way, signal.SIGKILL))
        await asyncio.wait_for(talk.agent.wait_closed(), PATIENCE)
        assert (alive(agent), now() - began < AT_ONCE) == (False, True)
        assert ("exit code 0" if way == "launcher ended" else "killed by signal 9") in str(talk.listener.error)
        await asyncio.gather(prompt, return_exceptions=True)


async def test_failed_start_with_a_killed_subreaper_ends_nothing_else() -> None:
    """Its program has no process id yet, and 0 would mean the starting process's group: a kernel or terminal."""
    starts = await asyncio.create_subprocess_exec(
        sys.executable,
        STARTS,
        stdout=-1,
        stderr=-1,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    out, errors = await asyncio.wait_for(starts.communicate(), PATIENCE)
    assert (starts.returncode, out.decode(), errors.decode()) == (0, "20 failed\n", "")


@pytest.mark.parametrize("kind", ["one", "many"])
@pytest.mark.parametrize("way", ["stopped", "killed"])
async def test_detached_daemons_end_when_the_agent_ends(tmp_path: Path, way: str, kind: str) -> None:
    """Forked twice, other sessions, environment cleared, descriptors closed, signals ignored; other processes stay."""
    code = "import signal; signal.pause()"
    stranger = await asyncio.create_subprocess_exec(sys.executable, "-c", code, start_new_session=True)
    async with talking("leaves_daemons", tmp_path, env={"DAEMONS": kind}) as talk:
        await talk.prompt()
        daemon = int(talk.listener.text)
        assert (alive(daemon), environment(daemon), daemon in daemons(tmp_path)) == (True, b"", True)
        if way == "killed":
            os.kill(talk.agent.pid, signal.SIGKILL)
            await asyncio.wait_for(talk.agent.wait_closed(), PATIENCE)
        else:
            await talk.agent.stop(patience=1)
        assert (alive(daemon), daemons(tmp_path), alive(stranger.pid)) == (False, [], True)
    stranger.kill()
    await stranger.wait()


def environment(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def daemons(folder: Path) -> list[int]:
    """Returns the running processes that `leaves_daemons.py` left in *folder*, and their forks."""
    processes = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if os.fsencode(folder / "told") in path.read_bytes() and alive(int(path.parent.name)):
                processes.append(int(path.parent.name))
    return processes


@pytest.mark.parametrize("step", range(24))
def test_cancelled_start_leaves_no_pipe_open(tmp_path: Path, step: int) -> None:
    """Cancelled at any step: asyncio forgets the pipes of a program if cancelled while it connects them."""

    async def give_up() -> None:
        options: Any = {"cwd": tmp_path, "env": dict(os.environ)}
        handlers: Any = {"on_output": lambda *_: None, "on_end": lambda: None}
        started = asyncio.ensure_future(Child.spawn(["sleep", "60"], **options, **handlers))
        for _ in range(step):
            await asyncio.sleep(0)
        for _ in range(2):  # for the session's end, then for the kernel's
            started.cancel()
            await asyncio.sleep(0)
        with contextlib.suppress(asyncio.CancelledError):
            await (await started).stop(0)

    gc.collect()  # removes the garbage of earlier tests
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        loop = asyncio.new_event_loop()
        loop.run_until_complete(give_up())
        loop.close()
        gc.collect()
    assert [str(each.message) for each in seen] == []


def test_cancelled_stop_leaves_no_process_and_nothing_open(tmp_path: Path) -> None:
    """For example, the kernel ends while an agent still has time to exit."""
    children: list[Child] = []

    async def begin_to_stop() -> None:
        options: Any = {"cwd": tmp_path, "env": dict(os.environ)}
        handlers: Any = {"on_output": lambda *_: None, "on_end": lambda: None}
        child = await Child.spawn(["sleep", "60"], **options, **handlers)
        children.append(child)
        stopping = asyncio.ensure_future(child.stop(PATIENCE))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await stopping
        # asyncio learns of the exit from a thread; a loop closed earlier leaves a warning, not a process
        await asyncio.wait_for(child.exited.wait(), PATIENCE)

    gc.collect()  # removes the garbage of earlier tests
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        loop = asyncio.new_event_loop()
        loop.run_until_complete(begin_to_stop())
        loop.run_until_complete(until_dead(*(child.pid for child in children)))
        loop.run_until_complete(asyncio.wait_for(children[0].reaped.wait(), PATIENCE))  # the subreaper ends a bit later
        loop.close()
        gc.collect()
    assert [str(each.message) for each in seen] == []


async def test_command_that_cannot_be_executed_is_reported(tmp_path: Path) -> None:
    """Not found, not executable, not a program."""
    spec = type(scripted("echo"))
    (tmp_path / "plain").write_text("x")
    (tmp_path / "broken").write_text("#!/no/such/interpreter\n")
    (tmp_path / "broken").chmod(0o755)
    for command, error, says in (
        ("no-such-program", AgentNotFound, "no command 'no-such-program'"),
        ("./plain", AgentStartFailed, "chmod"),
        (str(tmp_path / "broken"), AgentStartFailed, "could not be started"),
    ):
        with pytest.raises(error, match=says):
            await SpawnedAgent.spawn(spec(name="x", title="x", command=(command,)), tmp_path)


class Kernel:
    """A process with agents, see `kernel.py`."""

    def __init__(self, way: str, *agents: str, cwd: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(KERNEL), way, *agents],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        processes = json.loads(self.line())
        self.agents: list[int] = processes["agents"]
        self.watchdog: int = processes["watchdog"]

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode()

    def kill(self, *, group: bool) -> None:
        if group:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def kernels(tmp_path: Path) -> Any:
    """Starts kernels and kills the rest at the end."""
    started: list[Kernel] = []

    def start(way: str, *agents: str) -> Kernel:
        started.append(Kernel(way, *agents, cwd=tmp_path))
        return started[-1]

    yield start
    for kernel in started:
        kernel.close()


@pytest.mark.parametrize("group", [False, True], ids=["process", "group"])
async def test_killed_kernel_leaves_no_agents_behind(kernels: Any, group: bool) -> None:
    """SIGKILL, alone or with its group: agents, stubborn ones, children in other sessions, daemons, the watchdog."""
    kernel = kernels("wait", "echo", "stubborn", "leaves_children", "leaves_daemons")
    assert list(map(alive, [*kernel.agents, kernel.watchdog])) == [True] * 8
    kernel.kill(group=group)
    await until_dead(*kernel.agents, kernel.watchdog)


async def test_exited_kernel_leaves_no_agents_behind(kernels: Any) -> None:
    kernel = kernels("exit", "stubborn", "leaves_children")
    await asyncio.to_thread(kernel.process.wait, PATIENCE)
    await until_dead(*kernel.agents, kernel.watchdog)


async def test_fork_of_the_kernel_keeps_no_agent_alive(kernels: Any) -> None:
    """A `multiprocessing` fork must not hold the watchdog's pipe."""
    kernel = kernels("fork", "stubborn")
    assert kernel.line() == "forked\n"
    kernel.kill(group=False)
    await until_dead(*kernel.agents, kernel.watchdog)


async def test_killed_watchdog_is_replaced(tmp_path: Path) -> None:
    """The next group starts one for all groups."""
    guard = Guard()
    guard.add(2**22 + 1)
    first = guard.watchdog
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await until_dead(first)
    guard.add(2**22 + 2)
    second = guard.watchdog
    assert second is not None
    assert (second != first, alive(second)) == (True, True)
    guard.close()
    assert (guard.watchdog, alive(second)) == (None, False)
