"""The names of channels: another host's, and ours for the same channels here (``<agent>:/<tab id>``, ``/chat`` …)."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from agentnb.errors import UnknownSession
from agentnb.host.channels import CHANGES, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentnb.state import SessionSummary

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class ChannelNames:
    """Goes from one to the other."""

    def __init__(self) -> None:
        self._ours: dict[str, str] = {ROOT: ROOT}
        self._theirs: dict[str, str] = {ROOT: ROOT}

    def __contains__(self, ours: str) -> bool:
        return ours in self._theirs

    def __iter__(self) -> Iterator[str]:
        """Our names; they may change meanwhile."""
        return iter(tuple(self._theirs))

    def keep(self, ours: str, theirs: str) -> None:
        """The other host calls *theirs* what is *ours* here."""
        self._ours[theirs], self._theirs[ours] = ours, theirs

    def forget(self, ours: str) -> None:
        """The channel is no more."""
        self._ours.pop(self._theirs.pop(ours, ""), None)

    def find(self, theirs: str) -> str | None:
        """Our name of what the other host calls *theirs*; None where it has none."""
        return self._ours.get(theirs)

    def ours(self, theirs: str) -> str:
        """Our name of a session that the other host calls *theirs*."""
        own_uri = self._ours.get(theirs)
        if own_uri is None:
            raise UnknownSession(f"The other host does not list {theirs[:200]!r}.")
        return own_uri

    def theirs(self, ours: str) -> str:
        """The other host's name of the channel."""
        their_uri = self._theirs.get(ours)
        if their_uri is None:
            raise UnknownSession(f"The other host has no channel {ours[:200]!r}.")
        return their_uri


def session_of(uri: str) -> str:
    """The session that a channel here belongs to."""
    head, tail, _ = uri.partition(CHANGES)
    return head if tail else uri.removesuffix("/chat")


def our_name(summary: SessionSummary) -> str:
    """``<agent>:/<tab id>``, whatever the other host calls the session: no path is made of it."""
    tail = summary.resource.rpartition("/")[2]
    tab_id = tail if _NAME.fullmatch(tail) else hashlib.sha256(summary.resource.encode()).hexdigest()[:32]
    return f"{summary.provider if _NAME.fullmatch(summary.provider) else 'agent'}:/{tab_id}"
