"""Pages of running hosts: they send requests and actions, and wait for the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from agentnb import Session
from agentnb.agent.catalog import custom, find
from agentnb.host import Host
from agentnb.host.conversation import Conversation
from agentnb.server.request_table import wire_name
from agentnb.server.service import Service
from agentnb.state import ChatDelta, ChatResponsePart, ChatTurnComplete, ChatTurnStarted, Message, MessageOrigin
from agentnb.state import MarkdownResponsePart as Markdown
from agentnb.state.versions import WINDOW, Window
from tests.unit.api.conftest import PATIENCE
from tests.unit.server.bytes_apart import bytes_apart

USER = MessageOrigin(kind="user")
MakeHost = Callable[..., Host]


class Page:
    """An in-memory page: sends messages to a service and keeps what it gets.

    *speaks* is an older version of the protocol, which the service then speaks too.
    """

    def __init__(self, host: Host, client_id: str = "page-1", *, speaks: int | None = None) -> None:
        self.host = host
        self.client_id = client_id
        self.messages: Queue[dict[str, Any]] = Queue()
        self.v = WINDOW.current if speaks is None else speaks
        self.service = Service(host, self._tell, versions=WINDOW if speaks is None else Window(0, WINDOW.current))
        self._id = 0
        self._windows = {client_id: self}

    def window(self, client_id: str) -> Page:
        """Returns another window, which talks to the same service."""
        other = Page(self.host, client_id)
        other.service, other._windows = self.service, self._windows
        self._windows[client_id] = other
        return other

    def _tell(self, client_id: str, message: dict[str, Any]) -> None:
        if client_id in self._windows:
            self._windows[client_id].messages.put(bytes_apart(message))

    def say(self, method: str, params: object, **more: object) -> None:
        message = {"jsonrpc": "2.0", "v": self.v, "clientId": self.client_id, "method": wire_name(method)}
        self.send({**message, "params": params, **more})

    def send(self, message: object) -> None:
        """Sends any message."""
        self.host.loop.call(self.service.receive, message)

    def ask(self, method: str, params: object, **more: object) -> dict[str, Any]:
        """Sends a request; returns the answer."""
        self._id += 1
        self.say(method, params, id=self._id, **more)
        return self.hear("id")

    def refused(self, method: str, **params: object) -> str:
        """Sends a request; returns the error's message."""
        return str(self.ask(method, params)["error"]["message"])

    def hear(self, key: str) -> dict[str, Any]:
        """Returns the next message that has *key* or is the notification *key*; drops the others."""
        while True:
            message = self.messages.get(timeout=PATIENCE)
            if key in message or message.get("method") == wire_name(key):
                return message

    def ready(self, *channels: str) -> dict[str, Any]:
        """Introduces itself; returns the answer."""
        params = {"protocolVersions": [self.v], "initialSubscriptions": channels, "visible": True}
        return self.ask("initialize", params)

    def dispatch(self, channel: str, action: dict[str, Any], seq: int = 1) -> None:
        self.say("dispatchAction", {"clientSeq": seq, "channel": channel, "action": action})

    def envelope(self, seq: int = 1) -> dict[str, Any]:
        """Returns the envelope that answers this page's action."""
        while True:
            flush = self.hear("actions")["params"]
            seen = {envelope["channel"]: envelope["index"] for envelope in flush["envelopes"]}
            seen |= {each["resource"]: each["fromSeq"] for each in flush.get("snapshots", [])}
            self.say("ack", {"flush": flush["flush"], "seen": seen})
            for envelope in flush["envelopes"]:
                if envelope.get("origin", {}).get("clientSeq") == seq:
                    return dict(envelope)


def idle_session(host: Host, cwd: Path, *command: str, name: str = "eliza", **options: Any) -> Session:
    """Opens a session whose agent is not started: eliza, or *command* under that name."""
    spec = custom(list(command), name=name) if command else find(name)
    return Session(host.loop.call(lambda: host.open(spec, cwd=cwd, **options)))


def channel_of(session: Session) -> str:
    """Returns the session's channel; its chat's is ``session.chat.resource``."""
    return session.chat.resource.removesuffix("/chat")


def happen(host: Host, session: Session, *actions: Any) -> None:
    """Does in a session what its agent would do."""
    conversation = host.find(channel_of(session))
    for action in actions:
        host.loop.call(conversation.dispatch, action)


def turn(number: int, text: str, answer: str | None = None) -> list[Any]:
    """Returns the actions of a finished turn."""
    turn_id = f"t{number}"
    actions: list[Any] = [ChatTurnStarted(turn_id=turn_id, message=Message(text=text, origin=USER))]
    if answer is not None:
        actions.append(ChatResponsePart(turn_id=turn_id, part=Markdown(id="p", content="")))
        actions.append(ChatDelta(turn_id=turn_id, part_id="p", content=answer))
    return [*actions, ChatTurnComplete(turn_id=turn_id)]


def talk(host: Host, cwd: Path, *turns: tuple[str, str], title: str | None = None) -> Conversation:
    """Creates a session with these prompts and answers, without starting its agent."""
    session = idle_session(host, cwd, title=title)
    for number, (prompt, answer) in enumerate(turns):
        happen(host, session, *turn(number, prompt, answer))
    return host.find(channel_of(session))


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[MakeHost]:
    """Makes kernels that share one log."""
    hosts: list[Host] = []

    def make(place: str = "fit.ipynb") -> Host:
        hosts.append(Host(log=tmp_path / "log.db", place=place))
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()


def page_of(host: Host) -> Page:
    """Returns a page that has introduced itself."""
    page = Page(host, f"page of {host.host_id}")
    page.ready()
    return page


def uris(page: Page, **params: object) -> list[str]:
    """Returns the sessions that the page gets."""
    return [one["uri"] for one in page.ask("listSessions", params)["result"]["sessions"]]


def flushed(host: Host) -> None:
    """Waits until the log has everything."""
    assert host.recorder is not None
    assert host.recorder.flush(30)
