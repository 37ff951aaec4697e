"""Where sessions are kept: ids that are given once, records that come back."""

from __future__ import annotations

from pathlib import Path

from agentnb.plugins.acp_agent.session import SessionExchange
from agentnb.plugins.acp_agent.store import SessionFolder, SessionStore, open_store
from agentnb.plugins.eliza.doctor import Doctor, load_script
from agentnb.plugins.eliza.session import ElizaSession
from agentnb.plugins.eliza.settings import ElizaSettings


def test_open_without_a_folder() -> None:
    """Without a folder sessions stay in the process."""
    assert isinstance(open_store(None), SessionStore)
    assert isinstance(open_store(""), SessionStore)


def test_shared_folder(tmp_path: Path) -> None:
    """Two processes that share a folder never get the same id."""
    first, second = SessionFolder(tmp_path), SessionFolder(tmp_path)
    assert [first.new_id(), second.new_id(), first.new_id(), second.new_id()] == [
        "sess-1",
        "sess-2",
        "sess-3",
        "sess-4",
    ]


def test_id_with_a_path(tmp_path: Path) -> None:
    """An id cannot lead out of the folder."""
    (tmp_path / "secret.json").write_text("{}")
    assert SessionFolder(tmp_path / "sessions").load("../secret") is None


def test_empty_file(tmp_path: Path) -> None:
    """A file that is taken but not written is no session."""
    store = SessionFolder(tmp_path)
    assert store.load(store.new_id()) is None
    assert store.records() == []


def test_session_record() -> None:
    """A session comes back as it was."""
    doctor = Doctor(load_script())
    doctor.answer("my cat is ill")
    exchange = SessionExchange([{"type": "text", "text": "my cat is ill"}])
    for piece in ("How ", "so?"):
        exchange.add_text("agent_message_chunk", piece)
    session = ElizaSession(
        "sess-1",
        Path("/work"),
        "Cats",
        exchanges=[exchange],
        settings=ElizaSettings("plain", {"pace": "natural"}),
        doctor=doctor,
    )
    record = session.record()
    assert ElizaSession.restore(record).record() == record
    assert record["exchanges"][0]["updates"] == [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "How so?"}}
    ]


def test_session_name() -> None:
    """A session without a title is named by its first prompt."""
    session = ElizaSession("sess-1", Path("/work"))
    assert session.name is None
    session.begin([{"type": "text", "text": "word " * 20}])
    assert session.name == ("word " * 20)[:47].rstrip() + "…"
