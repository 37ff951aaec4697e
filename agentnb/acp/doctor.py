"""The doctor: is an agent installed, new enough, logged in?"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.acp.agent import Agent
from agentnb.acp.fields import objects, text
from agentnb.acp.opening import OpenRequest
from agentnb.acp.questions import ElicitationAnswer
from agentnb.agent.catalog import installed, root_hint, run_by
from agentnb.agent.child import inherited, output_of
from agentnb.agent.confinement import Confine, required_network
from agentnb.agent.process import SpawnedAgent, find_program, install_line, missing_installer
from agentnb.agent.registry import older
from agentnb.errors import AgentError, AgentnbError, AgentNotFound, AuthenticationRequired, PermissionDenied
from agentnb.policy.store import PolicyFiles
from agentnb.state import ChatState, SessionStatus, XConfigOptionsChanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentnb.acp.failure import LoginWay
    from agentnb.acp.peer import Spawn
    from agentnb.acp.questions import AcpPermissionRequest, ElicitationQuestion
    from agentnb.agent.catalog import AgentSpec
    from agentnb.policy.request import PolicyRequest
    from agentnb.state import Action

AT_ONCE = 2
"""The most agents that are started at a time."""

VERSION_SECONDS = 20.0
"""Seconds that ``--version`` may take; it is only run for an agent that does not start."""


class Checkup(msgspec.Struct, frozen=True, kw_only=True):
    """One result of the doctor."""

    name: str
    title: str
    state: Literal["ready", "missing", "old", "login", "broken", "absent"]
    version: str | None = None
    message: str = ""
    todo: str | None = None
    kind: Literal["agent", "jupyter"] = "agent"
    seconds: float | None = None
    models: tuple[str, ...] = ()


async def examine(spec: AgentSpec) -> Checkup:
    """Start *spec* in an empty folder, open a session, close it, and end it again."""
    path = {**os.environ, **spec.env}.get("PATH")
    if installed(spec, path) is None:
        return _checkup(spec, None, "missing", _missing(spec, path), install_line(spec, path) or spec.homepage)
    with tempfile.TemporaryDirectory(prefix="agentnb-doctor-") as folder:
        began = time.monotonic()
        try:
            agent = await Agent.launch(spec, cwd=Path(folder), spawn=_as_required(spec))
        except AuthenticationRequired as error:
            return _wants_login(spec, None, error, ())
        except AgentNotFound as error:
            return _checkup(spec, None, "missing", error.message, install_line(spec, path) or spec.homepage)
        except AgentError as error:
            return await _too_old_to_start(spec) or _checkup(spec, None, "broken", str(error), None)
        try:
            return await _talk_to(agent, folder, began)
        finally:
            await agent.stop()


def _as_required(spec: AgentSpec) -> Spawn:
    """Returns the function that starts *spec*, confined if the site's policy requires it."""
    network = required_network(spec.name, PolicyFiles().site.confine)
    return SpawnedAgent.spawn if network is None else partial(SpawnedAgent.spawn, confine=Confine(network=network))


def _missing(spec: AgentSpec, path: str | None) -> str:
    runner = run_by(spec, path)
    if runner is not None:
        return f"It is not installed; a conversation starts it with {runner.kind}, which downloads {runner.package}."
    words = [f"There is no command {spec.command[0]!r} on the PATH."]
    words += [f"It needs {spec.requires}."] if spec.requires else []
    words += [missing] if (missing := missing_installer(spec, path)) else []
    return " ".join(words)


async def examine_all(specs: Iterable[AgentSpec]) -> list[Checkup]:
    """:func:`examine` for each of *specs*, a few at a time, in their order."""
    turnstile = asyncio.Semaphore(AT_ONCE)

    async def one(spec: AgentSpec) -> Checkup:
        async with turnstile:
            return await examine(spec)

    return list(await asyncio.gather(*(one(spec) for spec in specs)))


async def _talk_to(agent: Agent, folder: str, began: float) -> Checkup:
    spec = agent.spec
    if (old := _too_old(spec, agent.version)) is not None:
        return old
    try:
        new = await agent.open_session(OpenRequest(cwd=folder), _Nobody())
    except AuthenticationRequired as error:
        return _wants_login(spec, agent.version, error, agent.login_ways)
    except AgentError as error:
        return _checkup(spec, agent.version, "broken", str(error), None)
    seconds = round(time.monotonic() - began, 1)
    await agent.close_session(new.session_id)
    if agent.capabilities.offers("delete"):
        with contextlib.suppress(AgentError):
            await agent.delete_session(new.session_id)
    if new.problem is not None:
        return _checkup(spec, agent.version, "broken", new.problem, None)
    message = " ".join(filter(None, ["It answers.", root_hint(spec)]))
    checkup = _checkup(spec, agent.version, "ready", message, None)
    return msgspec.structs.replace(checkup, seconds=seconds, models=tuple(_models(new.actions)))


def _models(actions: Iterable[Action]) -> Iterator[str]:
    """The names of the models among a new session's config options, including those in groups."""
    for action in actions:
        options = action.config_options if isinstance(action, XConfigOptionsChanged) else ()
        for option in options:
            if "model" in {option.get("category"), option.get("id")}:
                choices = objects(option.get("options"))
                inner = [each for choice in choices for each in objects(choice.get("options"))]
                yield from (name for each in inner or choices if (name := text(each.get("name"))))
                return


def _too_old(spec: AgentSpec, version: str | None) -> Checkup | None:
    if spec.min_version is None or not older(version, spec.min_version):
        return None
    message = f"Version {version} is too old: agentnb needs {spec.min_version} or later."
    return _checkup(spec, version, "old", message, spec.upgrade or spec.install)


async def _too_old_to_start(spec: AgentSpec) -> Checkup | None:
    """Check ``--version``: an agent that is older than its own ACP support does not start."""
    if spec.min_version is None:
        return None
    with tempfile.TemporaryDirectory(prefix="agentnb-doctor-") as folder:
        return _too_old(spec, await _said_version(spec, Path(folder)))


async def _said_version(spec: AgentSpec, folder: Path) -> str | None:
    """The version that ``PROGRAM --version`` prints; None if it prints none within :data:`VERSION_SECONDS`."""
    env = inherited(spec.env)
    try:
        command = [find_program(spec, folder, env.get("PATH")), "--version"]
        output = await output_of(command, folder, env, VERSION_SECONDS)
    except (AgentError, OSError):
        return None
    version = re.search(r"(?<!\d)\d+(?:\.\d+)+", output)
    return version[0] if version else None


def _wants_login(
    spec: AgentSpec, version: str | None, error: AuthenticationRequired, ways: Sequence[LoginWay]
) -> Checkup:
    """The to-do is the agent's own login line (newer than the catalogue's), the catalogue's, Python, or a variable."""
    typed = [way.command for way in ways if way.command]
    called = [f'agentnb.start("{spec.name}").login("{way.id}")' for way in ways if way.kind == "agent"]
    exported = [f"export {name}=…" for way in ways for name in way.variables]
    by_itself = f'agentnb.start("{spec.name}").login()'  # its error lists the possible logins
    todo = next(iter([*typed, *([spec.login] if spec.login else []), *called, *exported, by_itself]))
    return _checkup(spec, version, "login", str(error), todo)


def _checkup(
    spec: AgentSpec,
    version: str | None,
    state: Literal["ready", "missing", "old", "login", "broken"],
    message: str,
    todo: str | None,
) -> Checkup:
    return Checkup(name=spec.name, title=spec.title, state=state, version=version, message=message, todo=todo)


class _Nobody:
    """Listens to the doctor's session: ignores what the agent reports, and allows nothing."""

    speaking = None
    chat = ChatState(
        resource="doctor:/chat", title="", status=SessionStatus.IDLE, modified_at="1970-01-01T00:00:00.000Z", turns=()
    )

    def actions(self, actions: Sequence[Action]) -> None:
        """Pass over it."""

    async def permission(self, question: AcpPermissionRequest) -> None:
        """Nobody is there."""

    async def elicit(self, question: ElicitationQuestion) -> ElicitationAnswer:
        del question
        return ElicitationAnswer("decline")

    def elicited(self, elicitation_id: str) -> None:
        """Pass over it."""

    def extension(self, method: str, params: Any) -> None:
        """Pass over it."""

    def answers(self, method: str) -> bool:  # noqa: ARG002 - nothing is known
        return False

    async def extended(self, method: str, params: dict[str, Any]) -> Any:
        del params
        raise PermissionDenied(f"{method}: not allowed in a check-up.")

    async def authorize(self, request: PolicyRequest) -> PolicyRequest:
        raise PermissionDenied(f"{request.title}: not allowed in a check-up.")

    def refused(self, request: PolicyRequest, error: AgentnbError) -> None:
        """Nothing is logged."""

    def opens(self, path: str, tool: str) -> bool:  # noqa: ARG002 - for nobody
        return False

    def unsaved(self, path: str) -> None:  # noqa: ARG002 - for nobody
        return None

    def lost(self, error: AgentnbError) -> None:
        """The caller finds out."""
