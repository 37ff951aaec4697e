"""The page's history: sessions that only an agent keeps are listed and opened; the stored data is managed."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.host import Host
from agentnb.host.history.restore import recorder_of
from tests.unit.api.conftest import PATIENCE
from tests.unit.server.test_history_arrangement import refused
from tests.unit.server.test_history_requests import MakeHost, kernel, page_of, talk, uris
from tests.unit.server.test_service import Page

__all__ = ["kernel"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sets the current folder, the data folder and Eliza's store."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("AGENTNB_ELIZA_STORE", str(tmp_path / "eliza"))
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    return work


def prompted(host: Host, page: Page, text: str) -> str:
    """Holds a conversation with Eliza, closes it, and returns its channel."""
    uri: str = page.ask("createSession", {"agent": "eliza"})["result"]["channel"]
    session = Session(host.conversations[uri])
    session.prompt(text).wait(PATIENCE)
    session.close()
    return uri


def theirs(page: Page, **params: object) -> list[tuple[str, str]]:
    """Returns title and folder of each session that only the agent has."""
    answer = page.ask("listAgentSessions", {"agent": "eliza", **params})["result"]
    return [(one["title"], one["cwd"]) for one in answer["sessions"]]


def test_page_lists_and_opens_sessions_that_only_the_agent_has(kernel: MakeHost, folder: Path) -> None:
    """A logged session is not listed twice; an opened one has its transcript and is logged from its next turn."""
    host = kernel()
    page = page_of(host)
    gone, stays = prompted(host, page, "/say forgotten here"), prompted(host, page, "/say kept here")
    assert theirs(page) == []
    page.ask("deleteSession", {"channel": gone})
    (one,) = page.ask("listAgentSessions", {"agent": "eliza", "everywhere": True})["result"]["sessions"]
    assert ("forgotten here" in one["title"], one["cwd"]) == (True, str(folder))
    opened = page.ask("openAgentSession", {"agent": "eliza", **{name: one[name] for name in ("id", "cwd", "title")}})
    conversation = host.conversations[opened["result"]["channel"]]
    assert [turn.message.text for turn in conversation.chat.state.turns] == ["/say forgotten here"]
    assert (conversation.cwd, theirs(page)) == (folder, [])
    assert set(uris(page)) == {stays, conversation.session.uri}


def test_agent_session_id_is_logged_when_the_log_was_locked(kernel: MakeHost) -> None:
    host = kernel()
    page = page_of(host)
    prompted(host, page, "/say the file is there")
    recorder = recorder_of(host)
    with closing(sqlite3.connect(recorder.store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        uri = prompted(host, page, "/say while another one writes")
        other.execute("ROLLBACK")
    assert theirs(page) == []
    assert recorder.store.load(uri).record.agent_session is not None


def test_closed_conversation_is_logged_once_writing_is_possible(
    kernel: MakeHost,
) -> None:
    """By then the conversation is closed and its agent is gone."""
    host = kernel()
    recorder = recorder_of(host)
    recorder.store.path.mkdir()  # no file can be written there
    uri = prompted(host, page_of(host), "/say kept here")
    recorder_of(host)
    assert host.loop.call(lambda: recorder.trouble) is not None
    recorder.store.path.rmdir()
    [turn] = recorder_of(host).store.load(uri).chat.turns
    assert turn.message.text == "/say kept here"
    assert "Since then the log has been written again." in host.loop.call(lambda: recorder.note)


def test_agent_session_in_an_unknown_folder_is_refused(kernel: MakeHost, tmp_path: Path) -> None:
    """Refuses the root or another project and leaves no tab; accepts a folder with logged conversations."""
    host = kernel()
    page, known = page_of(host), tmp_path / "known"
    for name in ("known", "unknown"):
        (tmp_path / name).mkdir()
    talk(host, known, ("a", "b"))
    for cwd in (os.sep, str(tmp_path), str(tmp_path / "unknown"), str(tmp_path / "missing"), "../unknown"):
        error = refused(page, "openAgentSession", agent="eliza", id="s1", cwd=cwd)
        assert "is not in this kernel's folder" in error
    assert "is not in this kernel's folder" not in refused(
        page, "openAgentSession", agent="eliza", id="s1", cwd=str(known)
    )
    assert len(host.conversations) == 1


def test_unknown_agent_is_reported(kernel: MakeHost) -> None:
    page = page_of(kernel())
    assert "nobody" in refused(page, "listAgentSessions", agent="nobody")


def test_page_measures_and_deletes_stored_conversations(kernel: MakeHost, tmp_path: Path) -> None:
    """A dry run only counts; open conversations stay."""
    first = kernel()
    for number in range(3):
        talk(first, tmp_path, ("a", "b"), title=str(number))
    first.close()
    host = kernel()
    page = page_of(host)
    talk(host, tmp_path, ("a", "b"), title="open")
    rows = page.ask("measureStorage", {})["result"]["rows"]
    assert [row["items"] for row in rows if row["name"] in ("conversations", "eliza")] == [4, 4]

    def changed(**params: object) -> tuple[str, int]:
        answer = page.ask("changeStorage", params)["result"]
        return answer["message"], answer["count"]

    assert changed(action="remove", olderThanDays=1) == ("0 conversations would be deleted.", 0)
    assert changed(action="deleteAll") == ("3 conversations would be deleted.", 3)
    assert changed(action="deleteAll", dryRun=False) == ("3 conversations deleted.", 3)
    assert (len(uris(page)), changed(action="check")) == (1, ("The log is intact.", 0))
    assert changed(action="compact")[1] == 0


def test_page_exports_repairs_and_imports_conversations(kernel: MakeHost, tmp_path: Path) -> None:
    """All go to one file and back; the oldest beyond a size are deleted; a bad path or size is refused."""
    first = kernel()
    for number in range(3):
        talk(first, tmp_path, ("a", "b"), title=str(number))
    first.close()
    page, file = page_of(kernel()), tmp_path / "all.db"

    def done(**params: object) -> str:
        return str(page.ask("changeStorage", params)["result"]["message"])

    exported = done(action="export", path=str(file))
    assert exported.startswith("Exported 3 conversations to")
    assert "The undo history is not included" in exported
    assert "already" in refused(page, "changeStorage", action="export", path=str(file))
    assert done(action="remove", largerThan="1") == "3 conversations would be deleted."
    assert done(action="deleteAll", dryRun=False) == "3 conversations deleted."
    imported = done(action="import", path=str(file))
    assert imported == "Imported 3 conversations, without undo history; 0 were here already."
    assert "has 3 conversations. All are complete." in done(action="repair")
    assert len(uris(page)) == 3
    assert "no absolute path" in refused(page, "changeStorage", action="import", path="all.db").replace("not an", "no")
    assert "isn't a size" in refused(page, "changeStorage", action="remove", largerThan="much")
