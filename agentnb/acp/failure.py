"""Converts JSON-RPC errors of the agent into agentnb's exceptions, and exceptions into errors for the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.acp.login import login_ways
from agentnb.errors import (
    AgentError,
    AgentnbError,
    AgentRefused,
    AuthenticationRequired,
    CassetteBroken,
    CassetteMismatch,
    OutsideWorkspace,
    PermissionDenied,
    ProtocolError,
    UsageError,
)
from agentnb.rpc_message import INTERNAL_ERROR, INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from collections.abc import Sequence

AUTHENTICATION_REQUIRED = -32000
DENIED = -32001
NOT_FOUND = -32002
CASSETTE = -32090  # of agentnb's own replay
PROMPT = "session/prompt"


def answered(error: BaseException) -> RpcError:
    """The error to send to the agent when its request failed with *error*."""
    if isinstance(error, RpcError):
        return error
    if isinstance(error, PermissionDenied):
        return RpcError(DENIED, str(error))
    if isinstance(error, (OutsideWorkspace, ProtocolError, UsageError)):
        return RpcError(INVALID_PARAMS, str(error))
    if isinstance(error, AgentnbError):
        return RpcError(INTERNAL_ERROR, str(error))
    return RpcError(INTERNAL_ERROR, f"The client failed: {type(error).__name__}.")


def refused(
    title: str,
    method: str,
    error: RpcError,
    *,
    methods: Sequence[dict[str, Any]],
    login: str | None,
    program: Sequence[str] = (),
) -> AgentError:
    """The exception for the user when the agent called *title* answered *method* with *error*."""
    if error.code == AUTHENTICATION_REQUIRED:
        return AuthenticationRequired(
            f"Sign in to {title} to continue.", hint=_how(methods, error.data, login, program)
        )
    if error.code == CASSETTE:
        broken = isinstance(error.data, dict) and error.data.get("kind") == CassetteBroken.__name__
        return (CassetteBroken if broken else CassetteMismatch)(error.message)
    reason = error.message.rstrip(".") + _details(error.data)
    # A prompt is what users send; any other method is named, as its error may need the agent's developers.
    where = "" if method == PROMPT else f" for {method}"
    return AgentRefused(f"{title} returned an error{where}: {reason}.", code=error.code, data=error.data)


def _details(data: Any) -> str:
    details = data.get("details") or data.get("message") if isinstance(data, dict) else data
    return f" ({details.strip().rstrip('.')})" if isinstance(details, str) and details.strip() else ""


def _how(methods: Sequence[dict[str, Any]], data: Any, login: str | None, program: Sequence[str]) -> str:
    sent = data.get("authMethods") if isinstance(data, dict) else None
    offered = login_ways(sent if isinstance(sent, list) and sent else methods, program)
    names = [f"{way.name} ({way.what_to_do})" if way.what_to_do else way.name for way in offered]
    ways = f"Ways to sign in: {'; '.join(names)}." if names else ""
    typed = f"Type `{login}` in a terminal, then try again." if login else ""
    return " ".join(filter(None, (ways, typed))) or "Sign in with the agent's own program, then try again."
