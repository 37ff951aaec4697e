"""Versions 0.9 and 1.0 over a WebSocket, reduced by a mirror that shares no code with the host."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from agentnb import Server, Session
from tests.unit.server.websocket.client import BEGAN, USER, Client, Failed, chat_of, session_of
from tests.unit.server.websocket.later_mirror import is_time, reduce

LATER = ("1.0.0", "0.9.0")
ROOT_URI = "ahp-root://"


class Mirror(Client):
    """A client of a later version that keeps the states of its channels."""

    def begin(self, *uris: str, versions: tuple[str, ...] = LATER) -> None:
        """Introduces itself and follows *uris*."""
        self.initialize("mirror", *uris, versions=versions)
        self.states = dict(self.snapshots)

    def begin_again(self, *uris: str) -> list[str]:
        """Reconnects on a new connection without any state; returns the channels that it now follows."""
        params = {"clientId": "mirror", "lastSeenServerSeq": 0, "subscriptions": uris}
        self.states = {each["resource"]: each["state"] for each in self.ask("reconnect", params)["snapshots"]}
        return list(self.states)

    def take(self, message: dict[str, Any]) -> None:
        """Applies an action message."""
        if message.get("method") == "action" and "rejectionReason" not in message["params"]:
            self.reduce(message["params"])

    def reduce(self, envelope: dict[str, Any]) -> None:
        """Applies an envelope; numbers only grow."""
        assert envelope["serverSeq"] > self.seq
        self.seq = envelope["serverSeq"]
        uri = envelope["channel"]
        self.states[uri] = reduce(uri, self.states[uri], envelope["action"])

    def until(self, uri: str, text: str) -> Any:
        """Waits until the state's JSON has *text*; returns the state."""
        while text not in json.dumps(self.states[uri]):
            self.take(self.hear(lambda _: True))
        return self.states[uri]

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Sends a request; applies the actions that come before the answer."""
        result = super().ask(method, params)
        heard, self.heard = self.heard, []
        for message in heard:
            self.take(message)
        self.heard = [message for message in heard if message.get("method") != "action"]
        return result

    def notice(self, method: str) -> Any:
        """Returns the parameters of the next *method* notification."""
        kept = [message for message in self.heard if message["method"] == method]
        return (kept[0] if kept else self.hear(lambda message: message.get("method") == method))["params"]

    def snapshot(self, uri: str) -> Any:
        """Returns the host's state of a followed channel."""
        return self.ask("subscribe", {"channel": uri})["snapshot"]["state"]

    def start_turn(self, session: Session, text: str) -> str:
        """Sends a prompt as a later version does, with its time."""
        turn_id = str(uuid.uuid4())
        message = {"text": text, "origin": USER}
        params = {"turnId": turn_id, "startedAt": BEGAN, "message": message}
        self.dispatch(chat_of(session), {"type": "chat/turnStarted", **params})
        return turn_id


@pytest.fixture
def mirror(server: Server) -> Any:
    """A mirror that has not introduced itself."""
    opened = Mirror(server.address, server.token)
    yield opened
    opened.close()


def settled(value: Any) -> Any:
    """Returns *value* without the time of the last change, which a client derives from turns."""
    if isinstance(value, dict):
        return {name: settled(item) for name, item in value.items() if name != "modifiedAt"}
    return [settled(item) for item in value] if isinstance(value, list) else value


def check(mirror: Mirror, *uris: str) -> None:
    """Checks that the mirror equals the host, once nothing changes."""
    truth: Any = None
    while truth != (truth := [settled(mirror.snapshot(uri)) for uri in uris]):
        pass
    assert [settled(mirror.states[uri]) for uri in uris] == truth


def test_replay_uses_the_negotiated_version(server: Server, session: Session) -> None:
    first = Mirror(server.address, server.token)
    first.begin(chat_of(session))
    first.close()
    session.prompt("/fail").wait(check=False)
    again = Mirror(server.address, server.token)
    params = {"clientId": "mirror", "lastSeenServerSeq": first.seq, "subscriptions": [chat_of(session)]}
    replay = again.ask("reconnect", params)
    for envelope in replay["actions"]:
        first.reduce(envelope)
    again.states = first.states
    check(again, chat_of(session))
    again.close()
    assert replay["type"] == "replay"


@pytest.mark.parametrize("version", LATER)
def test_client_renegotiates_when_the_kernel_forgot_its_version(server: Server, version: str) -> None:
    """For example after a kernel restart; on the same connection, as the protocol's own client does."""
    client = Mirror(server.address, server.token)
    params = {"clientId": "mirror", "lastSeenServerSeq": 1, "subscriptions": [ROOT_URI]}
    with pytest.raises(Failed) as failed:
        client.ask("reconnect", params)
    begun = client.initialize("mirror", ROOT_URI, versions=(version,))
    client.close()
    assert (failed.value.code, begun["protocolVersion"], len(begun["snapshots"])) == (-32600, version, 1)


def test_session_list_has_pages_folders_and_times(session: Session, mirror: Mirror) -> None:
    mirror.begin(ROOT_URI)
    first = mirror.ask("listSessions", {"limit": 1})
    sessions = list(first["items"])
    while "nextCursor" in first:
        first = mirror.ask("listSessions", {"limit": 1, "cursor": first["nextCursor"]})
        sessions += first["items"]
    (listed,) = [each for each in sessions if each["resource"] == session_of(session)]
    assert (is_time(listed["createdAt"]), "workingDirectory" in listed) == (True, False)
    assert listed["workingDirectories"] == mirror.snapshot(session_of(session))["workingDirectories"]
    with pytest.raises(Failed) as failed:
        mirror.ask("listSessions", {"cursor": "ahp-session:/gone"})
    assert failed.value.code == -32602


def test_new_conversation_outside_the_kernel_folder_is_refused(mirror: Mirror) -> None:
    mirror.begin(ROOT_URI)
    params = {"channel": f"ahp-session:/{uuid.uuid4()}", "provider": "eliza", "workingDirectories": ["file:///etc"]}
    with pytest.raises(Failed) as failed:
        mirror.ask("createSession", params)
    assert failed.value.code == -32009


def test_client_can_name_a_new_conversation_like_vscode(server: Server, mirror: Mirror) -> None:
    """By its agent's name: this client gets the conversation by that name, others by the protocol's."""
    tab_id = str(uuid.uuid4())
    chosen, own = f"eliza:/{tab_id}", f"ahp-session:/{tab_id}"
    other = Mirror(server.address, server.add_client("other"))
    other.begin(ROOT_URI)
    mirror.begin(ROOT_URI)
    mirror.ask("createSession", {"channel": chosen, "provider": "eliza"})
    added = [client.notice("root/sessionAdded")["summary"]["resource"] for client in (mirror, other)]
    snapshot = mirror.ask("subscribe", {"channel": chosen})["snapshot"]
    assert ([snapshot["resource"], *added], snapshot["state"]["provider"]) == ([chosen, chosen, own], "eliza")
    mirror.states[chosen] = snapshot["state"]
    mirror.dispatch(chosen, {"type": "session/titleChanged", "title": "Fit"})
    mirror.until(chosen, '"Fit"')
    check(mirror, chosen)
    assert chosen in [each["resource"] for each in mirror.ask("listSessions", {})["items"]]
    mirror.close()
    again = Mirror(server.address, server.token)
    assert again.begin_again(ROOT_URI, chosen, "eliza:/none") == [ROOT_URI, chosen]
    again.ask("disposeSession", {"channel": chosen})
    assert (again.notice("root/sessionRemoved")["session"], other.notice("root/sessionRemoved")["session"]) == (
        chosen,
        own,
    )
    for client in (again, other):
        client.close()


@pytest.mark.parametrize("uri", ["file:/x", "eliza:/../../etc", "eliza:/x/chat", "ahp-other:/x", "x" * 41 + ":/x"])
def test_session_name_of_another_form_is_refused(mirror: Mirror, uri: str) -> None:
    """It neither opens nor follows one."""
    mirror.begin()
    codes = []
    for method in ("createSession", "subscribe"):
        with pytest.raises(Failed) as failed:
            mirror.ask(method, {"channel": uri, "provider": "eliza"})
        codes.append(failed.value.code)
    assert codes == [-32602, -32001]
