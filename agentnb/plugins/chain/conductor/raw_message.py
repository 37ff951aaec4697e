"""One JSON-RPC message as the conductor sees it: it reads method and id, and keeps all other bytes as they are.

It decodes ``params``, ``result`` and ``error`` only if somebody in the chain wants to look at them. Otherwise the order
of members, numbers and unknown members do not change.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from agentnb.acp.fields import mapping
from agentnb.rpc_message import RpcError, RpcMessage, repair_message

NO_ID = msgspec.UNSET
UPDATE = "session/update"
EMPTY = msgspec.Raw(b"")
_encode = msgspec.json.Encoder().encode


class RawMessage(msgspec.Struct):
    method: str = ""
    id: Any = NO_ID
    params: msgspec.Raw = EMPTY
    result: msgspec.Raw = EMPTY
    error: msgspec.Raw = EMPTY

    @property
    def is_answer(self) -> bool:
        return not self.method

    @property
    def is_request(self) -> bool:
        return bool(self.method) and self.id is not NO_ID

    def read_params(self) -> dict[str, Any]:
        """Returns the parameters, decoded; empty if they are not an object."""
        return mapping(_decoded(self.params))

    def read_result(self) -> Any:
        """Returns the result, decoded; None if there is none."""
        return _decoded(self.result)

    def read_error(self) -> Any:
        """Returns the error, decoded; None if there is none."""
        return _decoded(self.error)

    def line(self) -> bytes:
        pieces: list[bytes | msgspec.Raw] = [b'{"jsonrpc":"2.0"']
        if self.id is not NO_ID:
            pieces += (b',"id":', _encode(self.id))
        if self.method:
            pieces += (b',"method":', _encode(self.method))
            if self.params:
                pieces += (b',"params":', self.params)
        elif self.error:
            pieces += (b',"error":', self.error)
        else:
            pieces += (b',"result":', self.result or b"null")
        pieces.append(b"}\n")
        return b"".join(pieces)


_decoder = msgspec.json.Decoder(RawMessage)


def request(method: str, params: Any, request_id: Any = NO_ID) -> RawMessage:
    """Returns a request, or a notification if there is no *request_id*."""
    return RawMessage(method=method, id=request_id, params=encoded(params))


def result(request_id: Any, value: Any) -> RawMessage:
    return RawMessage(id=request_id, result=encoded(value))


def refusal(request_id: Any, error: RpcError) -> RawMessage:
    return RawMessage(id=request_id, error=encoded(error.to_json()))


def encoded(value: Any) -> msgspec.Raw:
    return msgspec.Raw(_encode(value))


def read_line(line: bytes) -> RawMessage | None:
    """Returns the message in *line*, however badly written; None if there is none."""
    try:
        message = _decoder.decode(line)
        if _is_whole(message):
            return message
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    try:
        return _repaired(repair_message(line))
    except RpcError:
        return None


_BEGINNING = re.compile(rb'\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"method"\s*:\s*"session/update"\s*,\s*"params"')


def are_updates(lines: list[bytes]) -> bool:
    """True if each of *lines* begins like an ACP ``session/update``, all in the same way.

    It decodes nothing, because most lines that agents write are updates.
    """
    beginning = _BEGINNING.match(lines[0]) if lines else None
    return beginning is not None and all(line.startswith(beginning[0]) for line in lines)


def _is_whole(message: RawMessage) -> bool:
    if message.method:
        return message.id is NO_ID or _is_id(message.id)
    return _is_id(message.id) and bool(message.result or message.error)


def _repaired(message: RpcMessage) -> RawMessage | None:
    """Returns the message as the client's own reader parses it from a line that is not plain."""
    has_id = _is_id(message.id)
    if isinstance(message.method, str) and message.method:
        return request(
            message.method, message.params if message.params is not None else {}, message.id if has_id else NO_ID
        )
    if not has_id:
        return None
    if message.error is not None:
        return RawMessage(id=message.id, error=encoded(message.error))
    return result(message.id, message.result) if message.has_answer else None


def _is_id(value: Any) -> bool:
    return isinstance(value, (int, float, str)) and not isinstance(value, bool)


def _decoded(raw: msgspec.Raw) -> Any:
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    try:
        return repair_message(b'{"params":%b}' % bytes(raw)).params
    except RpcError:
        return None
