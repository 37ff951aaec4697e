"""Messages between the kernel and a copy of it: JSON with its length before it, over a socket.

The kernel reads what a copy sends, in which an agent's code runs, as data only.
"""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from typing import Any

import msgspec

from agentnb.kernel.code_runner import NotebookCell, Ran, UserVariable

LARGEST = 256 * 1024 * 1024
"""Bytes of a message, at most: code may show 50 pictures."""
_HEAD = struct.Struct("!Q")


class CopyRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request to a copy.

    Attributes:
        number: Its number, which the answer has, too.
        kind: ``"run"`` code, list the ``"variables"``, ``"inspect"`` one, evaluate ``"measure"``, ``"save"`` what
            changed; ``"stop"`` interrupts what runs, and has no answer.
        text: The code, the path of a variable, an expression, or the file to save to.
        watch: Whether what the code changes counts as the branch's.
        names: The variables that are wanted; all if None.
    """

    number: int
    kind: str
    text: str = ""
    watch: bool = True
    names: tuple[str, ...] | None = None


class CopyAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of a copy; with number 0, how far it is.

    Attributes:
        number: The request's number.
        error: Why it could not be done; empty where it could.
        text: The text that was asked for, or the end of what the running code has printed.
        ran: The outcome of code.
        variables: The variables.
        cells: The cells that were run.
        changed: The names that code changed, each with what became of it.
        value: A number that was measured.
        checks: What may be wrong with tables, a line each.
        objects: The keys of objects that were saved, to be changed in place.
    """

    number: int
    error: str = ""
    text: str = ""
    ran: Ran | None = None
    variables: tuple[UserVariable, ...] = ()
    cells: tuple[NotebookCell, ...] = ()
    changed: dict[str, str] = {}
    value: float | None = None
    checks: tuple[str, ...] = ()
    objects: tuple[int | str, ...] = ()


class CopyLink:
    """One end of the socket; sends from any thread, receives on one."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._lock = threading.Lock()

    def send(self, message: CopyRequest | CopyAnswer) -> None:
        """Send *message*.

        Raises:
            OSError: If the other end is gone.
        """
        data = msgspec.json.encode(message)
        with self._lock:
            self._socket.sendall(_HEAD.pack(len(data)) + data)

    def receive(self, kind: type[Any]) -> Any:
        """Wait for the next message.

        Raises:
            EOFError: If there is none: the other end is gone, or what it sends is no message.
        """
        (size,) = _HEAD.unpack(self._read(_HEAD.size))
        if size > LARGEST:
            raise EOFError
        try:
            return msgspec.json.decode(self._read(size), type=kind)
        except (msgspec.DecodeError, RecursionError) as error:
            raise EOFError from error

    def close(self) -> None:
        """Close it; the other end hears of that, and so does who receives here."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                piece = self._socket.recv(min(size - len(data), 1 << 20))
            except OSError as error:
                raise EOFError from error
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)
