"""The wire: newline-delimited JSON-RPC 2.0, cut from bytes and decoded however badly it was written.

Agents print stray text before and between messages, cut emoji in half (JavaScript writes the halves as lone
surrogates), write ``NaN`` (Python does), nest without end, and answer with ids of another type. None of that may lose a
message that can be read.
"""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec

from agentnb.credentials import logger
from agentnb.errors import ProtocolError
from agentnb.safe_json import NESTING_LIMIT, is_too_deep, read_first_json, without_deep_values, without_half_characters

log = logger("agentnb.acp")

LINE_LIMIT = 512 * 1024 * 1024
"""The longest line, in bytes, that is waited for."""

_START = b'{"jsonrpc"'


class Message(msgspec.Struct):
    """One JSON-RPC message as it came; absent members are None, except ``result``."""

    method: Any = None
    params: Any = None
    id: Any = None
    result: Any = msgspec.UNSET
    error: Any = None


_decoder = msgspec.json.Decoder(Message)
_encoder = msgspec.json.Encoder()


class Lines:
    """Cuts a stream of bytes into lines; what is not ended yet waits, in pieces, so that long lines stay cheap."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._held = 0
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> bytes:
        """Add *data*; return all lines that are complete now, as one block."""
        cut = data.rfind(b"\n") + 1
        if cut == 0:
            self._hold(data)
            return b""
        block = b"".join((*self._pieces, data[:cut])) if self._pieces else data[:cut]
        self._pieces, self._held = [], 0
        if cut < len(data):
            self._hold(data[cut:])
        return block

    def rest(self) -> bytes:
        """What is left when the stream has ended."""
        rest, self._pieces = b"".join(self._pieces), []
        return rest

    def _hold(self, data: bytes) -> None:
        self._pieces.append(data)
        self._held += len(data)
        if self._held > self._limit:
            raise ProtocolError(f"The agent wrote a line of more than {self._limit} bytes.")


def decode(block: bytes) -> tuple[list[Message], int]:
    """Decode a block of lines; one that cannot be read costs nothing but itself."""
    if block.count(b"[") + block.count(b"{") <= NESTING_LIMIT or not any(map(is_too_deep, block.split(b"\n"))):
        with contextlib.suppress(Exception):  # each line is tried for itself then
            return _decoder.decode_lines(block), 0
    lines = [line for line in block.split(b"\n") if not line.isspace() and line]
    decoded = [decode_line(line) for line in lines]
    messages = [message for message in decoded if message is not None]
    return messages, len(lines) - len(messages)


def decode_line(line: bytes) -> Message | None:
    """Decode one line, repairing what can be repaired; None when it is no message. Never raises."""
    try:
        return _decoded(line)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a line, the next one must be read
        log.warning("a line of %d bytes is no message: %s", len(line), type(error).__name__)
        return None


def _decoded(line: bytes) -> Message | None:
    begins = [0] if line.lstrip().startswith(b"{") else []
    if (after_text := line.find(_START)) > 0:
        begins.append(after_text)
    found = (_message(line[begin:]) for begin in begins)
    return next((message for message in found if message is not None), None)


def _message(data: bytes) -> Message | None:
    if is_too_deep(data):
        data = without_deep_values(data)
    with contextlib.suppress(msgspec.MsgspecError, UnicodeError):
        return _decoder.decode(data)
    with contextlib.suppress(ValueError):
        return msgspec.convert(read_first_json(data.decode("utf-8", "replace").lstrip()), Message)
    return None


def encode(message: dict[str, Any]) -> bytes:
    """One line of JSON, ended."""
    try:
        return _encoder.encode(message) + b"\n"
    except UnicodeEncodeError:  # such as of a folder whose name is no UTF-8
        return _encoder.encode(without_half_characters(msgspec.to_builtins(message))) + b"\n"
