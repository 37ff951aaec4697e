"""Real agents with their default settings: under Ask they write and run nothing before they ask the user.

With ``AGENTNB_AGENT_MATRIX=FILE`` each test adds its row to that file; ``make agent-matrix`` makes the table in
``docs/reference/agents.md`` of it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session, Turn
from agentnb.host import Host
from tests.peers.agents import FURTHER, PEERS, Peer
from tests.peers.test_turns import SECONDS, Start, pending
from tests.unit.host.conftest import until

pytestmark = pytest.mark.peers
EVERYONE = [*PEERS, *FURTHER]
MATRIX = os.environ.get("AGENTNB_AGENT_MATRIX")


@pytest.fixture
def environment(peer: Peer, model_server: str, tmp_path: Path) -> dict[str, str]:
    """The real agent's environment without settings that make it ask."""
    variables = peer.at_home(tmp_path / "agent-home", model_server)
    for file in (tmp_path / "agent-home").rglob("opencode.json"):
        config = json.loads(file.read_text(encoding="utf-8"))
        config.pop("permission", None)
        file.write_text(json.dumps(config), encoding="utf-8")
    return variables


def note(peer: Peer, **columns: Any) -> None:
    """Adds a row to the matrix file, if set."""
    if MATRIX is not None:
        with Path(MATRIX).open("a", encoding="utf-8") as rows:
            rows.write(json.dumps({"agent": peer.name, "version": peer.version, **columns}) + "\n")


def ends_or_asks(host: Host, session: Session, turn: Turn) -> bool:
    """Wait until *turn* asks or ends; True if it asks."""
    until(host, session, lambda: pending(session) or turn.done, SECONDS)
    return bool(pending(session))


@pytest.mark.parametrize("peer", EVERYONE, indirect=True)
def test_agent_with_default_settings_changes_nothing_under_ask(
    host: Host, start: Start, peer: Peer, workspace: Path
) -> None:
    """Without approval the agent neither edits a file nor runs a command."""
    session = start("ask")
    questions = 0
    for words in ("[[write]] Write it.", "[[shell]] Run it."):
        turn = session.prompt(words)
        while ends_or_asks(host, session, turn):
            assert list(workspace.iterdir()) == []
            questions += 1
            session.cancel()
            turn.wait(SECONDS)
    process = session.state.agent_process
    note(peer, asked=questions, problem=process.acts_unasked if process is not None else None)
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize("peer", EVERYONE, indirect=True)
def test_undo_reverts_what_an_agent_does_by_default(host: Host, start: Start, peer: Peer, workspace: Path) -> None:
    """Under Allow it keeps its own mode; undo reverts files of its own tools."""
    session = start("allow")
    turn = session.prompt("[[write text]] Write it.").wait(timeout=SECONDS).raise_for_error()
    wrote = bool(list(workspace.iterdir()))  # Codex uses its own sandbox, which some machines refuse
    asks = any(each.kind in {"permission", "write"} for each in host.policy.audit.records)
    usage = turn.usage
    turn.undo()
    undone = list(workspace.iterdir()) == []
    note(
        peer,
        asks_by_default=asks,
        undone=undone if wrote else None,
        tokens=usage is not None and bool(usage.input_tokens or usage.output_tokens),
    )
    assert undone
