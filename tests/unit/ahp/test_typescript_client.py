"""The Agent Host Protocol's own TypeScript client, beside the checkout, on a live conversation with eliza."""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb import Server, Session
from agentnb.comm.service import Service
from agentnb.host import current_host
from tests.conftest import ROOT
from tests.unit.ahp.attached_page import AttachedPage
from tests.unit.ahp.client import USER, Client, chat_of, session_of
from tests.unit.ahp.conftest import Connect

HERE = ROOT / "tests/ahp_client"
TIMES = {"modifiedAt", "createdAt"}
"""What a client reads from its own clock when it reduces."""


class Peer:
    """The client, in a process of its own."""

    def __init__(self, bundle: Path) -> None:
        node = shutil.which("node") or ""
        command = [node, "--no-warnings", "--experimental-websocket", str(bundle)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, what: str, **fields: Any) -> Any:
        """Have it do something, and return what came of it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": what, **fields}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer
        return answer["result"]

    def dispatch(self, uri: str, kind: str, **fields: Any) -> None:
        """Have it dispatch an action."""
        self.do("dispatch", uri=uri, action={"type": kind, **fields})

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def bundle(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test's driver with the client."""
    folder = shared / "peers/ahp/clients/typescript"
    if not folder.is_dir():
        pytest.skip(f"no client of the Agent Host Protocol at {folder}")
    node = shutil.which("node")
    if node is None or not (ROOT / "js/node_modules/esbuild").is_dir():
        pytest.skip("node, or js/node_modules, is not installed")
    into = tmp_path_factory.mktemp("ahp") / "drive.mjs"
    made = subprocess.run(
        [node, str(HERE / "bundle.mjs"), str(folder), str(into)], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    return into


@pytest.fixture
def peer(bundle: Path) -> Iterator[Peer]:
    """The client."""
    peer = Peer(bundle)
    yield peer
    peer.close()


def settled(value: Any) -> str:
    """JSON without what a client's own clock says, and without what is absent."""

    def keep(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: keep(item) for name, item in value.items() if name not in TIMES and item is not None}
        return [keep(item) for item in value] if isinstance(value, list) else value

    return json.dumps(keep(value), sort_keys=True, ensure_ascii=False)


def states(peer: Peer, host: Client, *uris: str) -> tuple[dict[str, str], dict[str, str]]:
    """What the client's mirror has, and what the host has, both as text, once nothing more happens."""
    truth: dict[str, str] = {}
    mirrored: dict[str, str] = {}
    while truth != (truth := {uri: settled(host.snapshot(uri)) for uri in uris}):
        peer.do("request", method="ping", params={"channel": "ahp-root://"})  # answered after all that happened before
        mirrored = {uri: settled(peer.do("state", uri=uri)) for uri in uris}
    return mirrored, truth


def test_their_client_mirrors_prompts_approves_cancels_and_comes_back(
    server: Server, session: Session, connect: Connect, peer: Peer
) -> None:
    """At each step the mirror's root, session and chat are the host's, byte for byte, beside the clocks."""
    root, of_session, chat = "ahp-root://", session_of(session), chat_of(session)
    host = connect(server.add_client("truth"), "truth")
    begun = peer.do("connect", url=server.url, id="theirs", versions=["0.5.0", "0.4.0"], uris=[root, of_session, chat])
    assert begun["protocolVersion"] == "0.5.0"
    mirrored, truth = states(peer, host, root, of_session, chat)
    assert mirrored == truth

    turns = [str(uuid.uuid4()) for _ in range(4)]
    peer.dispatch(chat, "chat/turnStarted", turnId=turns[0], message={"text": "/say well met", "origin": USER})
    peer.do("until", uri=chat, text='"state":"complete"')
    assert session.turns[0].wait().text == "well met"

    peer.dispatch(chat, "chat/turnStarted", turnId=turns[1], message={"text": "/ask execute", "origin": USER})
    asked = peer.do("until", uri=chat, text='"status":"pending-confirmation"')
    call = asked["activeTurn"]["responseParts"][-1]["toolCall"]
    approval = {"turnId": turns[1], "toolCallId": call["toolCallId"], "approved": True, "confirmed": "user-action"}
    peer.dispatch(chat, "chat/toolCallConfirmed", **approval)
    assert "allow_once" in session.turns[1].wait().text

    peer.dispatch(chat, "chat/turnStarted", turnId=turns[2], message={"text": "/hang", "origin": USER})
    peer.do("until", uri=chat, text="I am silent until you cancel.")  # later than its turn it has no action in AHP
    peer.dispatch(chat, "chat/turnCancelled", turnId=turns[2])
    assert session.turns[2].wait().state == "cancelled"
    mirrored, truth = states(peer, host, root, of_session, chat)
    assert mirrored == truth

    peer.do("cut")
    session.prompt("/plan 3").wait()
    back = peer.do("reconnect", url=server.url)
    assert (back["type"], back["missing"]) == ("replay", [])
    mirrored, truth = states(peer, host, root, of_session, chat)
    assert mirrored == truth

    peer.do("cut")
    session.prompt("/tool search").wait()
    assert peer.do("reconnect", url=server.url, since=0)["type"] == "snapshot"
    mirrored, truth = states(peer, host, root, of_session, chat)
    assert mirrored == truth
    assert peer.do("rejections") == []


def test_a_page_their_client_and_python_drive_one_conversation_at_once(
    server: Server, session: Session, connect: Connect, peer: Peer
) -> None:
    """Each prompts while the others do: every prompt is answered once, and all see the same in the end."""
    chat, ours = chat_of(session), f"{session.agent}:/{session.tab_id}/chat"
    page = AttachedPage(lambda send: Service(current_host(), send))
    page.follow(ours)
    peer.do("connect", url=server.url, id="theirs", versions=["0.5.0"], uris=[chat])
    said = []
    for number in range(3):
        turn = {"turnId": str(uuid.uuid4()), "message": {"text": f"/say theirs {number}", "origin": USER}}
        peer.dispatch(chat, "chat/turnStarted", **turn)
        turn = {"turnId": str(uuid.uuid4()), "message": {"text": f"/say page {number}", "origin": USER}}
        page.dispatch(ours, {"type": "chat/turnStarted", **turn})
        session.prompt(f"/say python {number}")
        said += [f"/say {who} {number}" for who in ("theirs", "page", "python")]
    shown = page.until(ours, lambda state: len(state.turns) == len(said) and state.active_turn is None)
    host = connect(server.add_client("truth"), "truth")
    mirrored, truth = states(peer, host, chat)
    assert sorted(turn.message.text for turn in shown.turns) == sorted(said)
    assert (mirrored, peer.do("rejections"), page.refusals) == (truth, [], [])
