"""The modes and the config options of a session, as ACP offers them."""

from __future__ import annotations

from typing import Any, Literal

from agentnb.plugins.acp_agent.schema import Acp, always, meta_field


class Mode(Acp):
    """A mode, as ACP offers it."""

    id: str
    name: str
    description: str


class Modes(Acp):
    """The modes, and the one that a session is in."""

    current_mode_id: str
    available_modes: list[Mode]


class SelectOption(Acp):
    """A value to choose, as ACP offers it."""

    value: str
    name: str
    description: str


class SelectGroup(Acp):
    """Values to choose under a heading."""

    group: str
    name: str
    options: list[SelectOption]


class Select(Acp):
    """A choice, as ACP offers it."""

    current_value: str
    options: list[SelectOption] | list[SelectGroup]
    id: str
    name: str
    description: str
    category: str | None = None
    type: Literal["select"] = always("select")
    meta: dict[str, Any] | None = meta_field()


class Switch(Acp):
    """A switch, as ACP offers it to clients that know switches."""

    current_value: bool
    id: str
    name: str
    description: str
    type: Literal["boolean"] = always("boolean")


ConfigOption = Select | Switch
