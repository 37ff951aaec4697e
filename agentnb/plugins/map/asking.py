"""Asks an agent about one input after another: a session for each try, here or on a worker of a cluster."""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import msgspec

from agentnb.api.answers import LONGEST_EXCERPT, AnswerUnfit
from agentnb.api.columns import shortened
from agentnb.api.configured import configured
from agentnb.api.start import start
from agentnb.errors import AgentDied, AgentnbError, TurnTimeout
from agentnb.host import current_host
from agentnb.host.changes.location import VARIABLE as FOLLOWS_CHANGES
from agentnb.kernel.data_checks import DataChecks
from agentnb.plugins.map.records import Body, key_of
from agentnb.plugins.map.workspaces import IsolatedWorkspace
from agentnb.state import MessageAttachment

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.api.answers import Wanted
    from agentnb.api.session import Session, Turn
    from agentnb.plugins.map.workspaces import WorkspaceChange


class AnswerRefused(AnswerUnfit):
    """The user's ``check`` does not accept an answer; ``str`` says why, for the agent and for people."""


def check_answer(check: Callable[[Any], Any], body: Body) -> None:
    """Call the user's function to check an answer; raises AnswerRefused, of data checks without values."""
    try:
        problem = check(body.text if body.output is None else body.output)
    except Exception as error:
        message = f"{type(error).__name__}: {error}".removeprefix("AssertionError: ")
        raise AnswerRefused(shortened(message, LONGEST_EXCERPT)) from error
    if isinstance(problem, DataChecks):
        problem = " ".join(each.question for each in problem)
    if problem:
        raise AnswerRefused(shortened(str(problem), LONGEST_EXCERPT))


def plain(value: Any) -> Any:
    """Returns *value* as JSON values, to be kept."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return msgspec.to_builtins(value)


CLOSE_SECONDS = 10.0
CANCEL_SECONDS = 1.0
_PROCESS = "AGENTNB_BATCH_PROCESS"


class WorkerLost(AgentDied):
    """The workers of a cluster that asked an input died, several times."""


class ClusterLost(AgentnbError):
    """The scheduler of a cluster does not answer."""


class Asking(Protocol):
    """Asks about one input after another."""

    def begin(self) -> None:
        """Begin the next input."""

    async def ask(self, job: Job) -> Body: ...

    def body(self) -> Body:
        """Returns the input's progress, or how it failed."""
        ...

    async def close(self, seconds: float) -> None: ...


class BatchQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The question for all inputs: the checked arguments of :func:`agentnb.map`."""

    keeps_answers: ClassVar[bool] = True
    """True if a worker keeps an answer until the batch ends, in case it is killed before the answer is fetched."""
    options: dict[str, Any]
    prompt: str
    wanted: Any = None
    timeout: float | None = None
    retries: int = 1
    backoff: float = 1.0
    processes: int = 1
    stops_at_failure: bool = True
    max_failures: int | None = None
    max_cost: float | None = None
    budget: str = ""
    is_isolated: bool = False

    @property
    def agent(self) -> str:
        """Returns the agent and its model, as they are part of a question's key."""
        name = self.options.get("command") or self.options.get("agent") or ""
        model = self.options.get("model") or ""
        return f"{name if isinstance(name, str) else ' '.join(name)} {model}".strip()

    @property
    def name(self) -> str:
        """Its name in a cassette."""
        return self.key(self.prompt)[:12]

    def check(self) -> None:
        """Raise an AgentnbError if its agent cannot be started here."""
        options = self.options
        configured(*(options[each] for each in ("agent", "command", "env", "cwd")), mcp_servers=options["mcp_servers"])

    def asking(self, process: int) -> Asking:
        return SessionWorker(self, process)

    def key(self, text: str) -> str:
        """Equal for equal questions."""
        return key_of(self.agent, text, self.wanted.schema if self.wanted is not None else None)


class Job(msgspec.Struct, frozen=True, omit_defaults=True):
    number: int
    text: str
    key: str
    copy: int
    attachments: tuple[MessageAttachment, ...] = ()


class SessionWorker:
    """One session after another: one for each try, the last one kept open until there is another."""

    def __init__(self, question: BatchQuestion, process: int) -> None:
        self.session: Session | None = None
        self._question = question
        self._process = process
        self._began = 0.0
        self._turn: Turn | None = None
        self._changes: tuple[WorkspaceChange, ...] = ()  # changes of a failed try in its isolated workspace

    def begin(self) -> None:
        self._began, self._turn, self._changes = time.monotonic(), None, ()

    async def close(self, seconds: float) -> None:
        if self.session is not None:
            await _close(self.session, seconds)

    async def ask(self, job: Job) -> Body:
        """Ask once, in a session of its own; and once more in that session if the answer does not fit."""
        last, self._turn, self._changes = self.session, None, ()
        if self._question.is_isolated:
            return await self._asked_apart(job)
        self.session = self._opened(job)
        try:
            return await self._answered(job)
        finally:
            if last is not None:  # not earlier: the process ends with its last session
                await _close(last, CLOSE_SECONDS)

    async def _asked_apart(self, job: Job) -> Body:
        """Ask in a copy of the workspace, with an agent process that ends with the answer."""
        folder = _workspace_of(self._question)
        workspace = await asyncio.to_thread(IsolatedWorkspace, folder)
        try:
            self.session = self._opened(job, workspace.folder)
            try:
                body = await self._answered(job)
            except (AgentnbError, AnswerUnfit):
                await _close(self.session, CLOSE_SECONDS)  # the agent may still write files
                self._changes = await asyncio.to_thread(workspace.changes)
                raise
            changes = await asyncio.to_thread(workspace.changes)
            return msgspec.structs.replace(body, changes=changes, folder=str(folder))
        finally:
            if self.session is not None:
                await _close(self.session, CLOSE_SECONDS)
            await asyncio.to_thread(workspace.remove)

    async def _answered(self, job: Job) -> Body:
        until = None if self._question.timeout is None else time.monotonic() + self._question.timeout
        wanted: Wanted | None = self._question.wanted
        if wanted is None:
            return self.body(text=await self._answer_text(job.text, job.attachments, until))
        text = await self._answer_text(f"{job.text}\n\n{wanted.instruction}", job.attachments, until)
        try:
            return self.body(text=text, output=plain(wanted.read(text)))
        except AnswerUnfit as error:
            text = await self._answer_text(wanted.correction(error), (), until)
            return self.body(text=text, output=plain(wanted.read(text)))

    def body(self, *, text: str = "", output: Any = None, error: str = "", reason: str = "") -> Body:
        """Returns the input's result, with tokens, cost and time."""
        usage = self._turn.usage if self._turn is not None else None
        return Body(
            text=text or (self._turn.text if self._turn is not None else ""),
            output=output,
            error=error,
            reason=reason,
            input_tokens=usage.input_tokens if usage is not None else None,
            output_tokens=usage.output_tokens if usage is not None else None,
            costs=cost_of(self.session) if self._turn is not None else {},
            seconds=round(time.monotonic() - self._began, 3),
            session=self.session.tab_id if self.session is not None and self._turn is not None else "",
            changes=self._changes,
            folder=str(_workspace_of(self._question)) if self._changes else "",
        )

    def _opened(self, job: Job, folder: Path | None = None) -> Session:
        options = dict(self._question.options)
        if folder is not None:  # the batch itself finds the changes, and does not keep the folder
            options["cwd"] = folder
            options["env"] = {**(options.get("env") or {}), FOLLOWS_CHANGES: "off"}
        if self._process:
            options["env"] = {**(options.get("env") or {}), _PROCESS: str(self._process)}
        first_words = " ".join(job.text.split())[:40]
        return start(**options, title=f"{first_words} · {job.number}")

    async def _answer_text(self, text: str, attachments: tuple[MessageAttachment, ...], until: float | None) -> str:
        assert self.session is not None  # noqa: S101 - opened before
        self._turn = self.session.prompt(text, attachments=attachments)
        left = None if until is None else max(0.0, until - time.monotonic())
        try:
            await self._turn.wait_async(left)
        except TurnTimeout as error:
            self._turn.cancel()
            message = f"It took longer than {self._question.timeout:g} seconds."
            raise TurnTimeout(message, turn=self._turn) from error
        return self._turn.raise_for_error().text


def _workspace_of(question: BatchQuestion) -> Path:
    return Path(question.options["cwd"] or Path.cwd()).expanduser().absolute()


async def _close(session: Session, seconds: float) -> None:
    """Close and archive it: a batch has more conversations than a user's own list has room for."""
    host = current_host()
    if host.recorder is not None:
        host.loop.post(host.recorder.archive, session.chat.resource.removesuffix("/chat"))
    with contextlib.suppress(AgentnbError):
        await session.aclose(seconds)


def cost_of(session: Session | None) -> dict[str, float]:
    """Returns what a session has cost so far, by currency, if its agent reports it."""
    usage = session.state.context_usage if session is not None else None
    cost = usage.cost if usage is not None else None
    return {cost.currency: cost.amount} if cost is not None else {}
