"""The page's history: the kernel lists, searches, previews and deletes sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.server.asking_page import MakeHost, Page, flushed, kernel, page_of, talk, uris

__all__ = ["kernel"]

HOSTILE = ["x" * 10_000, "%", '"', "_", "*", "'; DROP TABLE sessions; --", "🙂", "\x00", "\\", "NEAR("]


def test_search_returns_the_places_of_its_hits(kernel: MakeHost, tmp_path: Path) -> None:
    """Each hit has turn, prompt or answer, and the text around; a conversation found by its title has no hits."""
    host = kernel()
    uri = talk(host, tmp_path, ("And now?", "Look at the Residuals first."), title="One").session.uri
    named = talk(host, tmp_path, ("Hello", "Hello."), title="About residuals").session.uri
    answer = page_of(host).ask("listSessions", {"search": "residuals"})["result"]
    assert {one["uri"] for one in answer["sessions"]} == {uri, named}
    place = {"number": 0, "turnId": "t0", "where": "answer"}
    assert answer["hits"] == {uri: [{**place, "before": "Look at the ", "text": "Residuals", "after": " first."}]}
    assert "left" not in answer


def test_search_finds_special_characters_literally(kernel: MakeHost, tmp_path: Path) -> None:
    """Each is in one prompt only, and only that one is a hit."""
    host = kernel()
    for number, text in enumerate(HOSTILE):
        talk(host, tmp_path, (f"Before {text} after", "Yes."), title=str(number))
    page = page_of(host)
    for number, text in enumerate(HOSTILE):
        answer = page.ask("listSessions", {"search": text})["result"]
        titles = {one["uri"]: one["title"] for one in answer["sessions"]}
        hits = {titles[uri]: [hit["where"] for hit in places] for uri, places in answer["hits"].items()}
        assert hits == {str(number): ["prompt"]}, text[:9]


def test_list_request_with_invalid_parameters_is_refused(page: Page) -> None:
    """The error names the field; the next request is answered."""
    wrong = ("limit", 0), ("limit", -1), ("offset", 2**63), ("since", "today"), ("until", 1.5), ("search", 1)
    for name, value in (*wrong, ("state", "asleep")):
        error = page.ask("listSessions", {name: value})["error"]
        assert (error["code"], name in error["message"]) == (-32602, True)
    assert uris(page) == []


def test_preview_has_the_latest_turns_and_opens_nothing(kernel: MakeHost, tmp_path: Path) -> None:
    """Five turns, oldest first; texts of more than 4,000 characters are cut. Also of a session open elsewhere."""
    first, second = kernel(), kernel("other.ipynb")
    turns = [(f"q{number}", f"a{number}") for number in range(7)]
    uri = talk(first, tmp_path, *turns, ("long", "é" * 4_001), title="Fit").session.uri
    flushed(first)
    page = page_of(second)
    assert page.ask("listSessions", {})["result"]["elsewhere"] == [uri]
    preview = page.ask("previewSession", {"channel": uri})["result"]
    assert (preview["title"], preview["total"]) == ("Fit", 8)
    assert [each["number"] for each in preview["turns"]] == [3, 4, 5, 6, 7]
    assert preview["turns"][0] == {"number": 3, "turnId": "t3", "prompt": "q3", "answer": "a3", "cut": False}
    last = preview["turns"][-1]
    assert (last["prompt"], last["answer"], last["cut"]) == ("long", "é" * 4_000, True)
    assert not second.conversations


def test_deleted_session_is_gone_in_every_kernel(kernel: MakeHost, tmp_path: Path) -> None:
    """List, search and preview omit it; deleting it again or opening it fails with an error."""
    first = kernel()
    gone = talk(first, tmp_path, ("secret word", "yes")).session.uri
    stays = talk(first, tmp_path, ("secret word", "yes")).session.uri
    first.close()
    page, other = page_of(kernel()), page_of(kernel("other.ipynb"))
    assert set(uris(other, search="secret")) == {gone, stays}
    assert page.ask("deleteSession", {"channel": gone})["result"] == {}
    for each in (page, other):
        assert (uris(each), uris(each, search="secret")) == ([stays], [stays])
        for method in ("previewSession", "deleteSession", "resumeSession"):
            error = each.ask(method, {"channel": gone})["error"]
            assert (error["code"], bool(error["message"])) == (-32001, True)


def test_session_is_deleted_right_after_its_tab_closes(kernel: MakeHost, tmp_path: Path) -> None:
    """While the tab can still be reopened: it is closed for good, and nothing is written to it again."""
    host = kernel()
    uri = talk(host, tmp_path, ("a", "b")).session.uri
    page = page_of(host)
    page.dispatch(uri, {"type": "session/isArchivedChanged", "isArchived": True})
    assert page.ask("deleteSession", {"channel": uri})["result"] == {}
    assert (uris(page), uri in host.conversations) == ([], False)
    host.close()
    assert uris(page_of(kernel())) == []


def test_partial_session_name_is_refused(kernel: MakeHost, tmp_path: Path) -> None:
    """Such a request deletes nothing and reads nothing."""
    host = kernel()
    uri = talk(host, tmp_path, ("a", "b")).session.uri
    page = page_of(host)
    parts = ["", "eliza:/", "eliza:/%", "/", "x" * 10_000, "eliza:/\x00", uri[:-1], uri.rpartition("/")[2]]
    for part in parts:
        for method in ("previewSession", "deleteSession"):
            assert "no longer has this conversation" in page.refused(method, channel=part)
    assert uris(page) == [uri]


@pytest.mark.parametrize("method", ["previewSession", "deleteSession", "resumeSession"])
def test_request_for_the_history_is_refused_without_a_log(page: Page, method: str) -> None:
    """The error says that the log is off and how to turn it on."""
    message = page.refused(method, channel="eliza:/1")
    assert "AGENTNB_LOG=off" in message
    assert "Unset AGENTNB_LOG" in message
