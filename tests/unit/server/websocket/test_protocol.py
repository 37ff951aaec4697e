"""The Agent Host Protocol's rules for a host, tested over a WebSocket."""

from __future__ import annotations

import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import Server, Session
from scripts.gen_ahp_docs import MISSING
from tests.unit.server.websocket.client import VERSIONS, Client, Failed, chat_of, decisions, session_of
from tests.unit.server.websocket.conftest import Connect


def test_initialize_chooses_the_highest_common_version(server: Server) -> None:
    """In any order; invalid versions are ignored."""
    for chosen, *others in (
        ("0.9.0", "x"),
        ("0.9.0", "0.4.0", "0.5.0"),
        ("1.0.0", "0.9.0"),
        ("1.2.0", "0.9.0", "2.0.0", "1.0.0"),
        ("0.9.3", "0.10.0"),
    ):
        for offered in ((chosen, *others), (*others, chosen)):
            client = Client(server.address, server.token)
            assert client.initialize("me", versions=offered)["protocolVersion"] == chosen
            client.close()


def test_initialize_fails_with_supported_versions_when_none_fit(server: Server) -> None:
    """The error is the specification's, with the versions in its data; the connection ends."""
    for offered in (("0.8.0",), ("0.5.0", "0.4.0"), ("0.5.1", "2.0.0"), ("0.10.0",), (), ("latest",)):
        client = Client(server.address, server.token)
        with pytest.raises(Failed) as failed:
            client.initialize("me", versions=offered)
        client.close()
        assert (failed.value.code, failed.value.data) == (-32005, {"supportedVersions": list(VERSIONS)})


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
    heard = [client.notice("root/sessionAdded")["summary"]["resource"]]
    client.dispatch(session_of(session), {"type": "session/titleChanged", "title": "Fit"})

    def is_renamed(message: dict[str, Any]) -> bool:
        changes = message.get("params", {}).get("changes", {})
        return message.get("method") == "root/sessionSummaryChanged" and changes.get("title") == "Fit"

    heard.append(client.hear(is_renamed)["params"]["session"])
    session.close()
    heard.append(client.notice("root/sessionRemoved")["session"])
    assert heard == [session_of(session)] * 3


def test_session_list_has_pages_folders_and_times(session: Session, connect: Connect) -> None:
    """A cursor that is not of a page is refused."""
    client = connect()
    page = client.ask("listSessions", {"limit": 1})
    sessions = list(page["items"])
    while "nextCursor" in page:
        page = client.ask("listSessions", {"limit": 1, "cursor": page["nextCursor"]})
        sessions += page["items"]
    (listed,) = [each for each in sessions if each["resource"] == session_of(session)]
    began = datetime.fromisoformat(listed["createdAt"].removesuffix("Z"))
    assert (began.year >= 1970, listed["createdAt"][-1], "workingDirectory" in listed) == (True, "Z", False)
    assert listed["workingDirectories"] == client.snapshot(session_of(session))["workingDirectories"]
    assert client.failure("listSessions", cursor="ahp-session:/gone") == -32602


def test_client_opens_and_closes_a_conversation_at_its_own_uri(server: Server, connect: Connect) -> None:
    """A URI in use, an unknown agent, another folder and a path are refused with the right errors."""
    client, channel = connect(None, "me", "ahp-root://"), f"ahp-session:/{uuid.uuid4()}"
    client.ask("createSession", {"channel": channel, "provider": "eliza"})

    def code(**params: Any) -> int:
        return client.failure("createSession", **{"channel": f"ahp-session:/{uuid.uuid4()}", **params})

    assert code(channel=channel) == -32003
    assert code(provider="nobody") == -32002
    assert code(workingDirectory="file:///etc") == -32009
    assert code(provider="eliza", workingDirectories=["file:///etc"]) == -32009
    assert code(fork={"session": channel, "turnId": "1"}) == -32602
    client.ask("disposeSession", {"channel": channel})
    assert client.notice("root/sessionRemoved")["session"] == channel


def test_client_can_name_a_new_conversation_like_vscode(server: Server, connect: Connect) -> None:
    """By its agent's name: this client gets the conversation by that name, others by the protocol's."""
    tab_id = str(uuid.uuid4())
    chosen, own = f"eliza:/{tab_id}", f"ahp-session:/{tab_id}"
    client, other = connect(None, "me", "ahp-root://"), connect(server.add_client("other"), "other", "ahp-root://")
    client.ask("createSession", {"channel": chosen, "provider": "eliza"})
    added = [each.notice("root/sessionAdded")["summary"]["resource"] for each in (client, other)]
    snapshot = client.ask("subscribe", {"channel": chosen})["snapshot"]
    assert ([snapshot["resource"], *added], snapshot["state"]["provider"]) == ([chosen, chosen, own], "eliza")
    client.dispatch(chosen, {"type": "session/titleChanged", "title": "Fit"})
    assert client.hear_action("session/titleChanged")["channel"] == chosen
    assert chosen in [each["resource"] for each in client.ask("listSessions", {})["items"]]
    client.close()
    again = Client(server.address, server.token)
    params = {"clientId": "me", "lastSeenServerSeq": 0, "subscriptions": ["ahp-root://", chosen, "eliza:/none"]}
    snapshots = again.ask("reconnect", params)["snapshots"]
    assert [each["resource"] for each in snapshots] == ["ahp-root://", chosen]
    again.ask("disposeSession", {"channel": chosen})
    assert [each.notice("root/sessionRemoved")["session"] for each in (again, other)] == [chosen, own]
    again.close()


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
    assert decisions(session)[-1].by == f"client {accepted[0]}"


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
    uris = f"{here}/../x", "file:///etc/passwd", "http://localhost/x", f"{here}/none", "agentnb-content:t/0"
    codes = [client.failure("resourceRead", uri=uri) for uri in uris]
    assert codes == [-32009, -32009, -32008, -32008, -32008]


def test_unsupported_method_gets_the_specified_error(connect: Connect) -> None:
    """For each documented method: method not found, and the connection continues."""
    client = connect()
    assert {client.failure(method) for method in (*MISSING, "no/such")} == {-32601}
    assert client.ask("ping", {}) == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_client_renegotiates_when_the_kernel_forgot_its_version(server: Server, version: str) -> None:
    """For example after a kernel restart; on the same connection, as the protocol's own client does."""
    client = Client(server.address, server.token)
    assert client.failure("reconnect", clientId="me", lastSeenServerSeq=1, subscriptions=["ahp-root://"]) == -32600
    begun = client.initialize("me", "ahp-root://", versions=(version,))
    client.close()
    assert (begun["protocolVersion"], len(begun["snapshots"])) == (version, 1)


def test_reconnect_replays_missed_actions_and_lists_lost_channels(
    server: Server, session: Session, connect: Connect
) -> None:
    """Its own earlier actions carry its client id; a number from the future or of no sense gets snapshots."""
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
    for number in (numbers[-1] + 1_000_000, 2**60, -1, 1e300, 0.5):
        ahead = Client(server.address, server.token)
        answer = ahead.ask("reconnect", {**params, "lastSeenServerSeq": number})
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


WRONG_CHANNELS = [
    "ahp-session:/../../etc",
    "ahp-session:/..%2f..%2fetc",
    "ahp-session://x/1",
    "ahp-session:/",
    "ahp-session:/1/2",
    "ahp-session:/" + "a" * 1000,
    "ahp-session:/\u0661",
    "ahp-chat:/1\n",
    "ahp-chat:/..%2f..",
    "ahp-terminal:/1",
    "ahp-changeset:/1/../2",
    "ahp-other:/x",
    "file:///etc/passwd",
    "file:/x",
    "",
    "eliza:/1",
    "eliza:/x/chat",
    "eliza:/../../etc",
    "x" * 41 + ":/x",
]


def test_uri_of_another_form_is_refused(connect: Connect) -> None:
    """Also everything that looks like a path: it names no channel that is open, and opens none."""
    client = connect()
    assert [client.failure("subscribe", channel=uri) for uri in WRONG_CHANNELS] == [-32001] * len(WRONG_CHANNELS)
    assert {client.failure("createSession", channel=uri) for uri in WRONG_CHANNELS if uri != "eliza:/1"} == {-32602}
    assert client.ask("ping", {}) == {}


def test_client_fetches_long_content_by_reference(session: Session, connect: Connect) -> None:
    """The state has the beginning of a long prompt and a reference to all of it."""
    text = "a long line\n" * 10_000
    session.prompt(text).wait()
    client = connect(None, "me", chat_of(session))
    message = client.snapshots[chat_of(session)]["turns"][0]["message"]
    whole = client.ask("resourceRead", {"uri": message["textRef"]["uri"]})["data"]
    assert (len(message["text"]) < 10_000, whole) == (True, text)
