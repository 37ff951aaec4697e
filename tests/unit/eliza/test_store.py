"""Where sessions are kept: ids that are given once, records that come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentnb.eliza.doctor import Doctor, load_script
from agentnb.eliza.session import Exchange, Session
from agentnb.eliza.settings import Settings
from agentnb.eliza.store import FolderStore, MemoryStore, Store, open_store


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "sessions") if request.param == "folder" else None)


def test_without_a_folder_sessions_stay_in_the_process() -> None:
    assert isinstance(open_store(None), MemoryStore)
    assert isinstance(open_store(""), MemoryStore)


def test_a_record_comes_back_and_the_records_are_in_order(store: Store) -> None:
    records = [{"session_id": store.new_id(), "n": number} for number in range(11)]
    for record in records:
        store.save(record)
    store.save({"session_id": "sess-2", "n": "new"})
    assert store.load("sess-2") == {"session_id": "sess-2", "n": "new"}
    assert [record["session_id"] for record in store.records()] == [f"sess-{number}" for number in range(1, 12)]


def test_a_session_that_is_not_there_is_none(store: Store) -> None:
    assert store.load("sess-7") is None


def test_two_processes_that_share_a_folder_never_get_the_same_id(tmp_path: Path) -> None:
    first, second = FolderStore(tmp_path), FolderStore(tmp_path)
    assert [first.new_id(), second.new_id(), first.new_id(), second.new_id()] == ["sess-1", "sess-2", "sess-3", "sess-4"]


def test_an_id_can_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    assert FolderStore(tmp_path / "sessions").load("../secret") is None


def test_a_file_that_is_taken_but_not_written_is_no_session(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    assert store.load(store.new_id()) is None
    assert store.records() == []


def test_a_session_comes_back_as_it_was() -> None:
    doctor = Doctor(load_script())
    doctor.answer("my cat is ill")
    exchange = Exchange([{"type": "text", "text": "my cat is ill"}])
    for piece in ("How ", "so?"):
        exchange.add_text("agent_message_chunk", piece)
    session = Session("sess-1", Path("/work"), "Cats", None, Settings("plain", {"pace": "natural"}), doctor, [exchange])
    record = session.record()
    assert Session.restore(record).record() == record
    assert record["exchanges"][0]["updates"] == [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "How so?"}}
    ]


def test_a_session_without_a_title_is_named_by_its_first_prompt() -> None:
    session = Session("sess-1", Path("/work"))
    assert session.name is None
    session.begin([{"type": "text", "text": "word " * 20}])
    assert session.name == ("word " * 20)[:47].rstrip() + "…"
