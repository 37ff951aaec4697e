"""Previews of permission requests: what code or a command would do, and whether it then really did that.

If the user allows what was previewed, the workspace's files are compared from just before to just after the run, and
the turn lists the differences from the preview.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.credentials import Credentials
from agentnb.errors import AgentnbError, SessionError
from agentnb.events.kinds import REHEARSAL_ENDED
from agentnb.host.permissions.cards import changed, first_sentence, show_details
from agentnb.host.permissions.outcome import Ended, differences, is_harmless, look, named_files
from agentnb.kernel.content import picture_block
from agentnb.kernel.rehearsal_result import SECONDS, Rehearsal, rehearse_command, unavailable
from agentnb.memory import resident_memory
from agentnb.policy.sensitive import sensitive_pattern
from agentnb.policy.severity import rank
from agentnb.safe_json import read_json
from agentnb.state import (
    ChatToolCallComplete,
    ToolBlockContent,
    ToolCallDetails,
    ToolCallRehearsal,
    ToolTerminalContent,
    XTerminalExited,
    XTerminalOpened,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Mapping

    from agentnb.host.changes.own_files import OwnFiles
    from agentnb.host.channels import SessionChannels
    from agentnb.host.environment import Environment
    from agentnb.host.permissions.outcome import FolderState
    from agentnb.host.permissions.session_policy import PendingPermission, SessionPolicy
    from agentnb.policy.request import PolicyRequest
    from agentnb.state import Action, TerminalView

PATIENCE = 3.0
"""Seconds that a preview of code waits for the main thread."""
AUTO_SECONDS = 2.0
AUTO_PATIENCE = 0.3
LARGEST_FOR_AUTO = 2 * 1024**3
"""The most memory of the kernel, in bytes, for an automatic preview: a larger kernel takes longer to copy."""
COMPARE_SECONDS = 5.0
"""Seconds that the end of a turn waits for the comparison with a preview."""
SHOWN_FILES = 50
SHOWN_DIFFS = 100_000
"""Characters of diffs that are shown, in all."""
LONGEST_DIFF = 20_000
SHOWN_TEXT = 8_000
SHOWN_VARIABLES = 50
SHOWN_PICTURES = 1024 * 1024
"""Bytes of pictures that are shown, in all."""
SHOWN_NAMES = 20
_EXIT_CODES = ("exitCode", "exit_code", "exit", "returncode")


class PreviewSubject(NamedTuple):
    kind: str
    text: str
    folder: str | None = None
    env: tuple[tuple[str, str], ...] = ()


@dataclass
class _Previewed:
    subject: PreviewSubject
    task: asyncio.Task[Rehearsal]
    rehearsal: Rehearsal | None = None


@dataclass
class _Allowed:
    """An action that was allowed after its preview and has not ended."""

    turn_id: str
    call_id: str
    request: PolicyRequest
    rehearsal: Rehearsal
    folder: str
    before: FolderState
    since: int
    terminal_id: str | None = None

    def runs_in(self, terminal: TerminalView) -> bool:
        """True if *terminal*, which has just been opened, runs it."""
        is_new = self.request.kind == "terminal" and self.terminal_id is None
        return is_new and terminal.command == self.request.line


class Rehearsals:
    def __init__(
        self,
        channels: SessionChannels,
        policy: SessionPolicy,
        environment: Environment,
        *,
        spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]],
        variables: Mapping[str, str],
        own: OwnFiles,
    ) -> None:
        self._own = own
        self._channels = channels
        self._policy = policy
        self._environment = environment
        self._spawn = spawn
        self._cwd = str(policy.cwd)
        self._variables = variables
        self._previewed: dict[PendingPermission, _Previewed] = {}
        self._allowed: list[_Allowed] = []
        self._comparing: set[asyncio.Task[None]] = set()
        self._one = asyncio.Lock()

    # --- the preview ---

    def begin(self, question: PendingPermission, edited: str | None = None) -> asyncio.Task[Rehearsal]:
        if self._setting == "off":
            message = "Previews are switched off in the settings."
            raise SessionError(message, hint="Set `rehearse` to 'on demand' or 'auto'.")
        subject = subject_of(question.request, edited)
        if subject is None:
            raise SessionError("This request runs neither code nor a command, so there is no preview.")
        known = self._previewed.get(question)
        if known is not None and known.rehearsal is None and known.subject == subject:
            return known.task
        return self._begin(question, subject, SECONDS, PATIENCE)

    def _begin(
        self, question: PendingPermission, subject: PreviewSubject, seconds: float, patience: float
    ) -> asyncio.Task[Rehearsal]:
        hidden = Credentials(dict(os.environ)).hidden(subject.text)
        self._show(question, ToolCallRehearsal(status="running", input=hidden))
        task = self._spawn(self._preview(question, subject, seconds, patience))
        self._previewed[question] = _Previewed(subject, task)
        return task

    def begin_by_itself(self, question: PendingPermission, *, others: bool) -> None:
        """Preview a new question if the settings want that, it is quick, and nothing else waits."""
        subject = subject_of(question.request)
        if question in self._previewed or subject is None or others or self._one.locked() or self._setting != "auto":
            return
        if subject.kind == "command" and rank(question.verdict.severity) >= rank("high"):
            return
        if subject.kind == "code" and (self._environment.job_queue.is_kernel_busy or not self._can_copy_kernel()):
            return
        self._begin(question, subject, AUTO_SECONDS, AUTO_PATIENCE)

    def can(self, request: PolicyRequest) -> bool:
        """True if *request* can be previewed, as far as is known without trying."""
        return self._setting != "off" and sys.platform == "linux" and subject_of(request) is not None

    async def harmless(self, question: PendingPermission) -> bool:
        """Preview *question*; returns True if the preview saw nothing that cannot be undone."""
        subject = subject_of(question.request)
        if subject is None or self._setting == "off":
            return False
        if subject.kind == "code" and not self._can_copy_kernel():
            return False
        rehearsal = await asyncio.shield(self._begin(question, subject, AUTO_SECONDS, AUTO_PATIENCE))
        return is_harmless(rehearsal, _folder(subject, self._cwd), self._policy.situation())

    def _can_copy_kernel(self) -> bool:
        """True if there is a kernel, and it is small enough to be copied without a question."""
        return self._environment.code_runner() is not None and resident_memory() <= LARGEST_FOR_AUTO

    @property
    def _setting(self) -> str:
        return str(self._environment.sources().values["rehearse"].value)

    async def _preview(
        self, question: PendingPermission, subject: PreviewSubject, seconds: float, patience: float
    ) -> Rehearsal:
        async with self._one:
            try:
                rehearsal = await self._rehearsed(subject, seconds, patience)
            except AgentnbError as error:
                rehearsal = unavailable(error.message)
            except OSError as error:
                rehearsal = unavailable(f"It could not be started: {error.strerror or error}.")
        known = self._previewed.get(question)
        if known is not None and known.task is asyncio.current_task():
            known.rehearsal = rehearsal
            verdict = question.verdict
            feared = first_sentence(verdict.risk) if rank(verdict.severity) >= rank("high") else ""
            self._show(question, self._tool_call_rehearsal(subject, rehearsal, feared))
        self._tell(question, subject, rehearsal)
        return rehearsal

    async def _rehearsed(self, subject: PreviewSubject, seconds: float, patience: float) -> Rehearsal:
        if subject.kind == "command":
            env = {**os.environ, **self._variables, **dict(subject.env)}
            folder = subject.folder or self._cwd
            return await asyncio.to_thread(rehearse_command, subject.text, folder, env=env, seconds=seconds)
        runner = self._environment.code_runner()
        if runner is None:
            return unavailable("There is no IPython kernel here.")
        work = runner.look(lambda: runner.rehearse(subject.text, seconds))
        wait = await self._environment.job_queue.run(work, self._channels.tab_id, patience=patience, timeout=PATIENCE)
        return await asyncio.to_thread(wait)

    def _tell(self, question: PendingPermission, subject: PreviewSubject, rehearsal: Rehearsal) -> None:
        REHEARSAL_ENDED.tell(
            what=subject.kind,
            available=rehearsal.available,
            way=rehearsal.way,
            milliseconds=round(rehearsal.seconds * 1000),
            tab=self._channels.tab_id,
            turn=question.turn_id,
            call=question.call_id,
        )
        self._policy.record_rehearsal(question.request, question.verdict, rehearsal.summary)

    def _show(self, question: PendingPermission, rehearsal: ToolCallRehearsal) -> None:
        self._change(question.turn_id, question.call_id, ToolCallDetails(rehearsal=rehearsal))

    def _change(self, turn_id: str, call_id: str, details: ToolCallDetails) -> None:
        if self._channels.is_active(turn_id) and self._channels.tool_call(call_id) is not None:
            self._channels.dispatch(show_details(turn_id, call_id, details))

    def _tool_call_rehearsal(self, subject: PreviewSubject, rehearsal: Rehearsal, feared: str) -> ToolCallRehearsal:
        """Returns what the card shows; *feared*: the worst effect of a grave request, a sentence, or ''."""
        hidden = Credentials({**os.environ, **self._variables, **dict(subject.env)}).hidden
        files, room = [], SHOWN_DIFFS
        patterns = self._policy.situation().patterns
        for each in rehearsal.files[:SHOWN_FILES]:
            diff = each.diff if len(each.diff) <= min(LONGEST_DIFF, room) else ""
            if sensitive_pattern(each.path, patterns) is not None:
                diff = ""
            room -= len(diff)
            path = each.path.encode("utf-8", "backslashreplace").decode()
            files.append(replace(each, path=path, diff=hidden(diff)))
        return ToolCallRehearsal(
            status="ended",
            input=hidden(subject.text),
            reason=hidden(rehearsal.reason),
            is_available=rehearsal.available,
            summary=hidden(rehearsal.summary_with(feared)),
            printed=hidden(rehearsal.stdout[-SHOWN_TEXT:]),
            result=None if rehearsal.result is None else hidden(rehearsal.result[:SHOWN_TEXT]),
            error=None if rehearsal.error is None else hidden(rehearsal.error[:SHOWN_TEXT]),
            exit_code=rehearsal.exit_code,
            variables=tuple(
                replace(
                    each,
                    detail=hidden(each.detail[:SHOWN_TEXT]),
                    value=None if each.value is None else hidden(each.value),
                )
                for each in rehearsal.variables[:SHOWN_VARIABLES]
            ),
            data_checks=tuple(
                replace(each, text=hidden(each.text), show="", assertion="") for each in rehearsal.data_checks
            ),
            files=tuple(files),
            more_files=rehearsal.more_files + max(0, len(rehearsal.files) - SHOWN_FILES),
            pictures=tuple(_pictures(rehearsal)),
            processes=tuple(map(hidden, rehearsal.processes[:SHOWN_NAMES])),
            connections=tuple(map(hidden, rehearsal.connections[:SHOWN_NAMES])),
            refused=tuple(map(hidden, rehearsal.refused[:SHOWN_NAMES])),
            seconds=round(rehearsal.seconds, 3),
            memory=rehearsal.memory,
            way=rehearsal.way,
        )

    # --- the comparison ---

    def _known(self, question: PendingPermission, edited: str | None) -> tuple[Rehearsal, str] | None:
        """The preview of *question* and its folder; None if what is allowed was not previewed."""
        known = self._previewed.get(question)
        if known is None or known.rehearsal is None or not known.rehearsal.available:
            return None
        if known.subject != subject_of(question.request, edited) or question.request.kind == "cell":
            return None
        return known.rehearsal, _folder(known.subject, self._cwd)

    def named(self, question: PendingPermission, edited: str | None) -> frozenset[str]:
        """The files (absolute) that *question* changes according to its preview; empty if there is none."""
        known = self._known(question, edited)
        return frozenset() if known is None else frozenset(named_files(*known))

    async def allowed(self, question: PendingPermission, edited: str | None) -> None:
        """The user has allowed *question*: if it was previewed, look at the files before it runs."""
        known = self._known(question, edited)
        self._previewed.pop(question, None)
        if known is None:
            return
        rehearsal, folder = known
        before = await asyncio.to_thread(
            look, folder, [*named_files(rehearsal, folder)], self._own.of(Path(folder)).has
        )
        self._allowed.append(
            _Allowed(question.turn_id, question.call_id, question.request, rehearsal, folder, before, since=now_ms())
        )

    def seen(self, action: Action) -> None:
        """The agent, or one of our services, dispatched *action*: something allowed may have begun or ended."""
        if not self._allowed:
            return
        match action:
            case XTerminalOpened(terminal=terminal):
                fits = (each for each in self._allowed if each.runs_in(terminal))
                if (allowed := next(fits, None)) is not None:
                    allowed.terminal_id = terminal.id
            case XTerminalExited(terminal_id=terminal_id, exit_code=code):
                self._end(lambda each: each.terminal_id == terminal_id, Ended(exit_code=code))
            case ChatToolCallComplete(tool_call_id=call_id, result=result):
                failure = None if result.success else "It failed."
                ended = Ended(failure=failure, exit_code=self._exit_code(call_id))
                self._end(lambda each: each.call_id == call_id and each.request.kind == "permission", ended)

    def finished(self, call: tuple[str, str], failure: str | None, variables: Collection[str] | None) -> None:
        """The kernel tool *call* has ended; *failure*: why it failed; *variables*: which changed, and how."""
        self._end(lambda each: each.request.call == call, Ended(failure=failure, variables=variables))

    async def compared(self) -> None:
        """Wait until the pending comparisons are done or time out."""
        if self._comparing:
            await asyncio.wait([*self._comparing], timeout=COMPARE_SECONDS)

    @property
    def is_comparing(self) -> bool:
        return bool(self._comparing)

    def forget(self) -> None:
        self._previewed.clear()
        self._allowed.clear()

    def _end(self, fits: Callable[[_Allowed], bool], ended: Ended) -> None:
        allowed = next(filter(fits, self._allowed), None)
        if allowed is not None:
            self._allowed.remove(allowed)
            task = self._spawn(self._compare(allowed, ended))
            self._comparing.add(task)
            task.add_done_callback(self._comparing.discard)

    async def _compare(self, allowed: _Allowed, ended: Ended) -> None:
        named = named_files(allowed.rehearsal, allowed.folder)
        after = await asyncio.to_thread(look, allowed.folder, [*named], self._own.of(Path(allowed.folder)).has)
        until = now_ms()
        saved = {
            path
            for path in {*allowed.before.seen, *after.seen} - {*named}
            if allowed.before.seen.get(path) != after.seen.get(path)
            and self._environment.was_saved(path, allowed.since, until)
        }
        for path in saved:
            allowed.before.seen.pop(path, None)
            after.seen.pop(path, None)
        sentences = differences(allowed.rehearsal, allowed.folder, allowed.before, after, ended)
        self._change(allowed.turn_id, allowed.call_id, ToolCallDetails(differences=sentences))

    def _exit_code(self, call_id: str) -> int | None:
        """The exit code of a command that an agent ran itself, if its tool call reports one."""
        call = self._channels.tool_call(call_id)
        details = None if call is None else call.details
        if details is None:
            return None
        terminal_ids = {each.terminal_id for each in details.content or () if isinstance(each, ToolTerminalContent)}
        codes = [each.exit_code for each in self._channels.chat.state.terminals or () if each.id in terminal_ids]
        if codes:
            return codes[-1]
        raw = details.raw_output if isinstance(details.raw_output, dict) else {}
        return next((raw[key] for key in _EXIT_CODES if type(raw.get(key)) is int), None)


def subject_of(request: PolicyRequest, edited: str | None = None) -> PreviewSubject | None:
    """Returns the part of *request* that can be previewed; None if it runs neither code nor a command."""
    if request.tool == "kernel":
        return None if request.command is None else PreviewSubject("code", request.command)
    if request.tool == "cell":
        return _cell_subject(request)
    if edited is not None and request.command is not None:
        request = changed(request, edited)
    return None if request.command is None else PreviewSubject("command", request.command, request.path, request.env)


def _cell_subject(request: PolicyRequest) -> PreviewSubject | None:
    """The code of a cell that an agent inserts or replaces, since it will usually be run."""
    name, arguments = request.call or ("", "{}")
    cell_arguments = read_json(arguments) if name in {"insert_cell", "replace_cell"} else {}
    kind = request.cell.kind if request.cell is not None else cell_arguments.get("cell_type", "code")
    source = cell_arguments.get("source")
    return PreviewSubject("code", source) if kind == "code" and isinstance(source, str) and source.strip() else None


def _folder(subject: PreviewSubject, cwd: str) -> str:
    """The folder that the paths of a preview are relative to."""
    return os.path.realpath(subject.folder or (cwd if subject.kind == "command" else "."))


def _pictures(rehearsal: Rehearsal) -> list[ToolBlockContent]:
    blocks, room = [], SHOWN_PICTURES
    for each in rehearsal.pictures:
        if len(each) <= room:
            room -= len(each)
            blocks.append(ToolBlockContent(block=picture_block(each)))
    return blocks
