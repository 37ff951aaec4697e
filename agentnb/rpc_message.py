"""JSON-RPC 2.0 messages: how they are framed in a stream, how they are read and written, and their errors."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec

from agentnb.errors import ProtocolError
from agentnb.safe_json import is_too_deep, read_json, read_json_at, without_deep_values, without_half_characters

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CANCELLED = -32800
"""The codes of JSON-RPC 2.0 (section 5.1), and ACP's for a cancelled request."""

LONGEST_MESSAGE = 512 * 1024 * 1024
"""The longest accepted message, in bytes."""
_LONGEST_HEADER = 4_096


class RpcError(Exception):
    """A JSON-RPC error, received or to be sent."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @classmethod
    def received(cls, error: Any) -> RpcError:
        """Read an ``error`` member, whatever its form."""
        if not isinstance(error, dict):
            return cls(INTERNAL_ERROR, str(error))
        code, message = error.get("code"), error.get("message")
        return cls(
            code if isinstance(code, int) else INTERNAL_ERROR,
            message if isinstance(message, str) and message else "no reason given",
            error.get("data"),
        )

    def to_json(self) -> dict[str, Any]:
        """The ``error`` member."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        return error if self.data is None else {**error, "data": self.data}


# --- messages ---


def notification(method: str, params: Any) -> dict[str, Any]:
    """A notification; parameters that are None are left out."""
    return {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})


def error_answer(request: Any, error: RpcError) -> dict[str, Any]:
    """The answer to a request that failed; *request* is its id, None where it could not be read."""
    return {"jsonrpc": "2.0", "id": request, "error": error.to_json()}


class RpcMessage(msgspec.Struct):
    """One JSON-RPC message as it came; absent members are None, except ``result``."""

    jsonrpc: Any = None
    method: Any = None
    params: Any = None
    id: Any = None
    result: Any = msgspec.UNSET
    error: Any = None

    @property
    def has_answer(self) -> bool:
        return self.error is not None or self.result is not msgspec.UNSET

    @property
    def value(self) -> Any:
        """The result; None where there is none."""
        return None if self.result is msgspec.UNSET else self.result


_decode = msgspec.json.Decoder(RpcMessage).decode
_encode = msgspec.json.Encoder().encode


def encode(message: Any) -> bytes:
    try:
        return _encode(message)
    except UnicodeEncodeError:  # such as for a folder whose name is not UTF-8
        return _encode(without_half_characters(msgspec.to_builtins(message)))


def read_message(data: bytes) -> RpcMessage:
    """Read one message; if it is not one, raises the :class:`RpcError` to answer with."""
    if is_too_deep(data):
        raise RpcError(PARSE_ERROR, "The message is nested too deeply.")
    try:
        return _checked(_decode(data))
    except msgspec.ValidationError:
        raise _no_message() from None
    except (msgspec.MsgspecError, UnicodeError):  # JSON that Python accepts and msgspec does not
        return as_message(_read_value(data))


def repair_message(data: bytes) -> RpcMessage:
    """Read one message, repairing what can be repaired; raises :class:`RpcError` if there is none."""
    try:
        if not is_too_deep(data):
            return _decode(data)
    except (msgspec.MsgspecError, UnicodeError):
        pass
    begins = {0, max(data.find(b'{"jsonrpc"'), 0)}  # other text may precede the message
    for begin in sorted(begins):
        if (message := _repaired(data[begin:])) is not None:
            return message
    raise RpcError(PARSE_ERROR, f"a line of {len(data)} bytes is not a message")


def repair_messages(lines: list[bytes]) -> list[RpcMessage]:
    """Read each of *lines*, repairing what can be repaired; drops those that are not messages."""
    messages: list[RpcMessage] = []
    for line in lines:
        with contextlib.suppress(RpcError):
            messages.append(repair_message(line))
    return messages


def _repaired(data: bytes) -> RpcMessage | None:
    if is_too_deep(data):
        data = without_deep_values(data)
    with contextlib.suppress(msgspec.MsgspecError, UnicodeError):
        return _decode(data)
    with contextlib.suppress(msgspec.MsgspecError, ValueError, RecursionError):
        value, _ = read_json_at(data.decode("utf-8", "replace").lstrip(), 0)
        return msgspec.convert(value, RpcMessage)
    return None


def read_batch(data: bytes) -> list[Any]:
    """Read an array of values for :func:`as_message`; if it is not one, raises the :class:`RpcError` to answer with."""
    items = _read_value(data)
    if not isinstance(items, list) or not items:
        raise _no_message()
    return items


def _read_value(data: bytes) -> Any:
    try:
        return read_json(data)
    except ValueError:
        raise RpcError(PARSE_ERROR, "The message is not JSON.") from None


def as_message(value: Any) -> RpcMessage:
    """Convert a JSON value to a message; if it is not one, raises the :class:`RpcError` to answer with."""
    try:
        return _checked(msgspec.convert(value, RpcMessage))
    except msgspec.ValidationError:
        raise _no_message() from None


def _checked(message: RpcMessage) -> RpcMessage:
    is_id = isinstance(message.id, (int, float, str, type(None))) and not isinstance(message.id, bool)
    if message.jsonrpc != "2.0" or not isinstance(message.method, (str, type(None))) or not is_id:
        raise _no_message()
    return message


def _no_message() -> RpcError:
    return RpcError(INVALID_REQUEST, "This is not a JSON-RPC 2.0 message.")


# --- framing ---


class Lines:
    """Cuts a stream into messages, one a line (ACP, MCP); a line without its end waits in pieces."""

    def __init__(self, longest: int = LONGEST_MESSAGE) -> None:
        self._longest = longest
        self._held = 0
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Add *data*; returns the messages that are now complete."""
        *lines, rest = data.split(b"\n")
        if lines and self._pieces:
            lines[0] = b"".join((*self._pieces, lines[0]))
            self._pieces, self._held = [], 0
        if rest:
            self._pieces.append(rest)
            self._held += len(rest)
        if self._held > self._longest:
            raise ProtocolError(f"The other side sent a line of more than {self._longest} bytes.")
        return [line for line in lines if line and not line.isspace()]

    def rest(self) -> list[bytes]:
        """Returns the last line, which counts without its end once the stream has ended."""
        rest, self._pieces = b"".join(self._pieces), []
        return [rest] if rest.strip() else []

    @staticmethod
    def frame(message: bytes) -> bytes:
        return message + b"\n"


class Whole(Lines):
    """Messages that come whole: WebSockets and HTTP have a frame of their own."""

    @staticmethod
    def frame(message: bytes) -> bytes:
        return message


class Headers:
    """Cuts a stream into messages, each after a header with its length (LSP)."""

    def __init__(self, longest: int = LONGEST_MESSAGE) -> None:
        self._longest = longest
        self._input = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        self._input += data
        return list(iter(self._next, None))

    def rest(self) -> list[bytes]:
        """Returns nothing, since an incomplete message is dropped."""
        return []

    @staticmethod
    def frame(message: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n%b" % (len(message), message)

    def _next(self) -> bytes | None:
        end = self._input.find(b"\r\n\r\n", 0, _LONGEST_HEADER)
        if end < 0 and len(self._input) < _LONGEST_HEADER:
            return None
        begin, size = end + 4, self._length(bytes(self._input[: max(end, 0)]))
        if len(self._input) < begin + size:
            return None
        message = bytes(self._input[begin : begin + size])
        del self._input[: begin + size]
        return message

    def _length(self, header: bytes) -> int:
        for line in header.lower().split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name == b"content-length" and value.strip().isdigit() and int(value) <= self._longest:
                return int(value)
        raise ProtocolError("The other side sent a header without a valid length.")
