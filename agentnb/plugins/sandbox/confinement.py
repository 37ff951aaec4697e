"""Confines agents (:class:`agentnb.ports.Confiner`) with the means that the system offers."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from agentnb.agent.confinement import Needs, Network, RefusedAccess, refused_accesses
from agentnb.agent.programs import USER, copy_without_logins
from agentnb.errors import AgentStartFailed
from agentnb.folders import config_folder, data_folder, home
from agentnb.plugins.sandbox import confined_program, landlock, own_mounts, seccomp
from agentnb.plugins.sandbox.jupyter_ports import jupyter_ports
from agentnb.plugins.sandbox.network_proxy import NetworkProxy
from agentnb.plugins.sandbox.readable_paths import confined_variables, readable_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agentnb.agent.confinement import Confine
    from agentnb.ports import AgentStart

Way: TypeAlias = Literal["Landlock", "bubblewrap", "sandbox-exec"]

OLDEST_LANDLOCK = landlock.SINCE["truncation"]
"""The oldest usable version of Landlock: before it, a process that may read a file may also truncate it."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts")
_XDG = (
    ("XDG_CACHE_HOME", "~/.cache/"),
    ("XDG_CONFIG_HOME", "~/.config/"),
    ("XDG_DATA_HOME", "~/.local/share/"),
    ("XDG_STATE_HOME", "~/.local/state/"),
)
_WEB = (80, 443)
"""Ports that agents need for all other hosts, since Landlock cannot refuse a port for one host only."""
_PROBE_SECONDS = 10
_WITHOUT_MOUNTS = "permissions, times and attributes of your other files; your other terminals"
"""Protected only if the process has its own mounts, since Landlock does not cover these."""
_WITHOUT_PORTS = "your Jupyter server's port"
"""Protected by Landlock only from version 4 on (Linux 6.7)."""


class Confinement(msgspec.Struct, frozen=True, kw_only=True):
    """The permissions of a confined process."""

    way: Way
    read: tuple[str, ...]
    write: tuple[str, ...]
    listed: tuple[str, ...] = ()
    network: Network = "all"
    proxy: str = ""
    refused_ports: tuple[int, ...] = ()
    sockets: bool = False
    directories: tuple[str, ...] = ()
    has_settings: bool = False
    unchecked: str = ""

    @property
    def summary(self) -> str:
        writable = ["this folder", *self.directories]
        if self.has_settings:
            writable.append("its own settings")
        *folders, last = writable
        where = f"{', '.join(folders)} and {last}" if folders else last
        hosts = "" if isinstance(self.network, str) else f", and reaches only {', '.join(self.network)}"
        network = ", in a sandbox without network" if self.network == "none" else hosts
        unchecked = f" (not checked on this system: {self.unchecked})" if self.unchecked else ""
        return f"can write only to {where}{network}{unchecked}"

    def command(self, command: Sequence[str]) -> list[str]:
        if self.way == "Landlock":
            program = [sys.executable, "-I", "-S", confined_program.__file__]
            paths = [word for each in (self.read, self.write, self.listed) for word in (*each, confined_program.END)]
            network = self.network if isinstance(self.network, str) else self.proxy
            if network == "all" and self.refused_ports:
                network = f"all;{','.join(map(str, self.refused_ports))}"
            return [*program, network, "sockets" if self.sockets else "", *paths, *command]
        if self.way == "bubblewrap":
            return [*bubblewrap(self), *command]
        return ["sandbox-exec", "-p", profile(self), *command]


def way_here(version: int | None = None) -> tuple[Way | None, str]:
    """Returns what can confine a process here, or None and the reason nothing can."""
    if platform.system() == "Linux":
        version_here = landlock.abi() if version is None else version
        if version_here >= OLDEST_LANDLOCK and seccomp.is_available():
            return "Landlock", ""
        bubblewrap_is, works = bubblewrap_here()
        if works:
            return "bubblewrap", ""
        needed = f"{OLDEST_LANDLOCK} is needed (Linux 6.2)"
        return None, f"the kernel's Landlock has version {version_here}, {needed}, and bubblewrap {bubblewrap_is}"
    if platform.system() == "Darwin" and shutil.which("sandbox-exec") is not None:
        return "sandbox-exec", ""
    return None, f"not supported on this platform ({platform.system()})"


def unchecked_here(way: str | None, *, has_network: bool = True) -> str:
    """Returns, in words, what confinement by *way* does not check here but does elsewhere; '' if nothing."""
    looks_at_ports = way == "Landlock" and landlock.abi() >= landlock.SINCE["TCP"]
    mounts = (_WITHOUT_MOUNTS,) if way == "Landlock" and not _has_mounts_of_its_own() else ()
    ports = (_WITHOUT_PORTS,) if has_network and not looks_at_ports else ()
    return "; ".join((*mounts, *ports))


@lru_cache(maxsize=1)
def _has_mounts_of_its_own() -> bool:
    command = [sys.executable, "-I", "-S", own_mounts.__file__]
    try:
        return subprocess.run(command, capture_output=True, timeout=_PROBE_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def bubblewrap_here() -> tuple[str, bool]:
    """Returns bubblewrap's status here, in words, and True if it works: users may be forbidden to make namespaces."""
    return _bubblewrap(shutil.which("bwrap"))


@lru_cache(maxsize=4)
def _bubblewrap(program: str | None) -> tuple[str, bool]:
    if program is None:
        return "is not installed", False
    command = [program, "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PROBE_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return "does not start", False
    return "cannot make namespaces", done.returncode == 0


def confinement_of(
    needs: Needs,
    program: str,
    cwd: Path,
    request: Confine,
    env: Mapping[str, str],
    *,
    own: Path | None = None,
    proxy: NetworkProxy | None = None,
    by: Way | None = None,
) -> Confinement:
    """Returns the confinement of an agent here; the agent's own folders are made if they are missing."""
    way, why = (by, "") if by is not None else way_here()
    if way is None:
        message = f"The agent cannot be confined: {why}."
        raise AgentStartFailed(message, hint="Leave confine=True out, or run it in a container.")
    if proxy is not None and way != "Landlock":
        message = f"The agent cannot be confined to single hosts: {way} can only allow the network or block it."
        raise AgentStartFailed(message, hint='Give network="none" or "all", or use Linux 6.7 or newer.')
    folder = home(env)
    writes = [_expanded(each, folder, env) for each in needs.writes]
    writes += [f"{Path(value).expanduser()}/" for name in needs.variables if (value := env.get(name))]
    for path in writes:
        if path.endswith("/"):
            with contextlib.suppress(OSError):  # the agent could not create it, either
                Path(path).mkdir(parents=True, exist_ok=True)
    named = dict.fromkeys((str(cwd), *request.directories, *(each.rstrip("/") for each in writes)))
    visible_paths = [each for each in named if own is None or not _is_below(each, own)]
    readable = readable_paths(program, cwd, env, folder, request.started)
    read = [_expanded(each, folder, env) for each in (*readable, *needs.reads)]
    links = _links(read) if way == "bubblewrap" else ()  # it has only mounted paths: /bin may be a link, too
    return Confinement(
        way=way,
        read=(*_real(read), *links),
        write=_real([*visible_paths, *writes, env.get("TMPDIR", ""), "" if own is None else str(own), *_DEVICES]),
        listed=_real([str(Path(__file__).parent.parent.parent.parent)]),
        network=request.network,
        proxy="" if proxy is None else proxy.address,
        refused_ports=tuple(port for port in jupyter_ports() if port not in _WEB) if request.network == "all" else (),
        sockets=needs.sockets or request.sockets,
        directories=tuple(_shortened(each, folder) for each in request.directories),
        has_settings=bool({*visible_paths} - {str(cwd), *request.directories}),
        unchecked=unchecked_here(way, has_network=request.network == "all"),
    )


BY_PORT = " (this system allows no network of its own, so a server elsewhere at the proxy's port is not refused)"
"""Note on hosts that only Landlock restricts: it limits ports, not addresses."""


class ConfinedAgent:
    """One agent that is confined (:class:`agentnb.ports.Confined`): its temporary folder, its proxy, its limits."""

    def __init__(self, env: Mapping[str, str], temporary: str) -> None:
        self.variables: dict[str, str] = {}
        self._home = home(env)
        self._temporary = temporary
        self._proxy: NetworkProxy | None = None
        self._limits = Confinement(way="Landlock", read=(), write=())

    async def begin(self, start: AgentStart, request: Confine) -> None:
        """Make the agent's folders, open its proxy and determine its limits."""
        spec, env = start.spec, {**start.env, "TMPDIR": self._temporary}
        runner = Path(spec.command[0]).name
        own, self.variables = confined_variables(spec.name, Path(self._temporary), start.given, runner=runner)
        self.variables |= copy_without_logins(env, self._home, own) if USER not in start.given else {}
        env |= self.variables
        if not isinstance(request.network, str):
            self._proxy = NetworkProxy(request.network, env)
            await self._proxy.open()
        needs = spec.confinement or Needs()
        self._limits = confinement_of(needs, start.program, start.cwd, request, env, own=own, proxy=self._proxy)

    @property
    def network(self) -> Network:
        return self._limits.network

    @property
    def summary(self) -> str:
        by_port = self._proxy is not None and not self._proxy.has_joined
        return f"{self._limits.summary}{BY_PORT if by_port else ''}"

    def command(self, command: Sequence[str]) -> list[str]:
        return self._limits.command(command)

    def refused(self, text: str) -> tuple[RefusedAccess, ...]:
        hosts = () if self._proxy is None else tuple(self._proxy.refused)
        files = refused_accesses(text, self._limits, str(self._home))
        return (*files, *(RefusedAccess(each, "connecting to") for each in hosts))

    def close(self) -> None:
        shutil.rmtree(self._temporary, ignore_errors=True)
        if self._proxy is not None:
            self._proxy.close()


async def confine(start: AgentStart, request: Confine) -> ConfinedAgent:
    """Confine an agent; see :meth:`agentnb.ports.Confiner.confine`."""
    agent = ConfinedAgent(start.env, tempfile.mkdtemp(prefix="agentnb-agent-"))
    try:
        await agent.begin(start, request)
    except BaseException:
        agent.close()
        raise
    return agent


def bubblewrap(confinement: Confinement) -> list[str]:
    """Returns the beginning of the bubblewrap command that confines."""
    words = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--proc", "/proc", "--dev", "/dev"]
    words += ["--tmpfs", "/tmp"]  # noqa: S108 - of its own
    if confinement.network == "none":
        words.append("--unshare-net")
    mounted = {"/proc", "/dev"}
    for path in confinement.read:
        if path not in mounted and not path.startswith(("/proc", "/dev")):
            words += ["--ro-bind-try", path, path]
    for path in confinement.write:
        if not path.startswith("/dev"):
            words += ["--bind-try", path, path]
    return [*words, "--remount-ro", "/", "--"]


def profile(confinement: Confinement) -> str:
    """Returns the profile for macOS's ``sandbox-exec``: written from its manual page, never run on macOS."""
    read = " ".join(f"(subpath {_quoted(each)})" for each in (*confinement.read, *confinement.write))
    write = " ".join(f"(subpath {_quoted(each)})" for each in confinement.write)
    lines = [
        *("(version 1)", "(deny default)", "(allow process*)", "(allow sysctl-read)", "(allow mach-lookup)"),
        *("(allow signal (target same-sandbox))", "(allow file-read-metadata)", '(allow file-read* (literal "/"))'),
        *(f"(allow file-read* {read})", f"(allow file-write* {write})"),
    ]
    if confinement.network == "all":
        lines.append("(allow network*)")
    return "\n".join(lines)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _expanded(path: str, folder: Path, env: Mapping[str, str]) -> str:
    for name, usual in _XDG:
        if path.startswith(usual) and (value := env.get(name, "")).startswith("/"):
            return f"{value}/{path[len(usual) :]}"
    for word, of in (("{config}/", config_folder), ("{data}/", data_folder)):
        if path.startswith(word):
            return f"{of(env)}/{path[len(word) :]}"
    return f"{folder}/{path[2:]}" if path.startswith("~/") else path


def _is_below(path: str, folder: Path) -> bool:
    return path.startswith(f"{folder}/")


def _shortened(path: str, folder: Path) -> str:
    return f"~{path[len(str(folder)) :]}" if path.startswith(f"{folder}/") else path


def _links(paths: Iterable[str]) -> tuple[str, ...]:
    """Returns those of *paths* that lead elsewhere and are not in a folder that is included anyway."""
    real = _real(paths)
    return tuple(
        path
        for path in dict.fromkeys(paths)
        if os.path.lexists(path) and path not in real and not any(_is_below(path, Path(each)) for each in real)
    )


def _real(paths: Iterable[str]) -> tuple[str, ...]:
    resolved = (os.path.realpath(path) for path in paths if path)
    return tuple(dict.fromkeys(path for path in resolved if os.path.lexists(path)))
