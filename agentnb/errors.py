"""The exceptions that agentnb raises, one tree.

::

    AgentnbError
    ├── AgentError                 something about an agent
    │   ├── UnknownAgent           no agent of that name in the catalogue
    │   ├── AgentNotFound          its command is not installed
    │   ├── AgentStartFailed       it did not start
    │   ├── AgentDied              its process stopped while it was in use
    │   ├── AuthenticationRequired it requires a sign-in first
    │   ├── NotOffered             it does not support what was asked for
    │   └── AgentRefused           it returned an error
    ├── SessionError
    │   ├── SessionClosed          the session was closed before
    │   └── UnknownSession         no session (tab) of that name
    ├── TurnError
    │   ├── TurnFailed             the turn ended with an error
    │   │   └── BudgetExceeded     a limit of a budget is reached
    │   ├── TurnRefused            the agent refused to continue
    │   ├── TurnCancelled          the turn was cancelled
    │   └── TurnTimeout            the turn did not end in time
    ├── PermissionDenied           the policy or the user said no
    ├── OutsideWorkspace           a file outside the workspace
    ├── FileUnavailable            a file or folder cannot be read
    ├── KernelBusy                 the kernel is busy with other code
    ├── HostUnavailable            another host cannot be reached, or lets nobody in
    ├── LogError                   the durable log of sessions
    │   ├── LogUnavailable         the log's file cannot be used
    │   └── LogDamaged             the file or a session in it is damaged
    ├── ChangesError               what turns changed: its snapshots, undo
    │   ├── FilesConflict          files changed since and cannot be merged
    │   ├── ContentNotStored       a file's content was never stored, or is no longer
    │   ├── ChangesUnavailable     snapshots cannot be taken or stored here
    │   └── KernelChangesConflict  cells or variables changed since
    ├── PluginFailed               a plug-in raised an error of its own
    ├── PolicyError                a policy file cannot be read or written
    ├── SettingsError              a settings file cannot be changed
    ├── ProtocolError              a message that breaks the protocol
    │   └── UnsupportedVersion     page and kernel share no version of it
    ├── CassetteError
    │   ├── CassetteBroken         the cassette's file cannot be used
    │   └── CassetteMismatch       something differs from the recording
    └── UsageError                 a wrong argument of a call or magic
        └── UnknownMention         ``@name`` that names nothing

Every message says what happened, to what, and what to do next.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class AgentnbError(Exception):
    """Base of every exception that agentnb raises on purpose.

    Args:
        message: What happened, and to what.
        hint: What to do next, a sentence; it is added to the message.

    Example:
        >>> str(AgentnbError("The kettle is cold.", hint="Switch it on."))
        'The kettle is cold. Switch it on.'
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(f"{message} {hint}" if hint else message)
        self.message = message
        self.hint = hint

    def _render_traceback_(self) -> list[str]:
        """One line in a notebook instead of a traceback (IPython's own hook).

        A long message repeats its first line at the end: summaries (nbmake's) show the last line.
        """
        text = f"{type(self).__name__}: {self}"
        return [text] if "\n" not in text else [text, text.split("\n", 1)[0]]


class AgentError(AgentnbError):
    """An error of an agent or its process."""


class UnknownAgent(AgentError):
    """No agent of that name is in the catalogue."""


class AgentNotFound(AgentError):
    """The agent's command is not installed here."""


class AgentStartFailed(AgentError):
    """The agent's process stopped, or did not answer, while it started."""


class AgentDied(AgentError):
    """The agent's process stopped while it was in use."""


class AuthenticationRequired(AgentError):
    """The agent requires a sign-in first (ACP error -32000)."""


class NotOffered(AgentError):
    """The agent does not support what was asked for, by the capabilities that it named when it started."""


class AgentRefused(AgentError):
    """The agent returned an error.

    Args:
        message: The request and the agent's answer.
        code: The JSON-RPC error code.
        data: The JSON-RPC error's ``data``, as sent.
        hint: What to do next.
    """

    def __init__(self, message: str, *, code: int = 0, data: object = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.data = data


class SessionError(AgentnbError):
    """An error about a session."""


class SessionClosed(SessionError):
    """The session is closed."""


class UnknownSession(SessionError):
    """No session (tab) of that name is open."""


class TurnError(AgentnbError):
    """An error about a turn.

    Args:
        message: What happened.
        hint: What to do next.
        turn: The turn (:class:`agentnb.Turn`), with everything that it produced before.
    """

    def __init__(self, message: str, *, hint: str | None = None, turn: Any = None) -> None:
        super().__init__(message, hint=hint)
        self.turn = turn


class TurnFailed(TurnError):
    """The turn ended with an error."""


class BudgetExceeded(TurnFailed):
    """A limit of a budget is reached and nobody could be asked; the message names it, and how to raise it."""


class TurnRefused(TurnError):
    """The agent refused to continue (ACP stop reason ``refusal``)."""


class TurnCancelled(TurnError):
    """The turn was cancelled."""

    def _render_traceback_(self) -> list[str]:
        return [self.message]


class TurnTimeout(TurnError):
    """The turn did not end in the time given; unless the message says otherwise it continues."""


class PermissionDenied(AgentnbError):
    """The policy or the user denied it."""


class OutsideWorkspace(AgentnbError):
    """A path leads to a file outside the workspace."""


class FileUnavailable(AgentnbError):
    """A file or folder of the workspace does not exist, is not readable, or may hold secrets."""


class KernelBusy(AgentnbError):
    """The kernel cannot run an agent's code now: its main thread is busy."""


class HostUnavailable(AgentnbError):
    """Another kernel's host cannot be reached, refuses this kernel, or does not answer (:func:`agentnb.connect`)."""


class LogError(AgentnbError):
    """An error about the session log."""


class LogUnavailable(LogError):
    """The log's file cannot be used; sessions continue without it."""


class LogDamaged(LogError):
    """The log's file, or a session in it, is damaged."""


class ChangesError(AgentnbError):
    """An error about changes of turns: snapshots, undo and redo of files."""


class FilesConflict(ChangesError):
    """Files differ from what was expected and cannot be merged; nothing was written.

    Args:
        message: The message, with the files' names.
        hint: What to do next.
        conflicts: A :class:`agentnb.changes.Conflict` for each.
    """

    def __init__(self, message: str, *, hint: str | None = None, conflicts: tuple[Any, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.conflicts = conflicts


class ContentNotStored(ChangesError):
    """A file's content was never stored (it is sensitive or large), or it is no longer stored."""


class ChangesUnavailable(ChangesError):
    """Snapshots cannot be taken or stored here; turns continue without them."""


class KernelChangesConflict(ChangesError):
    """Cells or variables changed after the turn; nothing was changed.

    Args:
        message: The message, with their names.
        hint: What to do next.
        conflicts: A :class:`agentnb.kernel.undo.KernelConflict` for each.
    """

    def __init__(self, message: str, *, hint: str | None = None, conflicts: tuple[Any, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.conflicts = conflicts


class PluginFailed(AgentnbError):
    """A plug-in raised an error of its own; the message names the plug-in."""


class PolicyError(AgentnbError):
    """A policy file cannot be read or written."""


class SettingsError(AgentnbError):
    """A settings file cannot be changed: it cannot be read as it is, or not be written, or was changed meanwhile."""


class ProtocolError(AgentnbError):
    """A message does not follow the protocol."""


class UnsupportedVersion(ProtocolError):
    """Page and kernel share no version of the protocol."""


class CassetteError(AgentnbError):
    """An error about a cassette."""


class CassetteBroken(CassetteError, AgentError):
    """The cassette's file cannot be used; the message says where in it."""


class CassetteMismatch(CassetteError, AgentError):
    """Something differs from the recording; the message shows both."""


class BatchFailed(AgentnbError):
    """An input of a batch failed, or the batch ended before its inputs did.

    Args:
        message: What failed, and why.
        hint: What to do next.
        batch: The batch, with the answers that came.
    """

    def __init__(self, message: str, *, hint: str | None = None, batch: Any = None) -> None:
        super().__init__(message, hint=hint)
        self.batch = batch


class UsageError(AgentnbError):
    """A call, a magic or an option has a wrong argument."""


class UnknownMention(UsageError):
    """``@name`` in a prompt names no variable, file or cell."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns the beginning of a hint that names the closest of *known*; empty if none is close.

    Example:
        >>> did_you_mean("alow", ["allow", "deny"])
        "Did you mean 'allow'? "
    """
    hint = ""
    if close := difflib.get_close_matches(name, known, n=1):
        hint = f"Did you mean {close[0]!r}? "
    return hint


def unexpected(error: BaseException) -> str:
    """Returns an unexpected error's type and place in agentnb, for a report; not its text, which may be user data.

    Example:
        >>> unexpected(ValueError("secret"))
        'ValueError'
    """
    name, traceback, place = type(error).__name__, error.__traceback__, ""
    while traceback is not None:
        module = traceback.tb_frame.f_globals.get("__name__", "")
        if module.partition(".")[0] == __package__:
            place = f" in {module}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return f"{name}{place}"
