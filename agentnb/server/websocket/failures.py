"""The errors that a client's request is answered with: a code of the specification, and a sentence for people."""

from __future__ import annotations

from typing import Any

import msgspec

from agentnb.errors import (
    FileUnavailable,
    OutsideWorkspace,
    PermissionDenied,
    UnknownAgent,
    UnknownSession,
    UnsupportedVersion,
)
from agentnb.rpc_message import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from agentnb.server.websocket import commands as c

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (UnsupportedVersion, c.UNSUPPORTED_PROTOCOL_VERSION),
    (UnknownSession, c.SESSION_NOT_FOUND),
    (UnknownAgent, c.PROVIDER_NOT_FOUND),
    (PermissionDenied, c.PERMISSION_DENIED),
    (OutsideWorkspace, c.PERMISSION_DENIED),
    (FileUnavailable, c.NOT_FOUND),
    (msgspec.ValidationError, INVALID_PARAMS),
)


class RequestFailed(RpcError):
    """A request is answered with an error; *ends* says why the connection ends with it."""

    def __init__(self, code: int, message: str, data: Any = None, *, ends: str | None = None) -> None:
        super().__init__(code, message, data)
        self.ends = ends


def code_of(error: Exception) -> int:
    """The code that *error* is answered with."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), INTERNAL_ERROR)
