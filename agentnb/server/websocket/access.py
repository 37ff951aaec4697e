"""Who may connect, the file with the kernel's address for programs, and the served page.

The page contains no secret. Its token is in the fragment of the page's address, which browsers send to no server, and
comes with the WebSocket's request as the name of a subprotocol: not in an address, which proxies write into their logs.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import http
import os
import secrets
import socket
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, get_args
from urllib.parse import parse_qs, urlsplit

import msgspec
from websockets.datastructures import Headers
from websockets.http11 import Response
from websockets.typing import Subprotocol

from agentnb.errors import UsageError
from agentnb.folders import data_folder
from agentnb.log.location import log_place
from agentnb.safe_files import write_atomically
from agentnb.safe_json import read_record
from agentnb.server.request_table import Right

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from websockets.http11 import Request

RIGHTS: tuple[Right, ...] = get_args(Right)
TOKEN_BYTES = 32
TOKEN, TOKEN_BEHIND_PROXY, TOKEN_OF_VSCODE = "token", "agentnb_token", "tkn"
"""The parameters of an address that may hold a token: the second if a proxy uses the first itself, the third in
addresses of VS Code's agent host."""
MOST_GRANTS = 256
LONGEST_NAME = 40


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    rights: frozenset[Right]
    digest: bytes
    tabs: frozenset[str] | None = None
    ends_at: float | None = None
    is_single: bool = False

    @property
    def line(self) -> str:
        """Describes the client in a few words, as the chat shows it."""
        if self.rights == {"answer"}:
            return f"{self.name}, answering questions"
        doing = "driving" if "drive" in self.rights else "watching"
        return f"{self.name}, {doing}{' and approving' if 'approve' in self.rights else ''}"

    @property
    def seconds_left(self) -> float | None:
        """Returns for how long its token can still be used; None if it never expires."""
        return None if self.ends_at is None else max(0.0, self.ends_at - time.monotonic())

    def sees(self, tab_id: str) -> bool:
        return self.tabs is None or tab_id in self.tabs


class ClientGrants:
    def __init__(self) -> None:
        self._grants: dict[str, Grant] = {}

    def __iter__(self) -> Iterator[Grant]:
        return iter(tuple(self._grants.values()))

    def add(
        self,
        name: str,
        rights: Iterable[Right],
        *,
        token: str | None = None,
        tabs: Iterable[str] | None = None,
        seconds: float | None = None,
        is_single: bool = False,
    ) -> str:
        """Let a client connect; if *is_single*, only the first client that uses the token can ever use it."""
        name = " ".join(name.replace(":", " ").split())[:LONGEST_NAME]
        allowed = frozenset(rights)
        if not name or name in self._grants:
            raise UsageError(f"A client named {name!r} already exists." if name else "A client needs a name.")
        if unknown := allowed - set(RIGHTS):
            raise UsageError(f"There is no right {min(unknown)!r}.", hint=f"Use {', '.join(RIGHTS)}.")
        if len(self._grants) >= MOST_GRANTS:
            raise UsageError(f"{MOST_GRANTS} clients may connect already.", hint="Revoke one first.")
        token = secrets.token_urlsafe(TOKEN_BYTES) if token is None else token
        if len(token) < len(secrets.token_urlsafe(TOKEN_BYTES)):
            raise UsageError("The token is too short.", hint="Leave it out: a random one of 256 bits is made.")
        self._grants[name] = Grant(
            name=name,
            rights=allowed if allowed == {"answer"} else allowed | {"watch"},
            digest=digest(token),
            tabs=None if tabs is None else frozenset(tabs),
            ends_at=None if seconds is None else time.monotonic() + seconds,
            is_single=is_single,
        )
        return token

    def remove(self, name: str) -> bool:
        """Stop letting that client connect; returns False if there was none."""
        return self._grants.pop(name, None) is not None

    def find(self, token: str) -> Grant | None:
        """Returns the grant that *token* belongs to; None if there is none, or it has expired."""
        wanted = digest(token)
        matching = [grant for grant in self._grants.values() if hmac.compare_digest(grant.digest, wanted)]
        return None if not matching or matching[0].seconds_left == 0 else matching[0]


def digest(token: str) -> bytes:
    """Returns what is stored instead of the token itself."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


LARGEST = 10_000


class ServedClient(msgspec.Struct, frozen=True, kw_only=True):
    doing: str
    token: str


class ServedKernel(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of the file of a served kernel."""

    machine: str
    pid: int
    url: str
    clients: dict[str, ServedClient]
    folder: str
    place: str = ""

    @property
    def lines(self) -> list[str]:
        """Describes the kernel and the addresses of its clients, which contain their tokens."""
        what = self.place or "a kernel without a notebook"
        texts = [f"{what} (kernel {self.pid} in {self.folder})"]
        return texts + [f"  {each.doing}: {self.url}?token={each.token}" for each in self.clients.values()]

    @property
    def is_here(self) -> bool:
        """True if its process runs on this machine."""
        if self.machine != socket.gethostname() or self.pid <= 0:
            return False
        try:
            os.kill(self.pid, 0)
        except OSError as error:
            return not isinstance(error, ProcessLookupError)
        return True


def runtime_folder() -> Path:
    """Jupyter's runtime folder, where servers and kernels have their files (``jupyter --runtime-dir``)."""
    runtime_dir = os.environ.get("JUPYTER_RUNTIME_DIR")
    return Path(runtime_dir) if runtime_dir else data_folder().parent / "runtime"


def write(host_id: str, url: str, clients: dict[str, ServedClient]) -> Path:
    """Write and return the file that describes this process's kernel."""
    folder = runtime_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    record = ServedKernel(
        machine=socket.gethostname(),
        pid=os.getpid(),
        url=url,
        clients=clients,
        folder=str(Path.cwd()),
        place=log_place(),
    )
    path = folder / f"agentnb-serve-{host_id}.json"
    write_atomically(path, msgspec.json.encode(record), mode=0o600)
    return path


def remove(path: Path) -> None:
    """Remove the file of a kernel that is no longer served."""
    with contextlib.suppress(OSError):
        path.unlink()


def served_kernels() -> list[ServedKernel]:
    kernels = []
    for path in sorted(runtime_folder().glob("agentnb-serve-*.json")):
        with contextlib.suppress(OSError, ValueError):
            if path.stat().st_size > LARGEST:
                continue
            kernel = read_record(path.read_bytes(), ServedKernel)
            if kernel.is_here:
                kernels.append(kernel)
            elif kernel.machine == socket.gethostname():
                remove(path)
    return kernels


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
    """A page in one file, with its scripts and styles."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def answer(self, target: str) -> Response:
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
        """Allows only the page's own scripts and styles, by digest, connections to its own origin, and no framing."""
        digests: dict[str, list[str]] = {"script": [], "style": []}
        for name, hashes in digests.items():
            for piece in self._text.split(f"<{name}>".encode())[1:]:
                content = piece.partition(f"</{name}>".encode())[0]
                hashes.append(f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'")
        own = [f"{name}-src {' '.join(each)}" for name, each in digests.items()]
        none = ("default-src", "base-uri", "form-action", "frame-ancestors")
        return "; ".join([*(f"{each} 'none'" for each in none), *own, "connect-src 'self'"])


def token_of(request: Request, *, has_page: bool) -> str | None:
    """Returns a request's token; None if it has none, or more than one.

    It is in the ``Authorization`` header, else in a subprotocol's name if a page is served, in the URL if none is.
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if token and scheme.lower() == "bearer":
        return token.strip()
    tokens = _tokens_of_page(request.headers) if has_page else _tokens_in_url(request.path)
    return tokens[0] if len(tokens) == 1 else None


def _tokens_of_page(headers: Headers) -> list[str]:
    offered = [each.strip() for line in headers.get_all("Sec-WebSocket-Protocol") for each in line.split(",")]
    return [each.removeprefix(TOKEN_PREFIX) for each in offered if each.startswith(TOKEN_PREFIX)]


def _tokens_in_url(url: str) -> list[str]:
    try:
        query = parse_qs(urlsplit(url).query, max_num_fields=10)
    except ValueError:
        return []
    return query.get(TOKEN_BEHIND_PROXY) or query.get(TOKEN, [])


def _response(status: http.HTTPStatus, body: bytes, kind: str) -> Response:
    headers = Headers({**_HEADERS, "Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))})
    return Response(status.value, status.phrase, headers, body)
