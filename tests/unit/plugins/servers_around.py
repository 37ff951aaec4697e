"""Servers beside a workspace that nothing in it may reach."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def servers_around(folder: Path) -> Iterator[list[str]]:
    """Servers of each kind in *folder*'s parent; what `tests/agents/escapes.py` has to know of them.

    At the end nobody has connected to one of them, or sent anything.
    """
    path, name = folder.parent / "socket", f"agentnb-around-{os.getpid()}"
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with socket.socket(socket.AF_UNIX) as unix, socket.socket(socket.AF_UNIX) as abstract, socket.socket() as tcp, udp:
        unix.bind(str(path))
        abstract.bind(f"\0{name}")
        tcp.bind(("127.0.0.1", 0))
        udp.bind(tcp.getsockname())
        udp.setblocking(False)
        for each in (unix, abstract, tcp):
            each.listen()
            each.setblocking(False)
        yield [str(tcp.getsockname()[1]), str(path), name, str(os.getpid())]
        for each in (unix, abstract, tcp):
            with pytest.raises(BlockingIOError):
                each.accept()
        with pytest.raises(BlockingIOError):
            udp.recv(1)
