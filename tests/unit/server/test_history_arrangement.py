"""The page arranges the history: renames, pins, archives and duplicates conversations, filters the list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentnb.api.history import list_sessions
from agentnb.api.history_rows import change_kept, shell_log
from agentnb.host.host import Host
from agentnb.state import ChatError, ChatTurnStarted, ErrorInfo, ErrorResponsePart, Message
from tests.unit.server.test_history_requests import USER, MakeHost, kernel, page_of, talk, uris
from tests.unit.server.test_service import Page

__all__ = ["kernel"]


def listed(page: Page, **params: object) -> list[dict[str, object]]:
    """Returns the sessions as the page gets them."""
    sessions: list[dict[str, object]] = page.ask("listSessions", params)["result"]["sessions"]
    return sessions


def titles(page: Page, **params: object) -> list[object]:
    return [one["title"] for one in listed(page, **params)]


def refused(page: Page, method: str, **params: object) -> str:
    """Returns the error's message."""
    return str(page.ask(method, params)["error"]["message"])


def flushed(host: Host) -> None:
    """Waits until the log has everything."""
    assert host.recorder is not None
    assert host.recorder.flush(30)


def test_renamed_session_keeps_its_title_when_opened(kernel: MakeHost, tmp_path: Path) -> None:
    """An earlier kernel's session is renamed in the log; an open one also in its tab."""
    first = kernel()
    uri = talk(first, tmp_path, ("a", "b"), title="Old").session.uri
    first.close()
    host = kernel()
    page = page_of(host)
    assert page.ask("updateSession", {"channel": uri, "title": "  Residuals "})["result"] == {}
    assert (titles(page), titles(page, search="resid")) == (["Residuals"], ["Residuals"])
    page.ask("resumeSession", {"channel": uri})
    conversation = host.conversations[uri]
    assert conversation.session.state.title == "Residuals"
    page.ask("updateSession", {"channel": uri, "title": "Fit"})
    assert (conversation.session.state.title, titles(page)) == ("Fit", ["Fit"])


def test_session_of_another_kernel_can_be_pinned_not_renamed(kernel: MakeHost, tmp_path: Path) -> None:
    """Only its kernel writes the title; that kernel's writes keep the pin and archive marks."""
    first, second = kernel(), kernel("other.ipynb")
    conversation = talk(first, tmp_path, ("a", "b"), title="Fit")
    uri = conversation.session.uri
    flushed(first)
    page = page_of(second)
    assert "'Fit' is open in another kernel. Rename it there." in refused(page, "updateSession", channel=uri, title="x")
    page.ask("updateSession", {"channel": uri, "pinned": True, "archived": True})
    first.loop.call(conversation.dispatch, ChatTurnStarted(turn_id="t1", message=Message(text="c", origin=USER)))
    flushed(first)
    (one,) = listed(page, archived=True)
    assert (one["title"], one["pinned"], one["archived"]) == ("Fit", True, True)
    assert uris(page) == []


@pytest.mark.parametrize("title", ["", "   ", "x" * 201, "two\nlines", "\u2028"], ids=lambda title: repr(title[:9]))
def test_invalid_title_is_refused(kernel: MakeHost, tmp_path: Path, title: str) -> None:
    host = kernel()
    uri = talk(host, tmp_path, ("a", "b"), title="Fit").session.uri
    page = page_of(host)
    assert "A title is one line" in refused(page, "updateSession", channel=uri, title=title)
    assert titles(page) == ["Fit"]


def test_pinned_sessions_are_first_in_the_list(kernel: MakeHost, tmp_path: Path) -> None:
    """Each session appears once, for any page length."""
    host = kernel()
    all_of_them = [talk(host, tmp_path, ("a", "b"), title=str(number)).session.uri for number in range(6)]
    page = page_of(host)
    for uri in (all_of_them[1], all_of_them[3]):
        page.ask("updateSession", {"channel": uri, "pinned": True})
    whole = uris(page)
    assert (set(whole[:2]), set(whole)) == ({all_of_them[1], all_of_them[3]}, set(all_of_them))
    for limit in (1, 2, 3, 4):
        assert [uri for first in range(0, 6, limit) for uri in uris(page, limit=limit, offset=first)] == whole
    page.ask("updateSession", {"channel": whole[0], "pinned": False})
    assert uris(page)[0] == whole[1]


def test_history_list_filters_by_session_state(kernel: MakeHost, tmp_path: Path) -> None:
    """A running turn counts while its kernel lives, a failed turn always."""
    host = kernel()
    running, failed = talk(host, tmp_path, ("a", "b"), title="runs"), talk(host, tmp_path, ("a", "b"), title="failed")
    talk(host, tmp_path, ("a", "b"), title="idle")
    started = ChatTurnStarted(turn_id="t1", message=Message(text="c", origin=USER))
    for conversation in (running, failed):
        host.loop.call(conversation.dispatch, started)
    error = ErrorInfo(error_type="AgentDied", message="It stopped.")
    host.loop.call(failed.dispatch, ChatError(turn_id="t1", part=ErrorResponsePart(error=error), stop_reason="error"))
    page = page_of(host)
    states = ("running", "failed", "needs-you")
    assert [titles(page, state=state) for state in states] == [["runs"], ["failed"], []]
    host.close()
    page = page_of(kernel())
    assert [titles(page, state=state) for state in states] == [[], ["failed"], []]
    assert page.ask("listSessions", {"state": "asleep"})["error"]["code"] == -32602


def test_duplicate_has_the_same_turns_and_continues_separately(kernel: MakeHost, tmp_path: Path) -> None:
    """The copy is found by its text, opened and deleted separately; the original is unchanged."""
    host = kernel()
    turns = [("where are the residuals?", "Here."), ("and now?", "There.")]
    uri = talk(host, tmp_path, *turns, title="Fit").session.uri
    page = page_of(host)
    answer = page.ask("duplicateSession", {"channel": uri})["result"]
    copy = answer["channel"]
    assert (answer["open"], set(uris(page, search="residuals"))) == (False, {uri, copy})
    assert set(titles(page)) == {"Fit", "Fit (copy)"}
    page.ask("resumeSession", {"channel": copy})
    opened = host.conversations[copy]
    assert [turn.message.text for turn in opened.chat.state.turns] == [prompt for prompt, _ in turns]
    assert (opened.chat.state.resource, opened.session.uri) == (f"{copy}/chat", copy)
    host.loop.call(opened.dispatch, ChatTurnStarted(turn_id="t9", message=Message(text="c", origin=USER)))
    assert host.conversations[uri].chat.state.active_turn is None
    host.close()
    page = page_of(kernel())
    page.ask("deleteSession", {"channel": uri})
    assert uris(page, search="residuals") == [copy]


def test_page_watching_the_history_gets_changes_of_any_kernel(kernel: MakeHost, tmp_path: Path) -> None:
    """Reports changes by this kernel and another; a page that does not watch gets nothing."""
    here, there = kernel(), kernel("other.ipynb")
    gone = talk(here, tmp_path, ("a", "b"), title="Gone")
    here.loop.submit(gone.close()).result(60)
    flushed(here)
    page, other = page_of(here), page_of(there)
    assert page.ask("watchSessions", {"on": True})["result"] == {}
    other.ask("updateSession", {"channel": gone.session.uri, "pinned": True})
    changed = {"added": [], "removed": [], "changed": [gone.session.uri]}
    assert page.hear("sessionsChanged")["params"] == changed
    other.ask("deleteSession", {"channel": gone.session.uri})
    assert page.hear("sessionsChanged")["params"] == {"added": [], "removed": [gone.session.uri], "changed": []}
    new = talk(there, tmp_path, ("a", "b")).session.uri
    flushed(there)
    notice = page.hear("sessionsChanged")["params"]
    assert (new in notice["added"] + notice["changed"], notice["removed"]) == (True, [])
    assert page.ask("watchSessions", {"on": False})["result"] == {}
    assert [one["method"] for one in other.messages.queue if one.get("method") == "sessionsChanged"] == []


def test_page_and_shell_see_each_others_history_changes(
    kernel: MakeHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python without a kernel pins, renames and deletes; it sees the page's new title."""
    monkeypatch.setenv("AGENTNB_LOG", str(tmp_path / "log.db"))
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    host = kernel()
    closed = talk(host, tmp_path, ("a", "b"), title="Fit")
    host.loop.submit(closed.close()).result(60)
    flushed(host)
    page, uri = page_of(host), closed.session.uri
    assert page.ask("watchSessions", {"on": True})["result"] == {}
    nothing: dict[str, Any] = dict.fromkeys(("title", "pinned", "archived")) | {"duplicated": False, "deleted": False}
    changed = {"added": [], "removed": [], "changed": [uri]}
    change_kept(uri.rpartition("/")[2], **{**nothing, "pinned": True})
    assert page.hear("sessionsChanged")["params"] == changed
    change_kept(uri.rpartition("/")[2], **{**nothing, "title": "Residuals"})
    assert page.hear("sessionsChanged")["params"] == changed
    assert [(one["title"], one["pinned"]) for one in listed(page)] == [("Residuals", True)]
    assert page.ask("updateSession", {"channel": uri, "title": "Seasons"})["result"] == {}
    assert [row.title for row in list_sessions(shell_log())] == ["Seasons"]
    change_kept(uri.rpartition("/")[2], **{**nothing, "deleted": True})
    while (heard := page.hear("sessionsChanged")["params"]) == changed:
        pass
    assert heard == {"added": [], "removed": [uri], "changed": []}
