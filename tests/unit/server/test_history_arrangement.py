"""The page arranges the history: renames, pins, archives and duplicates conversations, filters the list."""

from __future__ import annotations

from pathlib import Path

from agentnb.state import ChatError, ChatTurnStarted, ErrorInfo, ErrorResponsePart, Message
from tests.unit.server.asking_page import USER, MakeHost, Page, flushed, page_of, talk, uris

STARTED = ChatTurnStarted(turn_id="t1", message=Message(text="c", origin=USER))


def listed(page: Page, **params: object) -> list[dict[str, object]]:
    """Returns the sessions as the page gets them."""
    sessions: list[dict[str, object]] = page.ask("listSessions", params)["result"]["sessions"]
    return sessions


def titles(page: Page, **params: object) -> list[object]:
    return [one["title"] for one in listed(page, **params)]


def refused(page: Page, method: str, **params: object) -> str:
    """Returns the error's message."""
    return page.refused(method, **params)


def test_renamed_session_keeps_its_title_when_opened(kernel: MakeHost, tmp_path: Path) -> None:
    """An earlier kernel's session is renamed in the log, an open one also in its tab; a title is one short line."""
    first = kernel()
    uri = talk(first, tmp_path, ("a", "b"), title="Old").session.uri
    first.close()
    host = kernel()
    page = page_of(host)
    for wrong in ("   ", "x" * 201, "two\nlines", "\u2028"):
        assert "A title is one line" in page.refused("updateSession", channel=uri, title=wrong)
    assert page.ask("updateSession", {"channel": uri, "title": "  Residuals "})["result"] == {}
    assert (titles(page), titles(page, search="resid")) == (["Residuals"], ["Residuals"])
    page.ask("resumeSession", {"channel": uri})
    conversation = host.conversations[uri]
    assert conversation.session.state.title == "Residuals"
    page.ask("updateSession", {"channel": uri, "title": "Fit"})
    assert (conversation.session.state.title, titles(page)) == ("Fit", ["Fit"])


def test_open_session_is_pinned_from_another_kernel_not_renamed(kernel: MakeHost, tmp_path: Path) -> None:
    """Nor deleted, here or there: its own kernel writes the title, and keeps the pin and archive marks."""
    first, second = kernel(), kernel("other.ipynb")
    conversation = talk(first, tmp_path, ("a", "b"), title="Fit")
    uri = conversation.session.uri
    flushed(first)
    page = page_of(second)
    assert "'Fit' is open here. Close it first." in page_of(first).refused("deleteSession", channel=uri)
    assert "'Fit' is open in another kernel. Continue there" in page.refused("deleteSession", channel=uri)
    assert "'Fit' is open in another kernel. Rename it there." in page.refused("updateSession", channel=uri, title="x")
    page.ask("updateSession", {"channel": uri, "pinned": True, "archived": True})
    first.loop.call(conversation.dispatch, STARTED)
    flushed(first)
    (one,) = listed(page, archived=True)
    assert (one["title"], one["pinned"], one["archived"]) == ("Fit", True, True)
    assert uris(page) == []


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
    for conversation in (running, failed):
        host.loop.call(conversation.dispatch, STARTED)
    error = ErrorInfo(error_type="AgentDied", message="It stopped.")
    host.loop.call(failed.dispatch, ChatError(turn_id="t1", part=ErrorResponsePart(error=error), stop_reason="error"))
    page = page_of(host)
    states = ("running", "failed", "needs-you")
    assert [titles(page, state=state) for state in states] == [["runs"], ["failed"], []]
    host.close()
    page = page_of(kernel())
    assert [titles(page, state=state) for state in states] == [[], ["failed"], []]


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
    host.loop.call(opened.dispatch, STARTED)
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
