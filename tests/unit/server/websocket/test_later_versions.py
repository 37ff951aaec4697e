"""Versions 0.9 and 1.0, heard over a WebSocket and reduced by a mirror that shares no code with the host."""

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
    """A client of a later version that keeps the states of what it follows."""

    def begin(self, *uris: str, versions: tuple[str, ...] = LATER) -> None:
        """Introduce itself, and follow *uris*."""
        self.initialize("mirror", *uris, versions=versions)
        self.states = dict(self.snapshots)

    def begin_again(self, *uris: str) -> list[str]:
        """Come back on a new connection, with nothing kept; the channels that are followed from now on."""
        params = {"clientId": "mirror", "lastSeenServerSeq": 0, "subscriptions": uris}
        self.states = {each["resource"]: each["state"] for each in self.ask("reconnect", params)["snapshots"]}
        return list(self.states)

    def take(self, message: dict[str, Any]) -> None:
        """Reduce an action."""
        if message.get("method") == "action" and "rejectionReason" not in message["params"]:
            self.reduce(message["params"])

    def reduce(self, envelope: dict[str, Any]) -> None:
        """Take an action in; numbers only grow."""
        assert envelope["serverSeq"] > self.seq
        self.seq = envelope["serverSeq"]
        uri = envelope["channel"]
        self.states[uri] = reduce(uri, self.states[uri], envelope["action"])

    def until(self, uri: str, text: str) -> Any:
        """The state, once its JSON has *text* in it."""
        while text not in json.dumps(self.states[uri]):
            self.take(self.hear(lambda _: True))
        return self.states[uri]

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Ask for something; what came before the answer is taken in."""
        result = super().ask(method, params)
        heard, self.heard = self.heard, []
        for message in heard:
            self.take(message)
        self.heard = [message for message in heard if message.get("method") != "action"]
        return result

    def notice(self, method: str) -> Any:
        """The parameters of the next notification of that name."""
        kept = [message for message in self.heard if message["method"] == method]
        return (kept[0] if kept else self.hear(lambda message: message.get("method") == method))["params"]

    def snapshot(self, uri: str) -> Any:
        """The host's own state of a channel that is followed already."""
        return self.ask("subscribe", {"channel": uri})["snapshot"]["state"]

    def start_turn(self, session: Session, text: str) -> str:
        """Prompt as a later version does, with a time of its own."""
        turn_id = str(uuid.uuid4())
        message = {"text": text, "origin": USER}
        said = {"turnId": turn_id, "startedAt": BEGAN, "message": message}
        self.dispatch(chat_of(session), {"type": "chat/turnStarted", **said})
        return turn_id


@pytest.fixture
def mirror(server: Server) -> Any:
    """A mirror that has not begun."""
    opened = Mirror(server.address, server.token)
    yield opened
    opened.close()


def settled(value: Any) -> Any:
    """Without the time of the last change, which a client derives from turns."""
    if isinstance(value, dict):
        return {name: settled(item) for name, item in value.items() if name != "modifiedAt"}
    return [settled(item) for item in value] if isinstance(value, list) else value


def check(mirror: Mirror, *uris: str) -> None:
    """What the mirror has is what the host has, once nothing more happens."""
    truth: Any = None
    while truth != (truth := [settled(mirror.snapshot(uri)) for uri in uris]):
        pass
    assert [settled(mirror.states[uri]) for uri in uris] == truth


@pytest.mark.parametrize("version", LATER)
def test_a_mirror_of_a_later_version_is_the_hosts_state(
    server: Server, session: Session, mirror: Mirror, version: str
) -> None:
    """Through text, an approval, a question, a queued message, a cancelled turn and an error."""
    uris = (session_of(session), chat_of(session))
    mirror.begin(*uris, versions=(version,))
    chat = uris[1]
    mirror.start_turn(session, "/say well met")
    turn = mirror.until(chat, '"state": "complete"')["turns"][0]
    assert (turn["startedAt"] > "2020", is_time(turn["startedAt"]), turn["duration"] >= 0) == (True, True, True)

    asking = mirror.start_turn(session, "/ask execute")
    asked = mirror.until(chat, '"status": "pending-confirmation"')
    check(mirror, *uris)
    call = asked["activeTurn"]["responseParts"][-1]["toolCall"]["toolCallId"]
    approval = {"turnId": asking, "toolCallId": call, "approved": True, "confirmed": "user-action"}
    mirror.dispatch(chat, {"type": "chat/toolCallConfirmed", **approval})
    session.turns[1].wait()
    check(mirror, *uris)

    mirror.start_turn(session, "/form")
    parts = mirror.until(chat, '"kind": "inputRequest"')["activeTurn"]["responseParts"]
    request = next(part["request"]["id"] for part in parts if part["kind"] == "inputRequest")
    check(mirror, *uris)
    mirror.dispatch(chat, {"type": "chat/inputCompleted", "requestId": request, "response": "decline"})
    session.turns[2].wait()
    check(mirror, *uris)

    hanging = mirror.start_turn(session, "/hang")
    mirror.until(chat, "I am silent until you cancel.")
    queued = {"id": str(uuid.uuid4()), "kind": "queued", "message": {"text": "/say later", "origin": USER}}
    mirror.dispatch(chat, {"type": "chat/pendingMessageSet", **queued})
    mirror.until(chat, '"queuedMessages"')
    check(mirror, *uris)
    mirror.dispatch(chat, {"type": "chat/turnCancelled", "turnId": hanging, "duration": 1})
    mirror.until(chat, '"state": "cancelled"')
    check(mirror, *uris)

    mirror.dispatch(chat, {"type": "chat/pendingMessageRemoved", "kind": "queued", "id": queued["id"]})
    mirror.start_turn(session, "/fail")
    failed = mirror.until(chat, '"state": "error"')["turns"][-1]
    check(mirror, *uris)
    assert (failed["responseParts"][-1]["kind"], "error" in failed) == ("error", False)
    assert "inputRequest" in [part["kind"] for part in mirror.states[chat]["turns"][2]["responseParts"]]


def test_older_turns_come_as_an_action_to_who_asked(server: Server, session: Session, mirror: Mirror) -> None:
    """The answer is empty; another client hears nothing of it, and no number comes twice."""
    for number in range(5):
        session.prompt(f"/say {number}").wait()
    chat = chat_of(session)
    mirror.begin()
    other = Mirror(server.address, server.add_client("other"))
    other.begin(chat)
    told = mirror.ask("subscribe", {"channel": chat, "view": {"turns": 2}})["snapshot"]
    mirror.states[chat] = told["state"]
    pages = []
    while cursor := mirror.states[chat].get("turnsNextCursor"):
        pages.append(mirror.ask("fetchTurns", {"channel": chat, "cursor": cursor, "limit": 2}))
    session.prompt("/say more").wait()
    check(mirror, chat)
    check(other, chat)
    other.close()
    assert (pages, len(mirror.states[chat]["turns"])) == ([{}, {}], 6)


def test_a_replay_is_in_the_form_of_the_version_that_was_negotiated(server: Server, session: Session) -> None:
    """What a client missed comes as it would have come."""
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
def test_who_comes_back_to_a_kernel_that_does_not_know_its_version_says_it_again(server: Server, version: str) -> None:
    """The kernel was restarted, say; on the same connection, as the protocol's own client does then."""
    client = Mirror(server.address, server.token)
    params = {"clientId": "mirror", "lastSeenServerSeq": 1, "subscriptions": [ROOT_URI]}
    with pytest.raises(Failed) as failed:
        client.ask("reconnect", params)
    begun = client.initialize("mirror", ROOT_URI, versions=(version,))
    client.close()
    assert (failed.value.code, begun["protocolVersion"], len(begun["snapshots"])) == (-32600, version, 1)


def test_terminals_say_whether_they_run_and_which_chat_owns_them(session: Session, mirror: Mirror) -> None:
    """In the root's list and in their own states."""
    mirror.begin(ROOT_URI)
    session.permissions = "allow"
    session.prompt("/run echo fitted").wait()
    (listed,) = mirror.until(ROOT_URI, '"exited"')["terminals"]
    claim = {"kind": "session", "session": session_of(session), "chat": chat_of(session)}
    assert (listed["claim"], listed["lifecycle"]) == (claim, {"status": "exited", "exitCode": 0})
    state = mirror.snapshot(listed["resource"])
    assert (state["claim"], state["lifecycle"]) == (claim, {"status": "exited", "exitCode": 0})


def test_sessions_are_listed_in_pages_with_their_folders_and_times(session: Session, mirror: Mirror) -> None:
    mirror.begin(ROOT_URI)
    first = mirror.ask("listSessions", {"limit": 1})
    found = list(first["items"])
    while "nextCursor" in first:
        first = mirror.ask("listSessions", {"limit": 1, "cursor": first["nextCursor"]})
        found += first["items"]
    (listed,) = [each for each in found if each["resource"] == session_of(session)]
    assert (is_time(listed["createdAt"]), "workingDirectory" in listed) == (True, False)
    assert listed["workingDirectories"] == mirror.snapshot(session_of(session))["workingDirectories"]
    with pytest.raises(Failed) as failed:
        mirror.ask("listSessions", {"cursor": "ahp-session:/gone"})
    assert failed.value.code == -32602


def test_a_new_conversation_is_in_the_kernels_folder_only(mirror: Mirror) -> None:
    """Of several folders, too."""
    mirror.begin(ROOT_URI)
    params = {"channel": f"ahp-session:/{uuid.uuid4()}", "provider": "eliza", "workingDirectories": ["file:///etc"]}
    with pytest.raises(Failed) as failed:
        mirror.ask("createSession", params)
    assert failed.value.code == -32009


def test_a_client_names_a_new_conversation_as_vscodes_does(server: Server, mirror: Mirror) -> None:
    """By its agent: it is told of the conversation by that name, others by the protocol's own."""
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
def test_a_name_of_another_form_names_no_session(mirror: Mirror, uri: str) -> None:
    """Neither to open one nor to follow one."""
    mirror.begin()
    codes = []
    for method in ("createSession", "subscribe"):
        with pytest.raises(Failed) as failed:
            mirror.ask(method, {"channel": uri, "provider": "eliza"})
        codes.append(failed.value.code)
    assert codes == [-32602, -32001]
