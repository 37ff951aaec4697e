"""The program of one run: it opens a conversation in the task's workspace, prompts the agent, and reports.

It reads an :class:`Order` on stdin and writes a :class:`Report` to stdout, both as JSON. It is a separate process, so
that it has its own cassette, and so that anything an agent does to the process ends with it.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agentnb.agent.confinement import way_here
from agentnb.api.configured import configured
from agentnb.api.history_rows import forget
from agentnb.api.session import session_of
from agentnb.budget import is_of_day
from agentnb.cassette.switch import MODE
from agentnb.errors import AgentnbError, BudgetExceeded, CassetteError, TurnTimeout
from agentnb.host import current_host
from agentnb.host.environment import current_environment
from agentnb.ipython.record import relative
from agentnb.ipython.transcript import transcript
from agentnb.log.location import VARIABLE as LOG
from agentnb.plugins.evaluate.results import Figures
from agentnb.plugins.export.document import DocumentEntry
from agentnb.plugins.map.asking import cost_of
from agentnb.policy.store import PolicyFiles
from agentnb.safe_json import read_record
from agentnb.testing.assertions import permissions_asked

if TYPE_CHECKING:
    from agentnb.api.questions import PermissionRequest
    from agentnb.api.session import Session, Turn
    from agentnb.plugins.evaluate.kernel import TaskKernel

CALLBACK_SECONDS = 60.0
CLOSE_SECONDS = 10.0


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The input of one run.

    Attributes:
        model: Its model; empty for its own choice.
        title: The conversation's title.
        notebook: The notebook, a path in the workspace; empty if there is none.
        seconds: How long the agent may take, in seconds.
        hidden: Files and folders that the kernel must not see.
        confine: True to confine the agent; None: confine it if this machine can.
    """

    agent: str
    model: str
    title: str
    prompt: str
    workspace: str
    notebook: str
    seconds: float
    hidden: tuple[str, ...]
    confine: bool | None = None


class Report(Figures, frozen=True, kw_only=True):
    """The outcome of one run, besides its figures.

    Attributes:
        error: Why the agent did not finish; empty if it did.
        is_mismatch: True if the recording is the reason.
        is_over_day: True if the reason is that the budget of a day is used up, or cannot be counted.
    """

    error: str = ""
    is_mismatch: bool = False
    is_over_day: bool = False
    transcript: tuple[DocumentEntry, ...] = ()


class PermissionAnswers:
    """Answers the agent's permission requests, since nobody is there: what stays in the copy is allowed."""

    def __init__(self, *, is_confined: bool, is_kernel_closed_in: bool) -> None:
        self.request_count: int = 0
        self._is_confined = is_confined
        self._is_kernel_closed_in = is_kernel_closed_in

    def answer(self, request: PermissionRequest) -> str:
        """Returns ``"allow"`` or ``"deny"``; the policy still denies what leaves the workspace."""
        self.request_count += 1
        allowed = self._is_kernel_closed_in if request.kind == "kernel" else self._is_confined or not request.command
        return "allow" if allowed else "deny"


def run(order: Order) -> Report:
    is_confined = way_here()[0] is not None if order.confine is None else order.confine
    kernel: TaskKernel | None = None
    if order.notebook:
        from agentnb.plugins.evaluate.kernel import TaskKernel  # imported here: it loads IPython

        kernel = TaskKernel(Path(order.workspace), order.notebook, order.hidden, order.title)
    try:
        permissions = PermissionAnswers(
            is_confined=is_confined, is_kernel_closed_in=kernel is not None and kernel.is_closed_in
        )
        session = _opened(order, kernel, permissions, is_confined=is_confined)
        try:
            report = _prompted(order, session, permissions)
        finally:
            with suppress(AgentnbError):
                session.close(CLOSE_SECONDS)
            if current_host().recorder is not None:  # its usage stays counted; the conversation is not the user's
                forget(session.tab_id)
        if kernel is not None:
            kernel.save()
        return msgspec.structs.replace(report, is_confined=is_confined)
    finally:
        if kernel is not None:
            kernel.close()


def _opened(order: Order, kernel: TaskKernel | None, permissions: PermissionAnswers, *, is_confined: bool) -> Session:
    host = current_host()
    options = configured(
        order.agent,
        None,
        None,
        order.workspace,
        kernel_tools=kernel is not None,
        mode="auto",
        title=order.title,
        confine=is_confined,
        model=order.model or None,
    )
    environment = None if kernel is None else kernel.environment(host.environment)
    conversation = host.loop.call(partial(host.open_session, options, environment=environment))
    return session_of(conversation, permissions.answer, CALLBACK_SECONDS)


def _prompted(order: Order, session: Session, permissions: PermissionAnswers) -> Report:
    began = time.monotonic()
    turn: Turn | None = None
    error, is_mismatch, is_over_day = "", False, False
    try:
        turn = session.prompt(order.prompt)
        turn.wait(order.seconds).raise_for_error()
    except TurnTimeout:
        error = f"The agent was still working after {order.seconds:g} s."
        if turn is not None:
            turn.cancel()
            with suppress(AgentnbError):
                turn.wait(CLOSE_SECONDS, check=False)
    except CassetteError as problem:
        error, is_mismatch = str(problem), True
    except AgentnbError as problem:
        error, is_over_day = problem.message, isinstance(problem, BudgetExceeded) and is_of_day(problem.message)
    usage = turn.usage if turn is not None else None
    return Report(
        error=error,
        is_mismatch=is_mismatch,
        is_over_day=is_over_day,
        answer="" if turn is None else relative(turn.text, Path(order.workspace)),
        asked=permissions.request_count,
        denied=0 if turn is None else sum(answer == "denied" for _, answer in permissions_asked(turn)),
        tokens=None if usage is None else (usage.input_tokens or 0) + (usage.output_tokens or 0),
        costs=cost_of(session),
        seconds=round(time.monotonic() - began, 1),
        transcript=() if turn is None else _transcript(order, session, turn),
    )


def _transcript(order: Order, session: Session, turn: Turn) -> tuple[DocumentEntry, ...]:
    cwd = Path(order.workspace)
    answer = relative(transcript(turn.snapshot, terminals=session.chat.terminals or (), cwd=cwd), cwd)
    return (
        DocumentEntry(kind="prompt", source=order.prompt, agent=order.agent),
        DocumentEntry(kind="answer", source=answer, agent=order.agent, stop_reason=turn.stop_reason),
    )


def _is_counted(workspace: Path) -> bool:
    """True if a daily budget is set: the run's usage is then counted from the log, like everything on that day."""
    if os.environ.get(MODE) == "replay":
        return False
    setting, files = current_environment().sources()["budget_day"], PolicyFiles()
    return bool(setting.value or setting.problem or files.user.budget_day or files.project(workspace).budget_day)


def main() -> None:
    report = os.dup(1)
    os.dup2(2, 1)  # printed text must not mix with the report
    order = read_record(sys.stdin.buffer.read(), Order)
    if not _is_counted(Path(order.workspace)):
        os.environ[LOG] = "off"
    try:
        outcome = run(order)
    except CassetteError as error:
        outcome = Report(error=str(error), is_mismatch=True)
    except AgentnbError as error:
        outcome = Report(error=str(error))
    with open(report, "wb") as file:  # noqa: PTH123 - a descriptor
        file.write(msgspec.json.encode(outcome))


if __name__ == "__main__":
    main()
