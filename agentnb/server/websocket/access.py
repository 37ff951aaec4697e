"""Who may connect, and what each client may do: one token for each, with a name and rights."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from typing import TYPE_CHECKING, get_args

import msgspec

from agentnb.errors import UsageError
from agentnb.server.request_table import Right

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RIGHTS: tuple[Right, ...] = get_args(Right)
TOKEN_BYTES = 32
TOKEN, TOKEN_BEHIND_PROXY, TOKEN_OF_VSCODE = "token", "agentnb_token", "tkn"
"""The parameters of an address that a token may stand in; the second where the first is a proxy's own, the third in
those of VS Code's agent host."""
MOST_GRANTS = 256
LONGEST_NAME = 40


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """One client's permission to connect."""

    name: str
    rights: frozenset[Right]
    digest: bytes
    tabs: frozenset[str] | None = None
    ends_at: float | None = None
    is_single: bool = False

    @property
    def line(self) -> str:
        """The client in a few words, as the chat shows it."""
        if self.rights == {"answer"}:
            return f"{self.name}, answering questions"
        doing = "driving" if "drive" in self.rights else "watching"
        return f"{self.name}, {doing}{' and approving' if 'approve' in self.rights else ''}"

    @property
    def seconds_left(self) -> float | None:
        """For how long its token can still be used; None for good."""
        return None if self.ends_at is None else max(0.0, self.ends_at - time.monotonic())

    def sees(self, tab_id: str) -> bool:
        """True if it may see that conversation."""
        return self.tabs is None or tab_id in self.tabs


class ClientGrants:
    """The clients that may connect."""

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
        """Let a client connect; where *is_single*, only the first one that uses the token can ever use it."""
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
        """Let that client connect no more; says whether it could."""
        return self._grants.pop(name, None) is not None

    def find(self, token: str) -> Grant | None:
        """The client whose token this is; None where it is nobody's, or has expired."""
        wanted = digest(token)
        matching = [grant for grant in self._grants.values() if hmac.compare_digest(grant.digest, wanted)]
        return None if not matching or matching[0].seconds_left == 0 else matching[0]


def digest(token: str) -> bytes:
    """Returns what is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
