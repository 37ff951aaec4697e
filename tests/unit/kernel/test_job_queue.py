"""The main thread's jobs: when and in what order they run, and how they are stopped."""

from __future__ import annotations

import asyncio
import threading

import pytest

from agentnb.errors import KernelBusy, UsageError
from tests.unit.kernel.shell_tools import OWNER, Tools, waited_for


def test_work_waits_until_the_users_code_has_ended(tools: Tools) -> None:
    """A running cell that only awaits its own work is left alone."""
    tools.job_queue.schedule = lambda _: None
    busy = [True]
    tools.job_queue.is_main_thread_busy = lambda: busy[0]
    future = tools.loop.submit(tools.tool_runner.call("run_code", {"code": "done = 1"}))
    tools.job_queue.run_pending()
    assert "done" not in tools.shell.user_ns
    busy[0] = False
    while not future.done():
        tools.job_queue.run_pending()
    assert (future.result()["isError"], tools.shell.user_ns["done"]) == (False, 1)


def test_job_waiting_for_another_tab_lets_that_tabs_job_run(tools: Tools) -> None:
    def ask_other() -> str:
        work = tools.job_queue.run(tools.runner.work("inner = 2\nprint('inner')"), "tab-2", patience=30)
        return waited_for(tools.job_queue, tools.loop.submit(work), "tab-2").printed

    tools.shell.user_ns["ask_other"] = ask_other
    assert tools.text("run_code", code="print('outer')\nsaid = ask_other()\nsaid") == "outer\n'inner\\n'"
    assert tools.shell.user_ns["inner"] == 2


def test_lost_interrupt_is_sent_again(tools: Tools) -> None:
    began, lost = threading.Event(), []

    def lose() -> None:
        try:
            began.set()
            while True:
                pass
        except KeyboardInterrupt as error:
            lost.append(error)
        while True:
            pass

    async def cancel() -> None:
        task = asyncio.ensure_future(tools.job_queue.run(tools.runner.work("lose()"), OWNER, patience=30))
        await asyncio.to_thread(began.wait)
        task.cancel()
        await asyncio.wait([task])

    tools.shell.user_ns["lose"] = lose
    waited_for(tools.job_queue, tools.loop.submit(cancel()))
    assert len(lost) == 1


def test_job_queue_gives_up_code_that_does_not_stop(tools: Tools) -> None:
    tools.job_queue.grace = 0.0
    ended: list[BaseException | None] = []

    def stubborn() -> None:
        while not ended:
            try:
                while not ended:
                    pass
            except KeyboardInterrupt:
                continue

    tools.shell.user_ns["stubborn"] = stubborn
    work = tools.job_queue.run(tools.runner.work("stubborn()"), OWNER, patience=30, timeout=0.05)
    future = tools.loop.submit(work)
    future.add_done_callback(lambda done: ended.append(done.exception()))
    with pytest.raises(KernelBusy, match=r"interrupted after 0.05 s but has not stopped"):
        waited_for(tools.job_queue, future)


def test_waiting_job_can_be_stopped_before_it_begins(tools: Tools) -> None:
    async def stopped() -> None:
        work = tools.runner.work("done = 1")
        task = asyncio.ensure_future(tools.job_queue.run(work, OWNER, patience=30))
        await asyncio.sleep(0)
        tools.job_queue.stop(work)
        await task

    with pytest.raises(UsageError, match=r"Stopped by the user before it began\. The turn goes on\."):
        tools.loop.submit(stopped()).result()
    tools.job_queue.run_pending()
    assert "done" not in tools.shell.user_ns


def test_jobs_run_on_the_awaiting_loop_without_a_kernel(tools: Tools) -> None:
    """Those that were there before, and those that come later."""
    codes = [f"done_{number} = await asyncio.sleep(0, {number})" for number in (1, 2)]

    calls = [tools.tool_runner.call("run_code", {"code": code}) for code in codes]

    async def program() -> None:
        first = tools.loop.submit(calls[0])
        with tools.job_queue.waiting("tab-2"):
            await asyncio.wrap_future(first)
            await asyncio.wrap_future(tools.loop.submit(calls[1]))

    tools.shell.user_ns["asyncio"] = asyncio
    asyncio.run(program())
    assert [tools.shell.user_ns[f"done_{number}"] for number in (1, 2)] == [1, 2]
