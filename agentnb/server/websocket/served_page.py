"""The one web page that a listener can have: a client of its own, which anybody who reaches it may load.

It has no secret in it. Its token stands in the fragment of its address, which browsers send to no server, and comes
with the WebSocket's request as the name of a subprotocol: not in an address, which proxies write into their logs.
"""

from __future__ import annotations

import base64
import hashlib
import http
from functools import cached_property
from typing import TYPE_CHECKING

from websockets.datastructures import Headers
from websockets.http11 import Response
from websockets.typing import Subprotocol

if TYPE_CHECKING:
    from pathlib import Path

SUBPROTOCOL = Subprotocol("agentnb")
TOKEN_PREFIX = "agentnb.token."  # noqa: S105 - what stands before one
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Connection": "close",
}


class ServedPage:
    """A page in one file, with its scripts and styles in it.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def answer(self, target: str) -> Response:
        """The answer to a request of a browser for *target*."""
        if target.partition("?")[0] != "/":
            return _response(http.HTTPStatus.NOT_FOUND, b"There is one page here: /\n", "text/plain")
        response = _response(http.HTTPStatus.OK, self._text, "text/html")
        response.headers["Content-Security-Policy"] = self._policy
        return response

    @cached_property
    def _text(self) -> bytes:
        return self._path.read_bytes()

    @cached_property
    def _policy(self) -> str:
        """Only its own scripts and styles, by their digests; it talks to where it came from, and nobody frames it."""
        digests: dict[str, list[str]] = {"script": [], "style": []}
        for name, found in digests.items():
            for piece in self._text.split(f"<{name}>".encode())[1:]:
                content = piece.partition(f"</{name}>".encode())[0]
                found.append(f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'")
        own = [f"{name}-src {' '.join(each)}" for name, each in digests.items()]
        none = ("default-src", "base-uri", "form-action", "frame-ancestors")
        return "; ".join([*(f"{each} 'none'" for each in none), *own, "connect-src 'self'"])


def token_of_page(headers: Headers) -> str | None:
    """The token of the page's WebSocket request; None where none, or more than one, is there."""
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    if token and scheme.lower() == "bearer":
        return token.strip()
    offered = [each.strip() for line in headers.get_all("Sec-WebSocket-Protocol") for each in line.split(",")]
    tokens = [each.removeprefix(TOKEN_PREFIX) for each in offered if each.startswith(TOKEN_PREFIX)]
    return tokens[0] if len(tokens) == 1 else None


def _response(status: http.HTTPStatus, body: bytes, kind: str) -> Response:
    headers = Headers({**_HEADERS, "Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))})
    return Response(status.value, status.phrase, headers, body)
