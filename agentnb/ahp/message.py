"""One message of a client: JSON-RPC 2.0, read with limits."""

from __future__ import annotations

import msgspec

from agentnb.ahp.failures import RequestFailed
from agentnb.rpc_message import INVALID_REQUEST, PARSE_ERROR
from agentnb.safe_json import is_too_deep


class ClientMessage(msgspec.Struct, frozen=True):
    """What a client sends: a request, a notification, or (without a method) an answer."""

    jsonrpc: str
    method: str | None = None
    id: int | float | str | None = None
    params: msgspec.Raw = msgspec.Raw(b"{}")


def read_message(text: str) -> ClientMessage:
    """Read one message."""
    data = text.encode("utf-8", "replace")
    if is_too_deep(data):
        raise RequestFailed(INVALID_REQUEST, "The message is nested too deep.")
    try:
        message = msgspec.json.decode(data, type=ClientMessage)
    except msgspec.ValidationError as error:
        raise RequestFailed(INVALID_REQUEST, f"This is no JSON-RPC 2.0 message: {error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise RequestFailed(PARSE_ERROR, f"This is no JSON: {error}") from None
    if message.jsonrpc != "2.0":
        raise RequestFailed(INVALID_REQUEST, "This is no JSON-RPC 2.0 message.")
    return message
