"""Where sessions are kept: ids that are given once, records that come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentnb.plugins.acp_agent.session import Exchange
from agentnb.plugins.acp_agent.store import FolderStore, MemoryStore, Store, open_store
from agentnb.plugins.eliza.doctor import Doctor, load_script
from agentnb.plugins.eliza.session import Session
from agentnb.plugins.eliza.settings import Settings


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Each kind of store."""
    return open_store(str(tmp_path / "sessions") if request.param == "folder" else None)


def test_open_without_a_folder() -> None:
    """Without a folder sessions stay in the process."""
    assert isinstance(open_store(None), MemoryStore)
    assert isinstance(open_store(""), MemoryStore)


def test_records(store: Store) -> None:
    """A record comes back and the records are in order."""
    records = [{"session_id": store.new_id(), "n": number} for number in range(11)]
    for record in records:
        store.save(record)
    store.save({"session_id": "sess-2", "n": "new"})
    assert store.load("sess-2") == {"session_id": "sess-2", "n": "new"}
    assert [record["session_id"] for record in store.records()] == [f"sess-{number}" for number in range(1, 12)]


def test_missing_session(store: Store) -> None:
    """A session that is not there is none."""
    assert store.load("sess-7") is None


def test_shared_folder(tmp_path: Path) -> None:
    """Two processes that share a folder never get the same id."""
    first, second = FolderStore(tmp_path), FolderStore(tmp_path)
    assert [first.new_id(), second.new_id(), first.new_id(), second.new_id()] == [
        "sess-1",
        "sess-2",
        "sess-3",
        "sess-4",
    ]


def test_id_with_a_path(tmp_path: Path) -> None:
    """An id cannot lead out of the folder."""
    (tmp_path / "secret.json").write_text("{}")
    assert FolderStore(tmp_path / "sessions").load("../secret") is None


def test_empty_file(tmp_path: Path) -> None:
    """A file that is taken but not written is no session."""
    store = FolderStore(tmp_path)
    assert store.load(store.new_id()) is None
    assert store.records() == []


def test_session_record() -> None:
    """A session comes back as it was."""
    doctor = Doctor(load_script())
    doctor.answer("my cat is ill")
    exchange = Exchange([{"type": "text", "text": "my cat is ill"}])
    for piece in ("How ", "so?"):
        exchange.add_text("agent_message_chunk", piece)
    session = Session(
        "sess-1",
        Path("/work"),
        "Cats",
        exchanges=[exchange],
        settings=Settings("plain", {"pace": "natural"}),
        doctor=doctor,
    )
    record = session.record()
    assert Session.restore(record).record() == record
    assert record["exchanges"][0]["updates"] == [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "How so?"}}
    ]


def test_session_name() -> None:
    """A session without a title is named by its first prompt."""
    session = Session("sess-1", Path("/work"))
    assert session.name is None
    session.begin([{"type": "text", "text": "word " * 20}])
    assert session.name == ("word " * 20)[:47].rstrip() + "…"
