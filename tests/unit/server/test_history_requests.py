"""The page's history: the kernel lists, searches, previews and deletes sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentnb.agent.catalog import find
from agentnb.host import Host
from agentnb.host.conversation import Conversation
from agentnb.server.history_requests import PREVIEWED_CHARACTERS, PREVIEWED_TURNS
from agentnb.state import ChatDelta, ChatResponsePart, ChatTurnComplete, ChatTurnStarted, Message, MessageOrigin
from agentnb.state import MarkdownResponsePart as Markdown
from tests.unit.server.test_service import Page

USER = MessageOrigin(kind="user")
HOSTILE = ["x" * 10_000, "%", '"', "_", "*", "'; DROP TABLE sessions; --", "🙂", "\x00", "\\", "NEAR("]
MakeHost = Callable[..., Host]


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[MakeHost]:
    """Makes kernels that share one log."""
    hosts: list[Host] = []

    def make(place: str = "fit.ipynb") -> Host:
        hosts.append(Host(log=tmp_path / "log.db", place=place))
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()


def talk(host: Host, cwd: Path, *turns: tuple[str, str], title: str | None = None) -> Conversation:
    """Creates a session with these prompts and answers, without starting its agent."""
    conversation = host.loop.call(lambda: host.open(find("eliza"), cwd=cwd, title=title))
    for number, (prompt, answer) in enumerate(turns):
        turn = f"t{number}"
        for action in (
            ChatTurnStarted(turn_id=turn, message=Message(text=prompt, origin=USER)),
            ChatResponsePart(turn_id=turn, part=Markdown(id="p", content="")),
            ChatDelta(turn_id=turn, part_id="p", content=answer),
            ChatTurnComplete(turn_id=turn),
        ):
            host.loop.call(conversation.dispatch, action)
    return conversation


def page_of(host: Host) -> Page:
    """Returns a page that has introduced itself."""
    page = Page(host, f"page of {host.host_id}")
    page.ready()
    return page


def uris(page: Page, **params: object) -> list[str]:
    """Returns the sessions that the page gets."""
    return [one["uri"] for one in page.ask("listSessions", params)["result"]["sessions"]]


def test_search_returns_the_places_of_its_hits(kernel: MakeHost, tmp_path: Path) -> None:
    """Each hit has turn, prompt or answer, and the text around; a conversation found by its title has no hits."""
    host = kernel()
    conversation = talk(host, tmp_path, ("And now?", "Look at the Residuals first."), title="One")
    named = talk(host, tmp_path, ("Hello", "Hello."), title="About residuals")
    answer = page_of(host).ask("listSessions", {"search": "residuals"})["result"]
    assert {one["uri"] for one in answer["sessions"]} == {conversation.session.uri, named.session.uri}
    assert answer["hits"] == {
        conversation.session.uri: [
            {
                "number": 0,
                "turnId": "t0",
                "where": "answer",
                "before": "Look at the ",
                "text": "Residuals",
                "after": " first.",
            }
        ]
    }
    assert "left" not in answer


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_search_finds_special_characters_literally(kernel: MakeHost, tmp_path: Path, text: str) -> None:
    host = kernel()
    with_it = talk(host, tmp_path, (f"Before {text} after", "Yes."), title="One").session.uri
    talk(host, tmp_path, ("Nothing", "here"), title="Two")
    page = page_of(host)
    answer = page.ask("listSessions", {"search": text})["result"]
    assert with_it in [one["uri"] for one in answer["sessions"]]
    assert {uri: [hit["where"] for hit in hits] for uri, hits in answer["hits"].items()} == {with_it: ["prompt"]}


@pytest.mark.parametrize(
    "params",
    [{"limit": 0}, {"limit": -1}, {"offset": -1}, {"offset": 2**63}, {"since": "today"}, {"until": 1.5}, {"search": 1}],
    ids=repr,
)
def test_list_request_with_invalid_parameters_is_refused(kernel: MakeHost, params: dict[str, object]) -> None:
    """The error names the field; the next request is answered."""
    page = page_of(kernel())
    error = page.ask("listSessions", params)["error"]
    assert (error["code"], next(iter(params)) in error["message"]) == (-32602, True)
    assert uris(page) == []


def test_preview_has_the_latest_turns_and_opens_nothing(kernel: MakeHost, tmp_path: Path) -> None:
    """Turns are oldest first and long texts are marked as cut. Works for a session open in another kernel."""
    first = kernel()
    turns = [(f"q{number}", f"a{number}") for number in range(PREVIEWED_TURNS + 2)]
    conversation = talk(first, tmp_path, *turns, ("long", "é" * (PREVIEWED_CHARACTERS + 1)), title="Fit")
    assert first.recorder is not None
    first.recorder.flush(30)
    second = kernel("other.ipynb")
    page = page_of(second)
    assert page.ask("listSessions", {})["result"]["elsewhere"] == [conversation.session.uri]
    preview = page.ask("previewSession", {"channel": conversation.session.uri})["result"]
    assert (preview["title"], preview["total"]) == ("Fit", PREVIEWED_TURNS + 3)
    assert [turn["number"] for turn in preview["turns"]] == [*range(3, PREVIEWED_TURNS + 3)]
    assert preview["turns"][0] == {"number": 3, "turnId": "t3", "prompt": "q3", "answer": "a3", "cut": False}
    last = preview["turns"][-1]
    assert (last["prompt"], last["answer"], last["cut"]) == ("long", "é" * PREVIEWED_CHARACTERS, True)
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
    assert "no longer has this conversation" in page.ask("previewSession", {"channel": gone})["error"]["message"]


def test_open_session_is_not_deleted(kernel: MakeHost, tmp_path: Path) -> None:
    """Open here or in another kernel; the error says where to close it."""
    first, second = kernel(), kernel("other.ipynb")
    uri = talk(first, tmp_path, ("a", "b"), title="Fit").session.uri
    assert first.recorder is not None
    first.recorder.flush(30)
    errors = [page_of(host).ask("deleteSession", {"channel": uri})["error"]["message"] for host in (first, second)]
    assert "'Fit' is open here. Close it first." in errors[0]
    assert "'Fit' is open in another kernel. Continue there" in errors[1]
    assert uris(page_of(second)) == [uri]


def test_session_is_deleted_right_after_its_tab_closes(kernel: MakeHost, tmp_path: Path) -> None:
    """While the tab can still be reopened: it is closed for good, and nothing is written to it again."""
    host = kernel()
    conversation = talk(host, tmp_path, ("a", "b"))
    page, uri = page_of(host), conversation.session.uri
    page.dispatch(uri, {"type": "session/isArchivedChanged", "isArchived": True})
    assert page.ask("deleteSession", {"channel": uri})["result"] == {}
    assert (uris(page), uri in host.conversations) == ([], False)
    host.close()
    assert uris(page_of(kernel())) == []


@pytest.mark.parametrize(
    "channel", ["", "eliza:/", "eliza:/%", "/", "x" * 10_000, "eliza:/\x00"], ids=lambda one: one[:9]
)
def test_partial_session_name_is_refused(kernel: MakeHost, tmp_path: Path, channel: str) -> None:
    """Such a request deletes nothing and reads nothing."""
    host = kernel()
    uri = talk(host, tmp_path, ("a", "b")).session.uri
    page = page_of(host)
    for part in (channel, uri[:-1], uri.rpartition("/")[2]):
        for method in ("previewSession", "deleteSession"):
            assert "no longer has this conversation" in page.ask(method, {"channel": part})["error"]["message"]
    assert uris(page) == [uri]


def test_preview_and_delete_are_refused_without_a_log(host: Host) -> None:
    """The error says that the log is off and how to turn it on."""
    page = page_of(host)
    for method in ("previewSession", "deleteSession"):
        message = page.ask(method, {"channel": "eliza:/1"})["error"]["message"]
        assert "AGENTNB_LOG=off" in message
        assert "Unset AGENTNB_LOG" in message
