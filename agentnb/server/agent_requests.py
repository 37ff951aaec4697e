"""Requests about agents: install and check them, change the user's own, and trust the skills of packages.

A command is a program that runs with the user's permissions: it takes effect only after the user has confirmed the
sentence that contains it. Only files in the user's own folder are written, never a project's.
"""

from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from agentnb.acp.doctor import examine
from agentnb.agent.catalog import catalogue, find, why_not
from agentnb.agent.own_agents import check, has_program, own_agents, remove_agent, write_agent
from agentnb.host.agents.agent_events import decide
from agentnb.host.host import agent_infos
from agentnb.server.request_table import Asker, ChangedResult, request
from agentnb.state.session_state import option_choices
from agentnb.state.wire import Count, Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentnb.host.host import Host

_LONGEST_LINE = 300


class RefreshAgentsResult(Wire, frozen=True, kw_only=True):
    """The agents that are installed now.

    Attributes:
        installed: Their names in the catalogue.
    """

    installed: tuple[str, ...]


@request("refreshAgents")
async def refresh_agents(asker: Asker[Host]) -> RefreshAgentsResult:
    """Check again which agents are installed.

    If that has changed, the root channel shows it.
    """
    infos = await asyncio.to_thread(agent_infos)
    asker.host.take_agents(infos)
    return RefreshAgentsResult(installed=tuple(info.provider for info in infos if not info.missing))


@request("installAgent")
def install_agent(asker: Asker[Host], *, agent: str, command: str) -> None:
    """Run the command that installs an agent; the user has seen it and agreed.

    The answer comes when the install has started. The root channel shows its progress in the agent's `setup`, with the
    command's output. One install runs at a time.

    Args:
        agent: The agent's name.
        command: The command that the user saw, the agent's `install`; the kernel refuses any other than its own.
    """
    asker.host.installs.start(agent, command)


@request("stopInstall")
def stop_install(asker: Asker[Host], *, agent: str) -> None:
    """End the install of an agent.

    Args:
        agent: The agent's name.
    """
    asker.host.installs.stop(agent)


class CheckAgentResult(Wire, frozen=True, kw_only=True):
    """The state of an agent.

    Attributes:
        state: `ready`, `missing` (not installed), `old`, `login` (the agent requires one) or `broken`.
        message: The finding, for people.
        version: The version that it reports.
        todo: The line to type, or the homepage, if something must be done.
        start_ms: The time from its start to an open session, in milliseconds.
        models: The names of the models that it offers.
    """

    state: str
    message: str
    version: str | None = None
    todo: str | None = None
    start_ms: Count | None = None
    models: tuple[str, ...] | None = None


@request("checkAgent")
async def check_agent(_: Asker[Host], *, agent: str) -> CheckAgentResult:
    """Start an agent briefly, open a session in an empty folder, and report its state.

    An agent that is not installed is not started, even if npx or uvx could do it.

    Args:
        agent: The agent's name.
    """
    checkup = await examine(find(agent))
    return CheckAgentResult(
        state=checkup.state,
        message=checkup.message,
        version=checkup.version,
        todo=checkup.todo,
        start_ms=None if checkup.seconds is None else round(checkup.seconds * 1000),
        models=tuple(checkup.models) or None,
    )


class OwnAgentChange(Wire, frozen=True, kw_only=True):
    """An agent as the page's user describes it.

    Attributes:
        line: The agent's command with its arguments, as typed in a shell. No shell reads it.
        env: All variables for the agent, by name; null keeps the current value, which no page receives.
    """

    line: Annotated[str, msgspec.Meta(max_length=4_000)]
    env: dict[str, str | None] = msgspec.field(default_factory=dict)


class ChangeOwnAgentParams(Wire, frozen=True, kw_only=True):
    """``changeOwnAgent``: write an agent's description into the user's folder, or remove it from there.

    The kernel first answers with a sentence to confirm, and makes the change when the page sends that sentence back.

    Attributes:
        name: The agent's name; for one of the catalogue, the description is based on it and replaces it.
        agent: The agent; absent to remove the user's description of that name.
        state: The `state` of the description that the user saw; empty if there was none.
        confirmed: The sentence that the user confirmed.
    """

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    agent: OwnAgentChange | None = None
    state: str = ""
    confirmed: str = ""


@request("changeOwnAgent", ChangeOwnAgentParams, ChangedResult)
async def change_own_agent(asker: Asker[Host], params: ChangeOwnAgentParams) -> ChangedResult:
    """Write an agent's description into the user's folder, or remove it from there."""
    question = await asyncio.to_thread(_question, params)
    if params.confirmed != question:
        return ChangedResult(confirm=question)
    await asyncio.to_thread(_write, params)
    asker.host.take_agents(await asyncio.to_thread(agent_infos))
    return ChangedResult()


def _write(params: ChangeOwnAgentParams) -> None:
    if params.agent is None:
        remove_agent(params.name, state=params.state)
    else:
        write_agent(params.name, params.agent.line, params.agent.env, state=params.state)


def _question(params: ChangeOwnAgentParams) -> str:
    if params.agent is None:
        own = next((each for each in own_agents() if each.name == params.name), None)
        file = f" {own.path} is deleted." if own is not None else ""
        after = " The built-in command is used again." if params.name in catalogue() else ""
        return f"Remove your command for the agent “{params.name}”?{file}{after}"
    words = check(params.name, params.agent.line, params.agent.env)
    names = ", ".join(params.agent.env)
    having = f" with the variables {names}" if names else ""
    missing = "" if has_program(words) else f" {words[0]} is not on this machine, so the agent can't start yet."
    line = shlex.join(words)
    excerpt = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… ({len(line):,} characters)"
    return (
        f"Start the agent “{params.name}” with “{excerpt}”{having}? "
        f"New conversations run this program with your permissions.{missing}"
    )


class AgentLaunch(Wire, frozen=True, kw_only=True):
    """The start command of an agent, from the catalogue or the user's own.

    Attributes:
        name: Its name.
        title: Its name for people.
        line: Its command, as typed in a shell.
        variables: The names of the variables that the user's description sets; their values may be secret.
        file: The file of the user's description; absent for a catalogue agent that the user has not changed.
        state: A value that changes whenever that file does.
        problem: The reason why the file cannot be read.
    """

    name: str
    title: str
    line: str
    variables: tuple[str, ...]
    file: str | None = None
    state: str | None = None
    problem: str | None = None


def agent_commands() -> tuple[AgentLaunch, ...]:
    """Returns how agents are started: the user's own first, then the catalogue's; without variables' values."""
    own = own_agents()
    listed = [
        AgentLaunch(
            name=each.name,
            title=each.title,
            line=each.line,
            variables=tuple(each.variables),
            file=str(each.path),
            state=each.state,
            problem=each.problem or None,
        )
        for each in own
    ]
    names = {each.name for each in own}
    specs = sorted(catalogue().values(), key=lambda spec: (spec.rank, spec.name))
    listed += [
        AgentLaunch(name=spec.name, title=spec.title, line=spec.line, variables=())
        for spec in specs
        if spec.name not in names and why_not(spec) is None
    ]
    return tuple(listed)


class OfferedModel(Wire, frozen=True, kw_only=True):
    """A model that an agent offers in an open conversation.

    Attributes:
        agent: The agent's name.
        id: The model's id.
        name: The agent's name for the model.
    """

    agent: str
    id: str
    name: str


def offered_models(host: Host) -> tuple[OfferedModel, ...]:
    models = {
        (model.agent, model.id): model
        for each in host.conversations.values()
        for model in _models(each.session.state.provider, each.session.state.config_options or ())
    }
    return tuple(models.values())


def _models(agent: str, options: Any) -> Iterator[OfferedModel]:
    """What a config option of the category ``model`` offers, in groups or not; ACP's shapes, as they were sent."""
    for option in options:
        if not isinstance(option, dict) or option.get("category") != "model":
            continue
        for choice in option_choices(option.get("options")):
            if isinstance(value := choice.get("value"), str):
                yield OfferedModel(agent=agent, id=value, name=str(choice.get("name") or value))


@request("changeSkillTrust")
async def change_skill_trust(
    asker: Asker[Host],
    *,
    action: Literal["trust", "refuse", "revoke"],
    package: Annotated[str, msgspec.Meta(min_length=1, max_length=200)],
    digest: Annotated[str, msgspec.Meta(max_length=100)] = "",
) -> None:
    """Trust the skills of an installed package for the user, refuse them, or revoke the trust.

    The choice applies to what the user saw: if the skills have changed since, nothing is chosen.

    Args:
        action: The choice; ``refuse`` and ``revoke`` are remembered, and the user is not asked again for that version.
        package: The distribution's name.
        digest: The `digest` of the offer that the user saw; not needed to revoke.
    """
    try:
        await asyncio.to_thread(decide, action, package, shown=digest)
    finally:  # also after an error: the shown text may be old
        for each in asker.host.conversations.values():
            each.show_customizations()
