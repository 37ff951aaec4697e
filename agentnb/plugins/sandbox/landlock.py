"""Landlock: a process gives up access to files, TCP ports, signals and abstract sockets, for itself and its children.

It needs no rights and no namespace. See https://docs.kernel.org/userspace-api/landlock.html. Access that a version of
the kernel cannot refuse is left out (:data:`SINCE`).

Not prevented by any version so far: changing the permissions, owner and times of the user's other files, seeing that a
file exists, and connecting to a Unix socket that has a path (:mod:`agentnb.plugins.sandbox.seccomp` refuses the last).
"""

from __future__ import annotations

import os
import stat
import struct

from agentnb.system_calls import PR_SET_NO_NEW_PRIVS, call, prctl

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
READ = EXECUTE | READ_FILE | READ_DIR
WRITE = ((1 << 16) - 1) & ~(_MAKE_CHAR | _MAKE_BLOCK)
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
BIND_TCP, CONNECT_TCP = 1 << 0, 1 << 1

SINCE = {"files": 1, "moves between folders": 2, "truncation": 3, "TCP": 4, "devices": 5, "signals": 6}
"""The version of Landlock's interface (ABI) since which each kind of access can be refused."""
NEWEST = 7


def abi() -> int:
    """Returns the version of the kernel's Landlock interface; 0 if it has none, or it is switched off."""
    try:
        return call(CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def restrict(
    *,
    read: Iterable[str],
    write: Iterable[str],
    listed: Iterable[str] = (),
    ports: Sequence[int] | None = None,
    refused: Sequence[int] = (),
    version: int | None = None,
) -> int:
    """Confine this process permanently."""
    used = min(abi() if version is None else version, NEWEST)
    if used < 1:
        raise OSError("The Linux kernel has no Landlock.")
    if ports and used < SINCE["TCP"]:
        needed = f"version {SINCE['TCP']} of Landlock (Linux 6.7); the kernel has version {used}"
        raise OSError(f"single hosts need a network of its own, which this system does not allow, or {needed}")
    files = (1 << 16) - 1
    if used < SINCE["devices"]:
        files &= ~IOCTL_DEV
    if used < SINCE["truncation"]:
        files &= ~TRUNCATE
    if used < SINCE["moves between folders"]:
        files &= ~REFER
    network = 0 if used < SINCE["TCP"] else BIND_TCP | CONNECT_TCP if ports is not None else CONNECT_TCP * bool(refused)
    scope = 3 if used >= SINCE["signals"] else 0
    size = 8 if used < SINCE["TCP"] else 16 if used < SINCE["signals"] else 24
    ruleset = call(CREATE_RULESET, struct.pack("QQQ", files, network, scope)[:size], size, 0)
    try:
        for path in read:
            _allow(ruleset, path, READ & files)
        for path in write:
            _allow(ruleset, path, WRITE & files)
        for path in listed:
            _allow(ruleset, path, READ_DIR)
        for port in _connectable(ports, refused) if network else ():
            call(ADD_RULE, ruleset, 2, struct.pack("=QQ", CONNECT_TCP, port), 0)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        call(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return used


def _connectable(ports: Sequence[int] | None, refused: Sequence[int]) -> Iterable[int]:
    """Returns the ports to allow: Landlock rules can only allow, so refusing some costs 0.1 s and 8 MB."""
    return (port for port in range(1 << 16) if port not in refused) if ports is None else ports


def everything_but(hidden: Iterable[str]) -> list[str]:
    """Returns paths that together cover everything but *hidden*: the siblings of it and of each folder above it."""
    kept = [path for path in hidden if os.path.lexists(path) and path != "/"]
    return _beside("/", kept) if kept else ["/"]


def _beside(folder: str, hidden: Sequence[str]) -> list[str]:
    paths: list[str] = []
    try:
        names = os.listdir(folder)
    except OSError:
        return paths
    for name in names:
        path = os.path.join(folder, name)
        within = [each for each in hidden if each.startswith(f"{path}/")]
        if path in hidden or os.path.islink(path):  # a rule for a link would apply to its target
            continue
        paths += _beside(path, within) if within else [path]
    return paths


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = access if stat.S_ISDIR(os.fstat(opened).st_mode) else access & _OF_FILES
        call(ADD_RULE, ruleset, 1, struct.pack("=Qi", allowed, opened), 0)
    finally:
        os.close(opened)
