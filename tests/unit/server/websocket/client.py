"""A plain Python client of the Agent Host Protocol: it sends and receives JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from agentnb import Session
from agentnb.api.settings import policy
from agentnb.host import current_host
from agentnb.server.websocket.projection import to_ahp

PATIENCE = 60.0
VERSIONS = ("1.0.0", "0.9.0")
USER = {"kind": "user"}
BEGAN = "2001-01-01T00:00:00.000Z"
"""The start of a turn by a client's clock, which the kernel ignores."""


class Failed(Exception):
    """The host answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data")


class Client:
    """One connection."""

    def __init__(self, address: str, token: str, **options: Any) -> None:
        headers = {"Authorization": f"Bearer {token}", **options.pop("headers", {})}
        options = {"compression": None, "open_timeout": PATIENCE, "close_timeout": 1, "max_size": None} | options
        self._open = ExitStack()
        self.socket: ClientConnection = self._open.enter_context(
            connect(address, additional_headers=headers, **options)
        )
        self.heard: list[dict[str, Any]] = []
        self.snapshots: dict[str, Any] = {}
        self.seq = 0
        self._id = 0
        self._client_seq = 0

    def close(self) -> None:
        self._open.close()

    def end(self) -> tuple[int | None, str]:
        """Waits until the other side closes the connection; returns the code and the reason."""
        while True:
            try:
                self.socket.recv(timeout=PATIENCE)
            except ConnectionClosed as closed:
                return (None, "") if closed.rcvd is None else (closed.rcvd.code, closed.rcvd.reason)

    def initialize(self, client_id: str, *uris: str, versions: tuple[str, ...] = VERSIONS) -> dict[str, Any]:
        """Introduces itself and follows *uris*."""
        params = {
            "channel": "ahp-root://",
            "clientId": client_id,
            "protocolVersions": versions,
            "initialSubscriptions": uris,
        }
        result: dict[str, Any] = self.ask("initialize", params)
        self.snapshots |= {each["resource"]: each["state"] for each in result["snapshots"]}
        self.seq = result["serverSeq"]
        return result

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Sends a request and returns its result; keeps other messages."""
        return self.answer(self.start(method, params))

    def start(self, method: str, params: dict[str, Any]) -> int:
        """Sends a request; returns its number."""
        self._id += 1
        self.say({"jsonrpc": "2.0", "id": self._id, "method": method, "params": {"channel": "ahp-root://", **params}})
        return self._id

    def answer(self, number: int) -> Any:
        """Returns the result of request *number*."""
        answer = self.hear(lambda message: message.get("id") == number)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["result"]

    def failure(self, method: str, **params: Any) -> int:
        """Sends a request that must fail; returns the error's code."""
        with pytest.raises(Failed) as failed:
            self.ask(method, params)
        return int(failed.value.code)

    def snapshot(self, uri: str) -> Any:
        """Subscribes to *uri*; returns its state."""
        return self.ask("subscribe", {"channel": uri})["snapshot"]["state"]

    def say(self, message: dict[str, Any]) -> None:
        self.socket.send(json.dumps(message))

    def dispatch(self, uri: str, action: dict[str, Any], client_seq: int | None = None) -> int:
        """Dispatches an action; returns its ``clientSeq``."""
        self._client_seq += 1
        seq = self._client_seq if client_seq is None else client_seq
        params = {"channel": uri, "clientSeq": seq, "action": action}
        self.say({"jsonrpc": "2.0", "method": "dispatchAction", "params": params})
        return seq

    def prompt(self, session: Session, text: str, turn_id: str) -> int:
        message = {"text": text, "origin": USER}
        action = {"type": "chat/turnStarted", "turnId": turn_id, "startedAt": BEGAN, "message": message}
        return self.dispatch(chat_of(session), action)

    def hear(self, wanted: Any) -> dict[str, Any]:
        """Returns the next message that *wanted* accepts; keeps the others in ``heard``."""
        while True:
            message = json.loads(self.socket.recv(timeout=PATIENCE))
            if wanted(message):
                return dict(message)
            self.heard.append(message)

    def hear_action(self, kind: str) -> dict[str, Any]:
        """Returns the envelope of the next action of that type, including kept ones."""
        return self._next(
            lambda message: message.get("method") == "action" and message["params"]["action"]["type"] == kind
        )

    def notice(self, method: str) -> dict[str, Any]:
        """Returns the parameters of the next *method* notification, including kept ones."""
        return self._next(lambda message: message.get("method") == method)

    def _next(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        for message in self.heard:
            if wanted(message):
                self.heard.remove(message)
                return dict(message["params"])
        return dict(self.hear(wanted)["params"])


def session_of(session: Session) -> str:
    """Returns the session's channel, as AHP names it."""
    return f"ahp-session:/{session.tab_id}"


def chat_of(session: Session) -> str:
    """Returns the chat's channel, as AHP names it."""
    return to_ahp(f"{session.agent}:/{session.tab_id}/chat")


def own_sessions(name: str) -> list[Session]:
    """Returns the conversations of the files that the client *name* changes."""
    conversations = current_host().conversations.values()
    return [Session(each) for each in conversations if each.spec.name == f"remote-{name}"]


def own_session(name: str) -> Session:
    (session,) = own_sessions(name)
    return session


def decisions(session: Session | None = None) -> list[Any]:
    """Returns the latest decisions, as `%agents policy` lists them."""
    return list(policy(session, last=50).records)
