"""The program that confines itself and then becomes another (Linux).

Run for :mod:`agentnb.agent.confinement` under ``python -I -S``, with the arguments NETWORK SOCKETS READ… : WRITE… :
LISTED… : COMMAND…; only the standard library and :mod:`agentnb.sandbox`, and as little of it as possible.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/agentnb/")[0])

from agentnb.sandbox import landlock, seccomp
from agentnb.sandbox.system_calls import drop_capabilities

TYPE_CHECKING = False  # as in typing, which costs start-up time
if TYPE_CHECKING:
    from collections.abc import Sequence

KEPT_CAPABILITIES = 0b100_1111_1011
"""What root keeps: to use files of others, and to be another user; not to look into processes, or at devices."""
END = ":"
"""Ends a list of paths: each of these is absolute."""


def confine(read: Sequence[str], write: Sequence[str], listed: Sequence[str], *, offline: bool, sockets: bool) -> None:
    """Confine this process (:class:`agentnb.agent.confinement.Confinement`).

    Raises:
        OSError: If the system refuses.
    """
    drop_capabilities(KEPT_CAPABILITIES)
    used = landlock.restrict(read=read, write=write, listed=listed, ports=() if offline else None)
    families = [seccomp.NETLINK, *(() if offline else seccomp.INTERNET), *([seccomp.UNIX] if sockets else ())]
    seccomp.refuse(sockets_but=families, truncation=used < landlock.SINCE["truncation"])


def main(network: str, sockets: str, *rest: str) -> None:
    """Confine this process, and become the command at the end of *rest*."""
    lists: list[list[str]] = []
    words = [*rest]
    for _ in range(3):
        at = words.index(END)
        lists.append(words[:at])
        words = words[at + 1 :]
    try:
        confine(*lists, offline=network == "none", sockets=sockets == "sockets")
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
