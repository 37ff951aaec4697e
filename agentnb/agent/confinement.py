"""Confinement: which agents are confined, what a confined agent can reach, and which accesses it was refused."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from agentnb.agent.elsewhere import checked_hosts, host_and_port, is_allowed
from agentnb.errors import AgentStartFailed, UsageError
from agentnb.plugin_registry import plugins

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agentnb.ports import Confiner

LONGEST_TEXT = 20_000
"""Characters that are read from the end of a text."""
MOST_REFUSED = 20
"""The most accesses that are reported."""
_REMEDY = (
    "Give the folder in directories=[…] if it needs that, or name it in [confinement] of the agent's own file "
    "(agentnb/agents), or start the agent with confine=False."
)
_HOST_REMEDY = "Add the host to network=[…] if it needs that, or give network='all'."
_LONGEST_LINE = 2_000
_REFUSALS = (
    "permission denied",
    "read-only file",
    "eacces",
    "operation not permitted",
    "eperm",
    "permissionerror",
    "erofs",
)
_START_UP = frozenset(
    f"~/{name}" for name in (".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile")
)
"""Files that nearly every shell reads when it starts: a refused read of one says nothing about the agent."""
_WRITES = ("create", "write", "mkdir", "touch", "remove", "unlink", "rename", "rm:", "mv:")
_SHELL = re.compile(r"^\s*/[^\s:]{1,500}:(?: line)? \d+: ")
"""The beginning of a shell's error message; it names the shell, although the shell was not refused."""
_PATH = re.compile(r"(?<![\w./~])(?:~|\.\.)?/[^\s'\"`:;,()<>|]{1,500}")


class RefusedAccess(NamedTuple):
    path: str
    what: str


class FileLimits(Protocol):
    """The files and folders that a confined agent may use; the first that it may write is its workspace."""

    @property
    def read(self) -> tuple[str, ...]: ...

    @property
    def write(self) -> tuple[str, ...]: ...


def refused_accesses(text: str, limits: FileLimits, home: str) -> tuple[RefusedAccess, ...]:
    """The refused accesses reported in *text* that *limits* do not allow, each once."""
    accesses = dict.fromkeys(_refused(text[-LONGEST_TEXT:], limits, home))
    return tuple(accesses)[:MOST_REFUSED]


def remedy_of(refused: Iterable[str]) -> str:
    """Returns what to do if a confined agent needs what was refused."""
    is_host = {each.startswith("connecting to ") for each in refused}
    return " ".join(text for of_hosts, text in ((False, _REMEDY), (True, _HOST_REMEDY)) if of_hosts in is_host)


def kept_from(refused: Iterable[RefusedAccess]) -> str:
    """Returns what an agent that could not start was denied, and what to do; '' if nothing was refused."""
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


Confining: TypeAlias = bool | Literal["no network"] | tuple[str, ...]
"""A setting of confinement: confined or not, confined without a network, or confined with only these hosts."""
EVERY = "*"
"""The name that means every agent in the table ``[agents]`` of a policy file."""
_HINT = 'Write true, false, "no network", or a list of the only hosts, such as ["pypi.org", "*.example.org"].'


class ConfinementChoice(NamedTuple):
    """The confinement that was chosen for an agent, and who chose it."""

    network: Network | None
    is_unasked: bool = False


def confinement_choice(
    choices: Iterable[Confining | None], project: Confining | None = None, *, unasked: bool
) -> ConfinementChoice:
    """The network that an agent is confined to, if it is confined."""
    places = [*choices]
    is_unasked = unasked and not project and all(each is None for each in places)
    return ConfinementChoice("all" if is_unasked else network_left(places, project), is_unasked)


def checked_confining(choice: object) -> Confining:
    """Returns *choice*, a file's value for ``confine``; raises if it is not valid."""
    if isinstance(choice, bool):
        return choice
    if choice == "no network":
        return "no network"
    if isinstance(choice, (list, tuple)):
        return checked_hosts(choice)
    raise UsageError(f"confine is {choice!r}.", hint=_HINT)


def network_left(choices: Iterable[Confining | None], project: Confining | None = None) -> Network | None:
    """Returns the network access left to an agent; None if it is not confined."""
    chosen = next((each for each in choices if each is not None), False)
    return narrower(_network(chosen), _network(project or False))


def narrower(one: Network | None, other: Network | None) -> Network | None:
    """The narrower of two network accesses; for two lists of hosts, the hosts that both allow."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        both = [each for each in one if _covers(other, each)] + [each for each in other if _covers(one, each)]
        return tuple(dict.fromkeys(both)) or "none"
    return max(one, other, key=_rank)


def _covers(hosts: tuple[str, ...], pattern: str) -> bool:
    """True if *hosts* allow all that *pattern* does."""
    name, port = host_and_port(pattern.removeprefix("*."))
    host = pattern.partition(":")[0] if pattern.startswith("*.") else name
    every_port = (each for each in hosts if port is not None or host_and_port(each.removeprefix("*."))[1] is None)
    return pattern in hosts or is_allowed(every_port, host, port or 0)


def tighter(one: Confining | None, other: Confining | None) -> Confining | None:
    """The tighter of two settings; None if neither is set."""
    if one is None or other is None:
        return other if one is None else one
    left = narrower(_network(one), _network(other))
    return left if isinstance(left, tuple) else {None: False, "all": True, "none": "no network"}[left]  # type: ignore[return-value]


def confining_of(agent: str, confine: Mapping[str, Confining]) -> Confining | None:
    """The setting for *agent* in *confine*: the tighter of those for its name and for every agent (``*``)."""
    return tighter(confine.get(agent), confine.get(EVERY))


def required_network(agent: str, confine: Mapping[str, Confining]) -> Network | None:
    """The widest network access that *confine* allows *agent*; None if it need not be confined."""
    return _network(confining_of(agent, confine) or False)


def _rank(network: Network | None) -> int:
    return 2 if isinstance(network, tuple) else (None, "all", (), "none").index(network)


def _network(choice: Confining) -> Network | None:
    if isinstance(choice, bool):
        return "all" if choice else None
    return choice if isinstance(choice, tuple) else "none"


Network: TypeAlias = Literal["all", "none"] | tuple[str, ...]
"""The network access of a confined agent; hosts are as :func:`agentnb.agent.elsewhere.checked_hosts` returns them."""

TRIED = ("Landlock", "bubblewrap")
"""The ways of confinement that are used if no setting chooses one: these are known to work."""
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
        """Returns a sentence on why the agent is not confined here by default; '' if it is."""
        bus = Path(env.get("XDG_RUNTIME_DIR") or os.devnull) / "bus"
        if self.keyring and (env.get("DBUS_SESSION_BUS_ADDRESS") or os.path.lexists(bus)):
            return "Its login may be in the system's keyring, which it cannot reach when confined."
        return self.unless_asked


class Confine(msgspec.Struct, frozen=True, kw_only=True):
    network: Network = "all"
    directories: tuple[str, ...] = ()
    sockets: bool = False
    started: tuple[tuple[str, ...], ...] = ()


def way_here() -> tuple[str | None, str]:
    """Returns what can confine an agent here, or None and the reason nothing can."""
    confiner: Confiner | None = plugins().first("confiners")
    return (None, _NO_PLUGIN) if confiner is None else confiner.way()


def unchecked_here() -> str:
    """Returns, in words, what confinement does not check here but does elsewhere; '' if nothing."""
    confiner: Confiner | None = plugins().first("confiners")
    return "" if confiner is None else confiner.unchecked()


def demand_confiner() -> Confiner:
    """Returns the plug-in that confines agents; raises if there is none."""
    confiner: Confiner | None = plugins().first("confiners")
    if confiner is None:
        message = f"The agent cannot be confined: {_NO_PLUGIN}."
        raise AgentStartFailed(message, hint="Turn on the plug-in `sandbox`, or choose confine=False.")
    return confiner


def is_confined_unasked(needs: Needs | None) -> bool:
    """True if an agent is confined when no setting says anything about it."""
    return needs is not None and not needs.objection() and way_here()[0] in TRIED


def how_to_confine(needs: Needs | None) -> str:
    """Returns the text for an unconfined agent: what it can do, why it is unconfined, and how to confine it here."""
    way, why = way_here()
    can = "It can read and change what you can."
    if way is None:
        return f"{can} It cannot be confined here: {why}."
    how = "Confine agents in the settings, or confine=True, keeps it in its workspace"
    if needs is None:
        unknown = "It is not known which of its own files it needs; its description says so in [confinement]."
        return f"{can} {unknown} {how}."
    if why := needs.objection():
        return f"{can} {why} {how} anyway."
    untried = "" if way in TRIED else f" {way} can confine it, but has not been tested."
    return f"{can}{untried} {how}."
