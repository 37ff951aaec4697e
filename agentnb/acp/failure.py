"""Converts JSON-RPC errors of the agent into agentnb's exceptions and back; names the logins that an agent offers."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.acp.fields import mapping, objects, text, texts
from agentnb.agent.catalog import root_hint
from agentnb.agent.confinement import kept_from
from agentnb.errors import (
    AgentDied,
    AgentError,
    AgentnbError,
    AgentRefused,
    AgentStartFailed,
    AuthenticationRequired,
    CassetteBroken,
    CassetteMismatch,
    OutsideWorkspace,
    PermissionDenied,
    ProtocolError,
    UsageError,
)
from agentnb.events.kinds import CASSETTE_MISMATCHED
from agentnb.folders import from_home
from agentnb.rpc_message import INTERNAL_ERROR, INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentnb.agent.catalog import AgentSpec
    from agentnb.agent.process import RunningProcess


class LoginWay(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    kind: Literal["agent", "terminal", "variables"]
    description: str | None = None
    command: str | None = None
    variables: tuple[str, ...] = ()

    @property
    def what_to_do(self) -> str:
        """Returns a few words on what the user has to do; '' if the agent does everything itself."""
        if self.command:
            return f"type `{self.command}` in a terminal"
        return f"set {', '.join(self.variables)}" if self.variables else ""


def login_ways(methods: Iterable[Any], program: Sequence[str] = ()) -> tuple[LoginWay, ...]:
    """Read ``authMethods``; unreadable entries are ignored."""
    return tuple(_way(method, program) for method in objects(list(methods)) if text(method.get("id")))


def _way(method: dict[str, Any], program: Sequence[str]) -> LoginWay:
    terminal_auth = mapping(mapping(method.get("_meta")).get("terminal-auth"))
    variables = tuple(name for each in objects(method.get("vars")) if (name := text(each.get("name"))))
    command = None
    if terminal_auth and (named := text(terminal_auth.get("command"))):
        command = shlex.join([named, *texts(terminal_auth.get("args"))])
    elif method.get("type") == "terminal" and program:
        command = shlex.join([program[0], *texts(method.get("args"))])
    kind: Literal["agent", "terminal", "variables"] = "agent"
    if command is not None:
        kind = "terminal"
    elif method.get("type") == "env_var":
        kind = "variables"
    return LoginWay(
        id=str(method["id"]),
        name=text(method.get("name")) or str(method["id"]),
        kind=kind,
        description=text(method.get("description")),
        command=command,
        variables=variables,
    )


AUTHENTICATION_REQUIRED = -32000
DENIED = -32001
NOT_FOUND = -32002
CASSETTE = -32090  # agentnb's own code, for errors of a replay
PROMPT = "session/prompt"
RESTARTS = "The agent restarts with your next message."
_OPENING = frozenset({"session/new", "session/load", "session/resume", "session/fork"})


def answered(error: BaseException) -> RpcError:
    """The error to send to the agent when its request failed with *error*."""
    if isinstance(error, RpcError):
        return error
    if isinstance(error, PermissionDenied):
        return RpcError(DENIED, str(error))
    if isinstance(error, (OutsideWorkspace, ProtocolError, UsageError)):
        return RpcError(INVALID_PARAMS, str(error))
    if isinstance(error, AgentnbError):
        return RpcError(INTERNAL_ERROR, str(error))
    return RpcError(INTERNAL_ERROR, f"The client failed: {type(error).__name__}.")


class AgentFailures:
    """Turns the errors of one agent into the exceptions that users get."""

    def __init__(self, spec: AgentSpec) -> None:
        self.spec = spec
        self.process: RunningProcess | None = None
        self.started = False
        self.auth_methods: tuple[dict[str, Any], ...] = ()

    def no_answer(self, method: str, limit: float) -> AgentError:
        """The exception for a *method* that was not answered within *limit* seconds."""
        if not self.started:
            message = f"{self.spec.title} did not answer within {limit:g} s after it was started."
            return AgentStartFailed(message, hint=self._try())
        return AgentError(f"{self.spec.title} did not answer {method} within {limit:g} s.", hint="Restart the agent.")

    def refused(self, method: str, error: RpcError) -> AgentError:
        """The exception for an error response: the agent answered *method* with *error*."""
        failure = self._read(method, error)
        message = failure.message if self.process is None else self.process.agent.redact(failure.message)
        if isinstance(failure, CassetteMismatch):
            CASSETTE_MISMATCHED.tell(error=message)
        if not isinstance(failure, AgentRefused):
            return type(failure)(message, hint=failure.hint)
        if not self.started:
            return AgentStartFailed(message, hint=self._try())
        hint = self._opening_hint() if method in _OPENING and error.code == INTERNAL_ERROR else failure.hint
        return AgentRefused(message, code=failure.code, data=failure.data, hint=hint)

    def death(self) -> AgentError:
        """The exception for an agent that has ended by itself."""
        if self.process is not None and self.process.failure is not None:  # a component of the chain failed
            if not self.started:
                hint = f"Start the session without it, or fix it.{self._log_place(self.process.failure)}"
                return AgentStartFailed(self.process.failure, hint=hint)
            return AgentDied(self.process.failure, hint=RESTARTS)
        if self.spec.url is not None and self.process is not None and (lost := self._lost()):
            return lost
        how = _ending(self.process.agent.child.returncode if self.process is not None else None)
        if not self.started:
            return AgentStartFailed(f"{self.spec.title} stopped while starting ({how}).", hint=self._try())
        hint = " ".join(filter(None, [RESTARTS, root_hint(self.spec)])) + self._last_output()
        return AgentDied(f"{self.spec.title} stopped unexpectedly ({how}).", hint=hint)

    def _read(self, method: str, error: RpcError) -> AgentError:
        title = self.spec.title
        if error.code == AUTHENTICATION_REQUIRED:
            return AuthenticationRequired(f"Sign in to {title} to continue.", hint=self._how_to_sign_in(error.data))
        if error.code == CASSETTE:
            broken = isinstance(error.data, dict) and error.data.get("kind") == CassetteBroken.__name__
            return (CassetteBroken if broken else CassetteMismatch)(error.message)
        reason = error.message.rstrip(".") + _details(error.data)
        # Users know prompts; any other method is named, as its error may be for the agent's developers.
        where = "" if method == PROMPT else f" for {method}"
        return AgentRefused(f"{title} returned an error{where}: {reason}.", code=error.code, data=error.data)

    def _how_to_sign_in(self, data: Any) -> str:
        sent = data.get("authMethods") if isinstance(data, dict) else None
        offered = login_ways(sent if isinstance(sent, list) and sent else self.auth_methods, self.spec.own_program)
        names = [f"{way.name} ({way.what_to_do})" if way.what_to_do else way.name for way in offered]
        ways = f"Ways to sign in: {'; '.join(names)}." if names else ""
        typed = f"Type `{self.spec.login}` in a terminal, then try again." if self.spec.login else ""
        return " ".join(filter(None, (ways, typed))) or "Sign in with the agent's own program, then try again."

    def _lost(self) -> AgentError | None:
        """The exception for a remote agent, from the connecting program's two stderr lines: the reason, then a hint."""
        reason, _, hint = (self.process.agent.stderr_tail if self.process is not None else "").partition("\n")
        if not reason.startswith("agentnb: "):
            return None
        message = f"{self.spec.title}: {reason.removeprefix('agentnb: ')}"
        return AgentDied(message, hint=RESTARTS) if self.started else AgentStartFailed(message, hint=hint)

    def _try(self) -> str:
        if self.spec.url is not None:
            return self._hint(f"Check that an ACP agent answers at {self.spec.url}.")
        return self._hint(f"Run `{' '.join(self.spec.command)}` in a terminal to see why.")

    def _opening_hint(self) -> str:
        """Returns a hint for an agent that runs but opens no session, often because a program it started has ended."""
        known = self.spec.origin != "command"
        doctor = f"`agentnb doctor {self.spec.name}` tries it alone." if known else ""
        has_log = self.process is not None and self.process.log_file is not None
        return self._hint(doctor, "" if has_log else 'components=["log"] writes all its messages into a file.')

    def _hint(self, *words: str) -> str:
        node = self.process.agent.node_problem if self.process is not None else ""
        advice = " ".join(filter(None, [node, *words, self._confined(), root_hint(self.spec)]))
        return f"{advice}{self._last_output()}".lstrip()

    def _confined(self) -> str:
        """Returns a hint that confinement may be the cause, with the known refusals; '' if it is not confined."""
        if self.process is None or not self.process.agent.confined:
            return ""
        agent = self.process.agent
        free = "It is not confined there, but it was here. If that is the cause, start it with confine=False"
        free += ", or turn off Confine agents in the settings."
        return kept_from(agent.refused_accesses(agent.stderr_tail)) or free

    def _last_output(self) -> str:
        tail = self.process.agent.stderr_tail if self.process is not None else ""
        return self._log_place(tail) + (f" Last output:\n{tail}" if tail else "")

    def _log_place(self, text: str) -> str:
        """Returns where the agent's log file is; '' if there is none or *text* already says it."""
        log = self.process.log_file if self.process is not None else None
        if log is None or str(log) in text or from_home(log) in text:
            return ""
        return f" Log: `{from_home(log)}`."


def _ending(code: int | None) -> str:
    if code is None:
        return "it closed its output"
    return f"exit code {code}" if code >= 0 else f"killed by signal {-code}"


def _details(data: Any) -> str:
    details = data.get("details") or data.get("message") if isinstance(data, dict) else data
    return f" ({details.strip().rstrip('.')})" if isinstance(details, str) and details.strip() else ""
