"""The URIs of channels: AHP's names for them and the host's own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from agentnb.host.channels import CHANGES, ROOT

if TYPE_CHECKING:
    from agentnb.host.conversation import Conversation
    from agentnb.host.host import Host

TERMINALS = "/terminals"
"""What stands behind a session's URI in those of its terminals, which are channels of AHP only."""

_AHP = re.compile(r"ahp-(session|chat|changeset|terminal):/([A-Za-z0-9_-]{1,64})(?:/([A-Za-z0-9_.:-]{1,200}))?")
_OWN = re.compile(r"[^/]+:/([^/]+)(/chat|/changes|/terminals)?(?:/([^/]+))?")
_SCHEMES = {None: "session", "/chat": "chat", CHANGES: "changeset", TERMINALS: "terminal"}
_ENDINGS = {"session": "", "chat": "/chat", "changeset": CHANGES, "terminal": TERMINALS}


class AhpChannel(NamedTuple):
    """The channel that an AHP URI names."""

    kind: str
    tab_id: str
    member: str | None


def to_ahp(uri: str) -> str:
    """The host's *uri* as AHP names that channel; what is no channel's stays as it is."""
    match = None if uri == ROOT else _OWN.fullmatch(uri)
    if match is None:
        return uri
    tab_id, ending, member = match.groups()
    return f"ahp-{_SCHEMES[ending]}:/{tab_id}" + (f"/{member}" if member else "")


def place_of(uri: str) -> AhpChannel | None:
    """Returns what the AHP *uri* names; None where it has not the form of one."""
    match = _AHP.fullmatch(uri)
    if match is None:
        return None
    kind, tab_id, member = match.groups()
    if kind in {"session", "chat"} and member is not None:
        return None
    if kind == "terminal" and member is None:
        return None
    return AhpChannel(kind, tab_id, member)


def conversation_of(host: Host, place: AhpChannel) -> Conversation | None:
    """The open conversation that *place* is in."""
    return next((each for each in host.conversations.values() if each.tab_id == place.tab_id), None)


def from_ahp(host: Host, uri: str) -> str | None:
    """The host's name of the channel that AHP calls *uri*; None where no open conversation has it."""
    if uri == ROOT:
        return ROOT
    place = place_of(uri)
    conversation = None if place is None else conversation_of(host, place)
    if place is None or conversation is None:
        return None
    return conversation.session.uri + _ENDINGS[place.kind] + (f"/{place.member}" if place.member else "")
