"""Confinement: an agent and all that it starts can read and change only what they need.

On Linux the agent's process closes itself in with Landlock and seccomp just before it becomes the agent
(:mod:`agentnb.sandbox.confined_program`); where the kernel is too old for that, bubblewrap does it, if it is installed;
on macOS ``sandbox-exec``. It limits what an agent does without asking, and the commands that it runs through agentnb;
files that it asks agentnb to write follow the policy alone.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from agentnb.errors import AgentStartFailed
from agentnb.folders import home
from agentnb.sandbox import confined_program, landlock, seccomp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agentnb.agent.network_proxy import NetworkProxy

Network: TypeAlias = Literal["all", "none"] | tuple[str, ...]
"""What a confined agent gets of the network; hosts are as :func:`agentnb.agent.network_hosts.checked_hosts` has."""
Way: TypeAlias = Literal["Landlock", "bubblewrap", "sandbox-exec"]

OLDEST_LANDLOCK = landlock.SINCE["truncation"]
"""Before this version whoever may read a file may empty it."""
_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/snap", "/sys", "/proc"),
    *("/run/systemd/resolve", "/run/resolvconf", "/run/current-system", "/var/lib/ca-certificates", "/home/linuxbrew"),
    *("/System", "/Library", "/Applications", "/private/etc", "/private/var/db"),
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts")
_GIT = ("~/.gitconfig", "~/.config/git/config", "~/.config/git/ignore", "~/.config/git/attributes")
"""What git reads of the user's: it refuses to work where it may not. Its stored passwords are in other files."""
_RUNNER_STATE = {"npx": ("~/.npm/",), "uvx": ("~/.cache/uv/", "~/.local/share/uv/")}
_MOST_INTERPRETER = 200


class Needs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an agent needs besides the system, its install and the workspace; in the catalogue.

    Args:
        writes: Files and folders of its own that it changes: logins, settings, caches. ``~`` is the home folder; a
            folder ends with ``/`` and is made where it is missing.
        reads: Files and folders that it only reads.
        sockets: Whether it needs Unix sockets that have a path.
    """

    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    sockets: bool = False


class Confine(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent is to be confined.

    Args:
        network: ``"all"``, ``"none"``, or the only hosts.
        directories: More folders that it may change, besides the workspace.
        sockets: Whether it gets Unix sockets: the kernel's tools are reached by one.
    """

    network: Network = "all"
    directories: tuple[str, ...] = ()
    sockets: bool = False


class Confinement(msgspec.Struct, frozen=True, kw_only=True):
    """What a confined process may do.

    Args:
        way: What confines it.
        read: What it may read and run.
        write: What it may change, too.
        listed: Folders whose names it may read, but not their files.
        network: ``"all"``, ``"none"``, or the only hosts.
        proxy: How the proxy for these hosts is reached, for :mod:`agentnb.sandbox.confined_program`.
        sockets: Whether it may make Unix sockets.
        shown: What is said of it: where it may write.
        version: Landlock's version; 0 for the other ways.
    """

    way: Way
    read: tuple[str, ...]
    write: tuple[str, ...]
    listed: tuple[str, ...] = ()
    network: Network = "all"
    proxy: str = ""
    sockets: bool = False
    shown: tuple[str, ...] = ()
    version: int = 0

    @property
    def summary(self) -> str:
        """What it is confined to, in a line."""
        hosts = "" if isinstance(self.network, str) else f"; of the network only {', '.join(self.network)}"
        network = "; no network" if self.network == "none" else hosts
        return f"by {self.way}: it writes only in {', '.join(self.shown)}{network}"

    def command(self, command: Sequence[str]) -> list[str]:
        """The command that runs *command* confined."""
        if self.way == "Landlock":
            program = [sys.executable, "-I", "-S", confined_program.__file__]
            paths = [word for each in (self.read, self.write, self.listed) for word in (*each, confined_program.END)]
            network = self.network if isinstance(self.network, str) else self.proxy
            return [*program, network, "sockets" if self.sockets else "", *paths, *command]
        if self.way == "bubblewrap":
            return [*bubblewrap(self), *command]
        return ["sandbox-exec", "-p", profile(self), *command]


def way_here(version: int | None = None) -> tuple[Way | None, str]:
    """What can confine a process here; None and why nothing can.

    Args:
        version: Landlock's version; the kernel's where None.
    """
    if platform.system() == "Linux":
        found = landlock.abi() if version is None else version
        if found >= OLDEST_LANDLOCK and seccomp.is_available():
            return "Landlock", ""
        if shutil.which("bwrap") is not None:
            return "bubblewrap", ""
        needed = f"{OLDEST_LANDLOCK} is needed (Linux 6.2)"
        return None, f"the kernel's Landlock has version {found}, {needed}, and bubblewrap is not installed"
    if platform.system() == "Darwin" and shutil.which("sandbox-exec") is not None:
        return "sandbox-exec", ""
    return None, f"nothing here can do it ({platform.system()})"


def how_to_confine(*, is_known: bool) -> str:
    """What to say of an agent that is not confined: what it can do, and how that is limited here.

    Args:
        is_known: Whether the catalogue has what the agent needs.
    """
    way, why = way_here()
    can = "It can read and change what you can."
    if way is None:
        return f"{can} It cannot be confined here: {why}."
    named = "" if is_known else ", once its description names the settings of its own that it writes"
    return f"{can} Confine agents in the settings, or confine=True, keeps it in its workspace{named}."


def confinement_of(
    needs: Needs,
    program: str,
    cwd: Path,
    asked: Confine,
    env: Mapping[str, str],
    *,
    runner: str = "",
    proxy: NetworkProxy | None = None,
) -> Confinement:
    """How an agent is confined here; folders of its own that are missing are made.

    Args:
        needs: What it needs.
        program: Where its program is.
        cwd: The workspace.
        asked: How it is to be confined.
        env: Its environment.
        runner: ``"npx"`` or ``"uvx"`` where one of these starts it.
        proxy: What leads to the only hosts that it may reach; None where *asked* names none.

    Raises:
        AgentStartFailed: If nothing can confine it here, or not to single hosts.
    """
    way, why = way_here()
    if way is None:
        message = f"The agent cannot be confined: {why}."
        raise AgentStartFailed(message, hint="Leave confine=True out, or run it in a container.")
    if proxy is not None and way != "Landlock":
        message = f"The agent cannot be confined to single hosts: {way} can only leave the network, or take it."
        raise AgentStartFailed(message, hint='Give network="none" or "all", or use Linux 6.7 or newer.')
    folder = home(env)
    own = [_expanded(each, folder) for each in (*needs.writes, *_RUNNER_STATE.get(runner, ()))]
    for path, written in zip(own, (*needs.writes, *_RUNNER_STATE.get(runner, ())), strict=True):
        if written.endswith("/"):
            Path(path).mkdir(parents=True, exist_ok=True)
    shown = [str(cwd), *asked.directories, *own]
    package = Path(__file__).parent.parent
    read = [*_SYSTEM, *_python(), str(package), *_install(program, env, folder)]
    read += [_expanded(each, folder) for each in (*_GIT, *needs.reads)]
    return Confinement(
        way=way,
        read=_real(read),
        write=_real([*shown, env.get("TMPDIR", ""), *_DEVICES]),
        listed=_real([str(package.parent)]),
        network=asked.network,
        proxy="" if proxy is None else proxy.address,
        sockets=needs.sockets or asked.sockets,
        shown=tuple(_shortened(each, folder) for each in shown),
        version=landlock.abi() if way == "Landlock" else 0,
    )


def bubblewrap(confinement: Confinement) -> list[str]:
    """The beginning of the command by which bubblewrap confines.

    Example:
        >>> bubblewrap(Confinement(way="bubblewrap", read=("/usr",), write=("/ws",)))[:4]
        ['bwrap', '--die-with-parent', '--unshare-pid', '--unshare-ipc']
    """
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
    return [*words, "--"]


def profile(confinement: Confinement) -> str:
    """The profile by which macOS's ``sandbox-exec`` confines.

    Example:
        >>> "(deny default)" in profile(Confinement(way="sandbox-exec", read=("/usr",), write=("/ws",)))
        True
    """
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


def _python() -> list[str]:
    return [sys.prefix, sys.base_prefix, sys.exec_prefix]


def _install(program: str, env: Mapping[str, str], folder: Path) -> list[str]:
    """Where the program, what runs it, and what it is installed with are."""
    found: list[str] = []
    for each in (program, *_interpreters(program, env)):
        for path in {os.path.abspath(each), os.path.realpath(each)}:  # noqa: PTH100 - a link counts, too
            beside, _, within = path.partition("/node_modules/")
            found += [f"{beside}/node_modules"] if within else []
            found += _prefix(Path(path).parent, folder)
    paths = [Path(each) for each in env.get("PATH", "").split(os.pathsep)]
    paths += [each.parent for each in paths if each.name == "shims"]  # pyenv and its like: these run what lies beside
    found += [str(each) for each in paths if _is_narrow(each, folder)]
    return found


def _prefix(folder: Path, own: Path) -> list[str]:
    """The folder of a program, and where that is ``bin`` what belongs to it."""
    above = [folder.parent] if folder.name == "bin" and folder.parent.name != ".local" else []
    return [str(each) for each in (folder, *above) if _is_narrow(each, own)]


def _is_narrow(folder: Path, own: Path) -> bool:
    """Whether a folder holds programs, and is not the home folder or one above it."""
    return folder.is_absolute() and folder != own and folder not in own.parents


def _interpreters(program: str, env: Mapping[str, str]) -> Iterable[str]:
    """What runs a script (its ``#!``)."""
    try:
        with Path(program).open("rb") as file:
            first = file.readline(_MOST_INTERPRETER)
    except OSError:
        return []
    if not first.startswith(b"#!"):
        return []
    words = os.fsdecode(first[2:]).split()
    named = words[1:2] if words and words[0].endswith("/env") else words[:1]
    return [found for each in named if (found := shutil.which(each, path=env.get("PATH"))) is not None]


def _expanded(path: str, folder: Path) -> str:
    return str(folder / path[2:]) if path.startswith("~/") else path


def _shortened(path: str, folder: Path) -> str:
    return f"~{path[len(str(folder)) :]}" if path.startswith(f"{folder}/") else path


def _real(paths: Iterable[str]) -> tuple[str, ...]:
    found = (os.path.realpath(path) for path in paths if path)
    return tuple(dict.fromkeys(path for path in found if os.path.lexists(path)))
