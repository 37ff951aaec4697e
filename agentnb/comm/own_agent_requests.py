"""The page's requests about the user's own agents: their commands and variables; and the models that agents offer.

A command is a program that is run with the user's rights: it counts only once the user has confirmed the sentence that
has it. Only files in the user's own folder are written, never a project's.
"""

from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.agent.catalog import catalogue
from agentnb.agent.own_agents import check, has_program, own_agents, remove_agent, write_agent
from agentnb.comm import settings_messages as sm
from agentnb.host.host import agent_infos

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentnb.host.host import Host

_LONGEST_LINE = 300


class OwnAgentRequests:
    """Answers them, on the host's thread.

    Args:
        host: Who lists the agents.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    async def change(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002 - same for every client
        """The request ``changeOwnAgent``."""
        params = msgspec.json.decode(raw, type=sm.ChangeOwnAgentParams)
        question = await asyncio.to_thread(_question, params)
        if params.confirmed != question:
            return {"confirm": question}
        await asyncio.to_thread(_write, params)
        self._host.take_agents(await asyncio.to_thread(agent_infos))
        return {}


def _write(params: sm.ChangeOwnAgentParams) -> None:
    if params.agent is None:
        remove_agent(params.name, state=params.state)
    else:
        write_agent(params.name, params.agent.line, params.agent.env, state=params.state)


def _question(params: sm.ChangeOwnAgentParams) -> str:
    if params.agent is None:
        own = next((each for each in own_agents() if each.name == params.name), None)
        file = f" {own.path} is deleted." if own is not None else ""
        after = " The catalogue's own description counts again then." if params.name in catalogue() else ""
        return f"Remove your description of the agent “{params.name}”?{file}{after}"
    words = check(params.name, params.agent.line, params.agent.env)
    names = ", ".join(params.agent.env)
    having = f" with the variables {names}" if names else ""
    missing = "" if has_program(words) else f" {words[0]} is not on this machine: the agent does not start until it is."
    line = shlex.join(words)
    shown = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… ({len(line):,} characters)"
    return (
        f"Start the agent “{params.name}” by “{shown}”{having}? New conversations run this program, with your rights."
        f"{missing}"
    )


def listed_agents() -> list[dict[str, Any]]:
    """How agents are started, for the page: the user's own first, then the catalogue's; without variables' values."""
    own = own_agents()
    listed = [
        {
            "name": each.name,
            "title": each.title,
            "line": each.line,
            "variables": list(each.variables),
            "file": str(each.path),
            "state": each.state,
            **({"problem": each.problem} if each.problem else {}),
        }
        for each in own
    ]
    names = {each.name for each in own}
    specs = sorted(catalogue().values(), key=lambda spec: (spec.rank, spec.name))
    return listed + [
        {"name": spec.name, "title": spec.title, "line": shlex.join(spec.command)}
        for spec in specs
        if spec.name not in names
    ]


def offered_models(host: Host) -> list[dict[str, str]]:
    """The models that agents offer in the conversations that are open."""
    found = {
        (model["agent"], model["id"]): model
        for each in host.conversations.values()
        for model in _models(each.session.state.summary.provider, each.session.state.config_options or ())
    }
    return list(found.values())


def _models(agent: str, options: Any) -> Iterator[dict[str, str]]:
    """What a config option of the category ``model`` offers, in groups or not; ACP's shapes, as they were sent."""
    for option in options:
        if not isinstance(option, dict) or option.get("category") != "model":
            continue
        for choice in _choices(option.get("options")):
            if isinstance(value := choice.get("value"), str):
                yield {"agent": agent, "id": value, "name": str(choice.get("name") or value)}


def _choices(options: Any) -> Iterator[dict[str, Any]]:
    for each in options if isinstance(options, (list, tuple)) else ():
        if isinstance(each, dict) and "value" in each:
            yield each
        elif isinstance(each, dict):
            yield from _choices(each.get("options"))
