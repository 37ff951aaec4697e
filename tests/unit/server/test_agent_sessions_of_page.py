"""The page's history: sessions that only an agent keeps are listed and opened; the stored data is managed."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agentnb import Session
from tests.unit.api.conftest import PATIENCE
from tests.unit.server.asking_page import MakeHost, Page, flushed, page_of, talk, uris


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sets the current folder, the data folder and Eliza's store."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("AGENTNB_ELIZA_STORE", str(tmp_path / "eliza"))
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    return work


def prompted(page: Page, text: str) -> str:
    """Holds a conversation with Eliza, closes it, and returns its channel."""
    uri: str = page.ask("createSession", {"agent": "eliza"})["result"]["channel"]
    session = Session(page.host.conversations[uri])
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
    gone, stays = prompted(page, "/say forgotten here"), prompted(page, "/say kept here")
    assert theirs(page) == []
    page.ask("deleteSession", {"channel": gone})
    (one,) = page.ask("listAgentSessions", {"agent": "eliza", "everywhere": True})["result"]["sessions"]
    assert ("forgotten here" in one["title"], one["cwd"]) == (True, str(folder))
    opened = page.ask("openAgentSession", {"agent": "eliza", **{name: one[name] for name in ("id", "cwd", "title")}})
    conversation = host.conversations[opened["result"]["channel"]]
    assert [turn.message.text for turn in conversation.chat.state.turns] == ["/say forgotten here"]
    assert (conversation.cwd, theirs(page)) == (folder, [])
    assert set(uris(page)) == {stays, conversation.session.uri}
    assert "nobody" in page.refused("listAgentSessions", agent="nobody")


def test_agent_session_id_is_logged_when_the_log_was_locked(kernel: MakeHost, tmp_path: Path) -> None:
    """So the log has the session, and it is not listed as one that only the agent has."""
    page = page_of(kernel())
    prompted(page, "/say the file is there")
    flushed(page.host)
    with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        uri = prompted(page, "/say while another one writes")
        other.execute("ROLLBACK")
    assert (theirs(page), uri in uris(page)) == ([], True)


def test_closed_conversation_is_logged_once_writing_is_possible(kernel: MakeHost, tmp_path: Path) -> None:
    """By then the conversation is closed and its agent is gone."""
    page, log = page_of(kernel()), tmp_path / "log.db"
    log.mkdir()  # no file can be written there
    uri = prompted(page, "/say kept here")
    assert "log.db" in page.refused("listSessions")
    log.rmdir()
    flushed(page.host)
    listed = page.ask("listSessions", {})["result"]
    assert ([one["uri"] for one in listed["sessions"]], listed["sessions"][0]["turns"]) == ([uri], 1)
    assert "Since then the log has been written again." in listed["note"]


def test_agent_session_in_an_unknown_folder_is_refused(kernel: MakeHost, tmp_path: Path) -> None:
    """Refuses the root or another project and leaves no tab; accepts a folder with logged conversations."""
    page, known = page_of(kernel()), tmp_path / "known"
    for name in ("known", "unknown"):
        (tmp_path / name).mkdir()
    talk(page.host, known, ("a", "b"))
    for cwd in (os.sep, str(tmp_path), str(tmp_path / "unknown"), str(tmp_path / "missing"), "../unknown"):
        assert "is not in this kernel's folder" in page.refused("openAgentSession", agent="eliza", id="s1", cwd=cwd)
    missing = page.refused("openAgentSession", agent="eliza", id="s1", cwd=str(known))
    assert "is not in this kernel's folder" not in missing
    assert len(page.host.conversations) == 1


def test_page_cares_for_the_stored_conversations(kernel: MakeHost, tmp_path: Path) -> None:
    """Measures, exports, deletes, imports and checks them; a dry run only counts, and an open conversation stays."""
    first = kernel()
    for number in range(3):
        talk(first, tmp_path, ("a", "b"), title=str(number))
    first.close()
    page, file = page_of(kernel()), tmp_path / "all.db"
    talk(page.host, tmp_path, ("a", "b"), title="open")
    rows = page.ask("measureStorage", {})["result"]["rows"]
    assert [row["items"] for row in rows if row["name"] in ("conversations", "eliza")] == [4, 4]

    def done(**params: object) -> str:
        return str(page.ask("changeStorage", params)["result"]["message"])

    def error(**params: object) -> str:
        return page.refused("changeStorage", **params)

    exported = done(action="export", path=str(file))
    assert exported.startswith("Exported 4 conversations to")
    assert "The undo history is not included" in exported
    assert "already" in error(action="export", path=str(file))
    assert done(action="remove", olderThanDays=1) == "0 conversations would be deleted."
    assert done(action="remove", largerThan="1") == "3 conversations would be deleted."
    assert "isn't a size" in error(action="remove", largerThan="much")
    assert page.ask("changeStorage", {"action": "deleteAll"})["result"]["count"] == 3
    assert done(action="deleteAll", dryRun=False) == "3 conversations deleted."
    assert (len(uris(page)), done(action="check")) == (1, "The log is intact.")
    assert (
        done(action="import", path=str(file)) == "Imported 3 conversations, without undo history; 1 were here already."
    )
    assert "is not an absolute path" in error(action="import", path="all.db")
    assert done(action="compact") == "Compacted."
    assert "has 4 conversations. All are complete." in done(action="repair")
    assert len(uris(page)) == 4
