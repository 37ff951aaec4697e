"""The health of a conversation's agent, as far as it shows from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agentnb.agent.confinement import remedy_of

if TYPE_CHECKING:
    from agentnb.host.conversation import Conversation


class Health(msgspec.Struct, frozen=True, kw_only=True):
    state: str
    pid: int | None = None
    version: str | None = None
    seconds: float | None = None
    tabs: int = 0
    deaths: int = 0
    silent: float | None = None
    stray: int = 0
    message: str = ""
    confined: str = ""
    refused: str = ""
    stderr: str = ""

    def __repr__(self) -> str:
        fields = {field: getattr(self, field) for field in self.__struct_fields__}
        return "\n".join(
            f"{field:8}  {_indented(value)}".rstrip() for field, value in fields.items() if value is not None
        )


def examined(conversation: Conversation) -> Health:
    """Returns the health of the agent of *conversation*; call it on the host's thread."""
    channels, lifecycle, configuration = conversation.channels, conversation.lifecycle, conversation.configuration
    agent, process = lifecycle.agent, channels.session.state.agent_process
    pool, now = conversation.host.agents, conversation.host.loop.time()
    heard = None if conversation.turns.settled else conversation.inactivity.since
    return Health(
        state="idle" if process is None else process.state,
        pid=agent.pid if agent is not None else None,
        version=agent.version if agent is not None else None,
        seconds=round(now - agent.since, 1) if agent is not None else None,
        tabs=pool.tabs(configuration),
        deaths=pool.history(configuration).deaths,
        silent=None if heard is None else round(now - heard, 1),
        stray=agent.connection.stray if agent is not None else 0,
        message=(process.message if process is not None else None) or "",
        confined="" if agent is None else agent.confined or f"no. {lifecycle.how_to_confine}",
        refused=f"{', '.join(lifecycle.refused)}. {remedy_of(lifecycle.refused)}" if lifecycle.refused else "",
        stderr=agent.process.stderr_tail if agent is not None and agent.process is not None else "",
    )


def _indented(value: object) -> str:
    lines = str(value).splitlines()
    return "\n".join([lines[0], *(f"{'':10}{line}" for line in lines[1:])]) if lines else "-"
