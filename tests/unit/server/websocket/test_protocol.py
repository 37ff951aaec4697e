"""The Agent Host Protocol's rules for a host, tested over a WebSocket."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import Server, Session
from agentnb.api.settings import policy
from agentnb.server.websocket.commands import SPOKEN
from agentnb.server.websocket.projection import place_of, to_ahp
from scripts.gen_ahp_docs import MISSING
from tests.unit.server.websocket.client import Client, Failed, chat_of, session_of
from tests.unit.server.websocket.conftest import Connect


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (("0.9.0", "x"), "0.9.0"),
        (("0.9.0", "0.4.0", "0.5.0"), "0.9.0"),
        (("1.0.0", "0.9.0"), "1.0.0"),
        (("0.9.0", "1.2.0", "2.0.0", "1.0.0"), "1.2.0"),
        (("0.9.3", "0.10.0"), "0.9.3"),
    ],
)
def test_initialize_chooses_the_highest_common_version(server: Server, offered: tuple[str, ...], chosen: str) -> None:
    """In any order; invalid versions are ignored."""
    client = Client(server.address, server.token)
    assert client.initialize("me", versions=offered)["protocolVersion"] == chosen
    client.close()


@pytest.mark.parametrize("offered", [("0.8.0",), ("0.5.0", "0.4.0"), ("0.5.1", "2.0.0"), ("0.10.0",), (), ("latest",)])
def test_initialize_fails_with_supported_versions_when_none_fit(server: Server, offered: tuple[str, ...]) -> None:
    """The error is the specification's, with the versions in its data; the connection ends."""
    client = Client(server.address, server.token)
    with pytest.raises(Failed) as failed:
        client.initialize("me", versions=offered)
    assert (failed.value.code, failed.value.data) == (-32005, {"supportedVersions": list(SPOKEN)})
    client.close()


def test_session_lists_its_chat_with_its_status(server: Server, session: Session, connect: Connect) -> None:
    """The chat is the default one, and its entry follows the chat's status."""
    client = connect(None, "me", session_of(session))
    state = client.snapshots[session_of(session)]
    assert (state["defaultChat"], state["chats"][0]["resource"]) == (chat_of(session), chat_of(session))
    session.prompt("/say on").wait()
    changed = client.hear_action("session/chatUpdated")["action"]
    assert (changed["chat"], changed["changes"]["status"]) == (chat_of(session), 8)


def test_notifications_report_opened_renamed_and_closed_sessions(
    server: Server, connect: Connect, tmp_path: Path
) -> None:
    client = connect(None, "me", "ahp-root://")
    session = agentnb.start("eliza", cwd=tmp_path)
    heard = []
    added = client.hear(lambda message: message.get("method") == "root/sessionAdded")
    heard.append(added["params"]["summary"]["resource"])
    client.dispatch(session_of(session), {"type": "session/titleChanged", "title": "Fit"})

    def is_renamed(message: dict[str, Any]) -> bool:
        changes = message.get("params", {}).get("changes", {})
        return message.get("method") == "root/sessionSummaryChanged" and changes.get("title") == "Fit"

    heard.append(client.hear(is_renamed)["params"]["session"])
    assert session_of(session) in [each["resource"] for each in client.ask("listSessions", {})["items"]]
    session.close()
    removed = client.hear(lambda message: message.get("method") == "root/sessionRemoved")
    heard.append(removed["params"]["session"])
    assert heard == [session_of(session)] * 3


def test_client_opens_and_closes_a_conversation_at_its_own_uri(server: Server, connect: Connect) -> None:
    """A URI in use, an unknown agent, another folder and a path are refused with the right errors."""
    client, channel = connect(None, "me", "ahp-root://"), f"ahp-session:/{uuid.uuid4()}"
    client.ask("createSession", {"channel": channel, "provider": "eliza"})
    codes = []
    for params in (
        {"channel": channel},
        {"channel": f"ahp-session:/{uuid.uuid4()}", "provider": "nobody"},
        {"channel": f"ahp-session:/{uuid.uuid4()}", "workingDirectory": "file:///etc"},
        {"channel": "ahp-session:/../../etc"},
        {"channel": f"ahp-session:/{uuid.uuid4()}", "fork": {"session": channel, "turnId": "1"}},
    ):
        with pytest.raises(Failed) as failed:
            client.ask("createSession", params)
        codes.append(failed.value.code)
    assert codes == [-32003, -32002, -32009, -32602, -32602]
    client.ask("disposeSession", {"channel": channel})
    gone = client.hear(lambda message: message.get("method") == "root/sessionRemoved")
    assert gone["params"]["session"] == channel


def test_python_and_two_clients_drive_one_conversation(server: Server, session: Session, connect: Connect) -> None:
    """Each sees the others' actions; only the first of two approvals counts, and the second is rejected."""
    one, two = connect(None, "one", chat_of(session)), connect(server.add_client("b", rights=["approve"]), "two")
    two.snapshot(chat_of(session))
    turn = session.prompt("/ask execute")
    call = one.hear_action("chat/toolCallReady")["action"]["toolCallId"]
    two.hear_action("chat/toolCallReady")
    approval = {"type": "chat/toolCallConfirmed", "turnId": turn.id, "toolCallId": call, "approved": True}
    one.dispatch(chat_of(session), approval)
    first = two.hear_action("chat/toolCallConfirmed")
    seq = two.dispatch(chat_of(session), approval)
    second = two.hear_action("chat/toolCallConfirmed")
    assert ("rejectionReason" in first, first["origin"]["clientId"].startswith("remote:editor:one:")) == (False, True)
    assert (second["origin"], "rejectionReason" in second) == ({"clientId": "two", "clientSeq": seq}, True)
    turn.wait()
    assert policy(session).records[-1].by == "client editor"


def test_only_one_of_two_simultaneous_approvals_counts(server: Server, session: Session, connect: Connect) -> None:
    """The other client gets the reason, and the audit log names the first."""
    clients = {"editor": connect(None, "one", chat_of(session))}
    clients["phone"] = connect(server.add_client("phone", rights=["approve"]), "two", chat_of(session))
    turn = session.prompt("/ask execute")
    (call,) = {client.hear_action("chat/toolCallReady")["action"]["toolCallId"] for client in clients.values()}
    approval = {"type": "chat/toolCallConfirmed", "turnId": turn.id, "toolCallId": call, "approved": True}
    for client in clients.values():
        client.dispatch(chat_of(session), approval)
    own = {
        name: client.hear(lambda message, own=own: message.get("params", {}).get("origin", {}).get("clientId") == own)
        for (name, client), own in zip(clients.items(), ("one", "two"), strict=True)
    }
    accepted = [name for name, message in own.items() if "rejectionReason" not in message["params"]]
    turn.wait()
    assert len(accepted) == 1
    assert policy(session).records[-1].by == f"client {accepted[0]}"


def test_mcp_servers_are_reported_as_customizations(connect: Connect, tmp_path: Path) -> None:
    """One for each MCP server, once the agent runs."""
    session = agentnb.start("eliza", cwd=tmp_path, mcp_servers={"docs": {"command": "cat"}})
    client = connect(None, "me", session_of(session))
    session.prompt("/say on").wait()
    customizations = client.hear_action("session/customizationsChanged")["action"]["customizations"]
    known = client.snapshot(session_of(session))["customizations"]
    session.close()
    assert ([each["name"] for each in customizations], known) == (["docs"], customizations)


def test_client_reads_only_files_of_the_workspace(session: Session, connect: Connect, tmp_path: Path) -> None:
    """Folders are listed; a path outside, or not of a file, is refused with the specification's error."""
    (tmp_path / "fit.txt").write_text("a fit\n")
    client, here = connect(), tmp_path.as_uri()
    names = [each["name"] for each in client.ask("resourceList", {"uri": here})["entries"]]
    assert ("fit.txt" in names, client.ask("resourceRead", {"uri": f"{here}/fit.txt"})["data"]) == (True, "a fit\n")
    codes = []
    for uri in (f"{here}/../x", "file:///etc/passwd", "http://localhost/x", f"{here}/none", "agentnb-content:t/0"):
        with pytest.raises(Failed) as failed:
            client.ask("resourceRead", {"uri": uri})
        codes.append(failed.value.code)
    assert codes == [-32009, -32009, -32008, -32008, -32008]


@pytest.mark.parametrize("method", [*MISSING, "no/such"])
def test_unsupported_method_gets_the_specified_error(connect: Connect, method: str) -> None:
    """For each documented method: method not found, and the connection continues."""
    client = connect()
    with pytest.raises(Failed) as failed:
        client.ask(method, {})
    assert (failed.value.code, client.ask("ping", {})) == (-32601, {})


def test_reconnect_replays_missed_actions_and_lists_lost_channels(
    server: Server, session: Session, connect: Connect
) -> None:
    """Its own earlier actions carry its client id; a number from the future is answered with snapshots."""
    client = connect(None, "me", chat_of(session))
    client.prompt(session, "/say first", str(uuid.uuid4()))
    last = client.hear_action("chat/turnComplete")["serverSeq"]
    client.close()
    session.prompt("/say second").wait()
    gone = f"ahp-session:/{uuid.uuid4()}"
    again = Client(server.address, server.token)
    params = {"clientId": "me", "lastSeenServerSeq": client.seq, "subscriptions": [chat_of(session), gone]}
    replay = again.ask("reconnect", params)
    own = [each["origin"]["clientId"] for each in replay["actions"] if "origin" in each]
    numbers = [each["serverSeq"] for each in replay["actions"]]
    again.close()
    assert (replay["type"], replay["missing"], own[0]) == ("replay", [gone], "me")
    assert (numbers == sorted(set(numbers)), numbers[-1] > last) == (True, True)
    ahead = Client(server.address, server.token)
    params |= {"lastSeenServerSeq": numbers[-1] + 1_000_000}
    answer = ahead.ask("reconnect", params)
    ahead.close()
    assert (answer["type"], [each["resource"] for each in answer["snapshots"]]) == ("snapshot", [chat_of(session)])


def test_terminals_of_agents_are_channels(server: Server, session: Session, connect: Connect) -> None:
    """The root lists them; each has its output and exit status."""
    client = connect(None, "me", "ahp-root://")
    session.permissions = "allow"
    session.prompt("/run echo fitted").wait()
    listed = client.hear_action("root/terminalsChanged")["action"]["terminals"]
    state = client.snapshot(listed[0]["resource"])
    assert ("fitted" in state["content"][0]["value"], state["lifecycle"]) == (True, {"status": "exited", "exitCode": 0})


def test_change_sets_are_channels(server: Server, session: Session, connect: Connect) -> None:
    """A client can subscribe to a session's template, with the turn's id filled in."""
    client = connect(None, "me", session_of(session))
    template = client.snapshots[session_of(session)]["changesets"][-1]["uriTemplate"]
    assert client.snapshot(template)["files"] == []


@pytest.mark.parametrize(
    "uri",
    [
        "ahp-session:/../../etc",
        "ahp-session:/..%2f..%2fetc",
        "ahp-session://x/1",
        "ahp-session:/",
        "ahp-session:/1/2",
        "ahp-chat:/1\n",
        "ahp-terminal:/1",
        "ahp-changeset:/1/../2",
        "eliza:/1",
        "ahp-session:/" + "a" * 1000,
        "ahp-session:/\u0661",
    ],
)
def test_uri_of_another_form_is_rejected(uri: str) -> None:
    """Rejects everything that looks like a path."""
    assert place_of(uri) is None or to_ahp(uri) == uri


def test_client_fetches_long_content_by_reference(session: Session, connect: Connect) -> None:
    """The state has the beginning of a long prompt and a reference to all of it."""
    text = "a long line\n" * 10_000
    session.prompt(text).wait()
    client = connect(None, "me", chat_of(session))
    message = client.snapshots[chat_of(session)]["turns"][0]["message"]
    whole = client.ask("resourceRead", {"uri": message["textRef"]["uri"]})["data"]
    assert (len(message["text"]) < 10_000, whole) == (True, text)
