"""Confinement: an agent and all that it starts can read and change only what they need."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from agentnb.errors import AgentStartFailed
from agentnb.plugin_registry import plugins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.ports import Confiner

Network: TypeAlias = Literal["all", "none"] | tuple[str, ...]
"""What a confined agent gets of the network; hosts are as :func:`agentnb.agent.network_hosts.checked_hosts` has."""

TRIED = ("Landlock", "bubblewrap")
"""What confines agents where nobody has asked for that: these have been seen to work."""
NEVER_CHECKED = "when your other files change (inotify); your other programs' command lines"
_NO_PLUGIN = "no plug-in that confines agents is loaded (`agentnb plugins` says why)"


class Needs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The paths and hosts that the catalogue allows a confined agent, besides system, install and workspace."""

    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    sockets: bool = False
    variables: tuple[str, ...] = ()
    keyring: bool = False
    unless_asked: str = ""

    def objection(self, env: Mapping[str, str] = os.environ) -> str:
        """Returns why it is not confined here where nobody asks for that, in a sentence; empty: it is."""
        bus = Path(env.get("XDG_RUNTIME_DIR") or os.devnull) / "bus"
        if self.keyring and (env.get("DBUS_SESSION_BUS_ADDRESS") or os.path.lexists(bus)):
            return "Its login may be in the system's keyring, which it cannot reach when confined."
        return self.unless_asked


class Confine(msgspec.Struct, frozen=True, kw_only=True):
    """The confinement of one agent."""

    network: Network = "all"
    directories: tuple[str, ...] = ()
    sockets: bool = False
    started: tuple[tuple[str, ...], ...] = ()


def way_here() -> tuple[str | None, str]:
    """Returns what can confine an agent here; None and why nothing can."""
    confiner: Confiner | None = plugins().first("confiners")
    return (None, _NO_PLUGIN) if confiner is None else confiner.way()


def unchecked_here() -> str:
    """Returns what confinement does not look at here but does elsewhere, in words; empty: nothing."""
    confiner: Confiner | None = plugins().first("confiners")
    return "" if confiner is None else confiner.unchecked()


def demand_confiner() -> Confiner:
    """The plug-in that confines agents."""
    confiner: Confiner | None = plugins().first("confiners")
    if confiner is None:
        message = f"The agent cannot be confined: {_NO_PLUGIN}."
        raise AgentStartFailed(message, hint="Turn on the plug-in `sandbox`, or choose confine=False.")
    return confiner


def is_confined_unasked(needs: Needs | None) -> bool:
    """True if an agent is confined where nobody has said anything about it."""
    return needs is not None and not needs.objection() and way_here()[0] in TRIED


def how_to_confine(needs: Needs | None) -> str:
    """What to say of an agent that is not confined: what it can do, why that is so, and how it is limited here."""
    way, why = way_here()
    can = "It can read and change what you can."
    if way is None:
        return f"{can} It cannot be confined here: {why}."
    how = "Confine agents in the settings, or confine=True, keeps it in its workspace"
    if needs is None:
        return (
            f"{can} It is not known which of its own files it needs; its description says so in [confinement]. {how}."
        )
    if why := needs.objection():
        return f"{can} {why} {how} anyway."
    untried = "" if way in TRIED else f" {way} can confine it, but has not been tested."
    return f"{can}{untried} {how}."
