"""The messages between kernel and page: those of the Agent Host Protocol (AHP), and ours (``x-agentnb/…``).

They are JSON-RPC 2.0 objects (`agentnb.rpc_message`) on the host model's comm. All pages of a kernel share it, so each
message names the client that sends or receives it, and the version of our protocol (``v``). Each request is declared
beside the function that answers it; `agentnb.server.methods` lists them all. The JupyterLab extension's messages are in
`agentnb.server.lab_messages`.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from agentnb.rpc_message import INVALID_PARAMS, METHOD_NOT_FOUND
from agentnb.state.versions import WINDOW
from agentnb.state.wire import Wire

VERSION = WINDOW.current
OURS = "x-agentnb/"
"""The prefix of methods that AHP does not have."""
LARGEST = 2**53 - 1
"""The largest number that a page can represent exactly."""
Moment = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]

UNSUPPORTED_VERSION = -32010
UNKNOWN_CLIENT = -32011
REFUSED = -32012
UNKNOWN_SESSION = -32001

ERRORS: dict[int, str] = {
    METHOD_NOT_FOUND: "There is no request of that name.",
    INVALID_PARAMS: "The parameters are not what the method takes; the message says which field, and why.",
    UNSUPPORTED_VERSION: "The page and the kernel have no version in common; the message says which one to update.",
    UNKNOWN_SESSION: "There is no such channel (any more). The same code as AHP's `SessionNotFound`.",
    UNKNOWN_CLIENT: "The client has not introduced itself: send `initialize` first.",
    REFUSED: "It was understood but cannot be done; the message says why and what to do next.",
}
"""The codes of errors, and what each means."""


class FromPage(Wire, frozen=True, kw_only=True):
    """The envelope of every message from a page.

    Attributes:
        v: The protocol's version.
        client_id: The sender: one page's copy of the widget model (UUID).
        method: The method.
        params: The method's parameters.
        id: Present in a request, absent in a notification.
    """

    v: int
    client_id: str
    method: str
    params: dict[str, Any] | list[Any] | None = None
    id: int | str | None = None
