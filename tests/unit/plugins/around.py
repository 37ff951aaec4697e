"""A file, a secret and servers that code in a workspace must not reach."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def around(folder: Path) -> Iterator[list[str]]:
    """Creates them beside *folder* and yields the arguments of `tests/agents/escapes.py`."""
    outside = folder.parent / "outside.txt"
    outside.write_text("kept")
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
        files = [str(outside), str(folder.parent / ".ssh/id_test")]
        yield [*files, str(tcp.getsockname()[1]), str(path), name, str(os.getpid())]
        for each in (unix, abstract, tcp):
            with pytest.raises(BlockingIOError):
                each.accept()
        with pytest.raises(BlockingIOError):
            udp.recv(1)
    assert (outside.read_text(), outside.stat().st_nlink) == ("kept", 1)
