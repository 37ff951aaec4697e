"""The wire: newline-delimited JSON-RPC 2.0, cut from bytes and decoded however badly it was written.

Agents print stray text before and between messages, cut emoji in half (JavaScript writes the halves as lone
surrogates), write ``NaN`` (Python does), and answer with ids of another type. None of that may lose a message that can
be read.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

import msgspec

from agentnb.errors import ProtocolError

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
        """Add *data*; return all lines that are complete now, as one block.

        Raises:
            ProtocolError: If a line grows beyond the limit.
        """
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
    """Decode a block of lines.

    Returns:
        The messages in order, and how many lines were none.
    """
    try:
        return _decoder.decode_lines(block), 0
    except (msgspec.MsgspecError, UnicodeError):
        lines = [line for line in block.split(b"\n") if not line.isspace() and line]
        decoded = [decode_line(line) for line in lines]
        messages = [message for message in decoded if message is not None]
        return messages, len(lines) - len(messages)


def decode_line(line: bytes) -> Message | None:
    """Decode one line, repairing what can be repaired; None when it is no message."""
    with contextlib.suppress(msgspec.MsgspecError, UnicodeError):
        return _decoder.decode(line)
    begin = line.find(_START)
    if begin < 0 and not line.lstrip().startswith(b"{"):
        return None
    text = line[max(begin, 0) :].decode("utf-8", "replace")
    with contextlib.suppress(ValueError, RecursionError):
        value, _ = json.JSONDecoder().raw_decode(text.lstrip())
        return msgspec.convert(_whole(value), Message)
    return None


def encode(message: dict[str, Any]) -> bytes:
    """One line of JSON, ended."""
    return _encoder.encode(message) + b"\n"


def _whole(value: Any) -> Any:
    """*value* with lone surrogates, which no UTF-8 can hold, replaced by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return value
