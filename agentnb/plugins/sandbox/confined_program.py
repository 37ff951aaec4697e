"""The program that confines itself and then becomes another (Linux)."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/agentnb/")[0])

from agentnb.plugins.sandbox import landlock, own_mounts, seccomp
from agentnb.system_calls import drop_capabilities

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Sequence

KEPT_CAPABILITIES = 0b100_1111_1011
"""Capabilities that root keeps: to use others' files and become another user, not to inspect processes or devices."""
END = ":"
"""Marks the end of a list of paths; unambiguous, since each path is absolute."""


def confine(
    read: Sequence[str],
    write: Sequence[str],
    listed: Sequence[str],
    *,
    ports: Sequence[int] | None,
    refused: Sequence[int] = (),
    sockets: bool,
) -> None:
    """Confine this process (:class:`agentnb.plugins.sandbox.confinement.Confinement`)."""
    own_mounts.enter(write)
    drop_capabilities(KEPT_CAPABILITIES)
    used = landlock.restrict(read=read, write=write, listed=listed, ports=ports, refused=refused)
    internet = () if ports is not None and not ports else seccomp.INTERNET
    families = [*internet, *([seccomp.UNIX] if sockets else ())]
    seccomp.refuse(
        sockets_but=families,
        truncation=used < landlock.SINCE["truncation"],
        only_tcp=bool(ports),
        only_own_processes=True,
    )


def reach(network: str) -> Sequence[int] | None:
    """Set up the remaining network access; returns the ports that may be connected to, or None for no restriction."""
    if network == "none":
        return ()
    if network.startswith("all"):
        return None
    from agentnb.plugins.sandbox import private_network

    outer, around, within, servers, meeting = private_network.address_parts(network)
    own = private_network.enter(meeting, servers) if meeting else None
    port, direct = (outer, around) if own is None else (own, within)
    private_network.lead_programs_to(port, direct)
    return (port,) if own is None else None


def main(network: str, sockets: str, *rest: str) -> None:
    """Confine this process, and become the command at the end of *rest*."""
    lists: list[list[str]] = []
    words = [*rest]
    for _ in range(3):
        at = words.index(END)
        lists.append(words[:at])
        words = words[at + 1 :]
    try:
        kind, _, refused = network.partition(";")
        ports = tuple(map(int, refused.split(","))) if kind == "all" and refused else ()
        confine(*lists, ports=reach(network), refused=ports, sockets=sockets == "sockets")
    except OSError as error:
        sys.stderr.write(f"The agent could not be confined: {error.strerror or error}.\n")
        sys.exit(126)
    try:
        os.execvp(words[0], words)  # noqa: S606 - starting programs is the job
    except OSError as error:
        sys.stderr.write(f"{words[0]} could not be started: {error.strerror}.\n")
        sys.exit(127)


if __name__ == "__main__":
    main(*sys.argv[1:])
