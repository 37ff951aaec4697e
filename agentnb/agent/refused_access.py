"""Accesses that a confined agent was refused, as its programs tell of them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


LONGEST_TEXT = 20_000
"""Characters of the end of a text that are read."""
MOST_REFUSED = 20
"""How many accesses are told at most."""
_REMEDY = (
    "Give the folder in directories=[…] if it needs that, or name it in [confinement] of the agent's own file "
    "(agentnb/agents), or start the agent with confine=False."
)
_HOST_REMEDY = "Add the host to network=[…] if it needs that, or give network='all'."
_LONGEST_LINE = 2_000
_REFUSALS = (
    "permission denied",
    "read-only file system",
    "eacces",
    "operation not permitted",
    "eperm",
    "permissionerror",
    "read-only file",
    "erofs",
)
_START_UP = frozenset(
    f"~/{name}" for name in (".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile")
)
"""What nearly every shell reads at its start: that it could not says nothing of the agent."""
_WRITES = ("create", "write", "mkdir", "touch", "remove", "unlink", "rename", "rm:", "mv:")
_SHELL = re.compile(r"^\s*/[^\s:]{1,500}:(?: line)? \d+: ")
"""How a shell begins its errors: it is not the shell that was refused."""
_PATH = re.compile(r"(?<![\w./~])(?:~|\.\.)?/[^\s'\"`:;,()<>|]{1,500}")


class RefusedAccess(NamedTuple):
    """One access that the confinement did not allow."""

    path: str
    what: str


class FileLimits(Protocol):
    """The files and folders that a confined agent may use; the first that it may write is its workspace."""

    @property
    def read(self) -> tuple[str, ...]:
        """Returns what it may read."""
        ...

    @property
    def write(self) -> tuple[str, ...]:
        """Returns what it may change."""
        ...


def refused_accesses(text: str, limits: FileLimits, home: str) -> tuple[RefusedAccess, ...]:
    """The accesses that *text* tells were refused and that *limits* do not allow, each once."""
    accesses = dict.fromkeys(_refused(text[-LONGEST_TEXT:], limits, home))
    return tuple(accesses)[:MOST_REFUSED]


def remedy_of(refused: Iterable[str]) -> str:
    """Returns what to do where a confined agent needs what was refused."""
    is_host = {each.startswith("connecting to ") for each in refused}
    return " ".join(text for of_hosts, text in ((False, _REMEDY), (True, _HOST_REMEDY)) if of_hosts in is_host)


def kept_from(refused: Iterable[RefusedAccess]) -> str:
    """Returns what was refused to an agent that could not start, and what to do; empty where nothing was."""
    refusals = [f"{what} {path}" for path, what in refused][:MOST_REFUSED]
    return f"It is confined and was denied {', '.join(refusals)}. {remedy_of(refusals)}" if refusals else ""


def _refused(text: str, limits: FileLimits, home: str) -> Iterator[RefusedAccess]:
    workspace = limits.write[0] if limits.write else "/"
    for line in text.splitlines():
        short = _SHELL.sub("", line[:_LONGEST_LINE])
        if not any(word in short.lower() for word in _REFUSALS):
            continue
        writes = any(word in short.lower() for word in _WRITES)
        for written in _PATH.findall(short):
            path = os.path.normpath(os.path.join(workspace, _expanded(written, home)))  # noqa: PTH118 - as text
            if not writes and _shortened(path, home) in _START_UP:
                continue
            may_read = _is_within(path, limits.read)
            if not _is_within(path, limits.write) and (writes or not may_read):
                yield RefusedAccess(_shortened(path, home), "writing" if writes else "using")


def _is_within(path: str, folders: tuple[str, ...]) -> bool:
    real = os.path.realpath(path)
    return any(each in (real, "/") or real.startswith(f"{each}/") for each in folders)


def _expanded(path: str, home: str) -> str:
    return f"{home}{path[1:]}" if path.startswith("~") else path


def _shortened(path: str, home: str) -> str:
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path
