"""Requests to the proxy of a confined agent: the request itself, and the part of it that is passed on.

It accepts ``CONNECT`` and plain HTTP to an ``http://`` address (RFC 9110, 7.4 and 9.3.6), and refuses all else.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from agentnb.agent.elsewhere import host_and_port

_OF_A_CONNECTION = ("connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade", "host")
_HEADER = re.compile(r"\A[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*")


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: str, words: str) -> None:
        super().__init__(words)
        self.status = status


class ProxyRequest(NamedTuple):
    """A request to the proxy: method, target, the line for the server, and the other lines of the head."""

    method: str
    host: str
    port: int
    line: str
    headers: list[str]
    body: int | None = None


def read_request(head: str) -> ProxyRequest:
    first, *headers = head.removesuffix("\r\n\r\n").split("\r\n")
    try:
        if not first.isprintable() or not all(map(_HEADER.fullmatch, headers)):
            raise ValueError(first)
        method, target, version = first.split(" ")
        if method == "CONNECT":
            host, port = host_and_port(target)
            if port is None:
                raise ValueError(target)
            return ProxyRequest(method, host, port, first, headers)
        parts = urlsplit(target)
        if parts.scheme != "http" or not version.startswith("HTTP/1."):
            raise ValueError(target)
        host, port = host_and_port(parts.netloc.rpartition("@")[2], 80)
        path = target[len("http://") + len(parts.netloc) :]
        return ProxyRequest(
            method, host, port or 80, f"{method} {path if path[:1] == '/' else f'/{path}'} HTTP/1.1", headers
        )
    except ValueError:
        words = "This is agentnb's proxy for a confined agent: it takes CONNECT and http:// addresses."
        raise Refused("400 Bad Request", words) from None


def body_length(request: ProxyRequest) -> int:
    """Returns the body's length: after it the user's own proxy would accept another request, for any host."""
    values: dict[str, set[str]] = {}
    for each in request.headers:
        name, _, value = each.partition(":")
        values.setdefault(name.strip().lower(), set()).add(value.strip())
    lengths = values.get("content-length", {"0"})
    is_number = all(each.isascii() and each.isdigit() for each in lengths)
    if "transfer-encoding" in values or len(lengths) > 1 or not is_number:
        raise Refused("411 Length Required", "agentnb's proxy needs one Content-Length for what is sent here.")
    return int(lengths.pop())


def authority(request: ProxyRequest, default: int) -> str:
    """Returns the host of *request*, with its port unless that is *default*."""
    host = f"[{request.host}]" if ":" in request.host else request.host
    return host if request.port == default else f"{host}:{request.port}"


def head_of(line: str, headers: list[str], *more: str) -> bytes:
    """Returns a request's head without headers for the proxy alone; the server closes after its answer."""
    kept = [each for each in headers if each.partition(":")[0].strip().lower() not in _OF_A_CONNECTION]
    return "\r\n".join((line, *kept, *more, "Connection: close", "", "")).encode("latin-1")
