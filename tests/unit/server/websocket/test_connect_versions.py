"""A host that is not agentnb in a chat of this kernel: each version, with a page that follows it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from agentnb import Server, Session
from agentnb.host import current_host
from agentnb.host.channels import ROOT
from agentnb.plugins.connect.remote.connecting import RemotePageService, connect_host
from agentnb.plugins.connect.remote.mirrored_host import REMOTE_HOST
from agentnb.server.websocket.commands import SPOKEN
from agentnb.server.websocket.projection import state_to_ahp
from agentnb.state import ChatState, waiting_requests
from tests.unit.server.websocket.attached_page import AttachedPage
from tests.unit.server.websocket.stranger import Stranger
from tests.unit.server.websocket.test_connect import is_over, names, prompt, truth, waiting_call

Attach = Callable[..., "Attached"]


class Attached(NamedTuple):
    """A page, and the proxy between it and the other host."""

    page: AttachedPage
    stranger: Stranger


@pytest.fixture
def attach(server: Server) -> Iterator[Attach]:
    """A page that follows the served host in one version: ``attach("1.0.0")``; see `Stranger` for the options."""
    with contextlib.ExitStack() as opened:

        def begin(version: str, **options: bool) -> Attached:
            loop, stranger = current_host().loop, Stranger(server.address, version, **options)
            address = opened.enter_context(stranger.serve())
            mirror, client = loop.submit(connect_host(loop, address, server.token, name="there")).result(30)
            opened.callback(lambda: loop.submit(client.close()).result(10))
            assert (mirror.form.is_ours, mirror.form.version) == (False, version)
            return Attached(AttachedPage(lambda send: RemotePageService(mirror, send)), stranger)

        yield begin


def ahp_form(chat: ChatState) -> str:
    """Returns AHP's form of a chat, without the time of its last change."""
    value = state_to_ahp(chat)
    return json.dumps({name: item for name, item in value.items() if name != "modifiedAt"}, sort_keys=True)


def is_the_truth(session: Session) -> Callable[[Any], bool]:
    """True if a chat equals the other host's, as far as AHP covers it."""
    return lambda state: ahp_form(state) == ahp_form(truth(session))


@pytest.mark.parametrize("version", SPOKEN)
def test_a_page_drives_a_conversation_of_another_host(session: Session, attach: Attach, version: str) -> None:
    (page, stranger), (uri, chat) = attach("1.0.0"), names(session)
    page.follow(uri, chat)
    first = prompt(page, chat, "/say well met")
    page.until(chat, is_over(first))

    second = prompt(page, chat, "/ask execute")
    call = waiting_call(page.until(chat, lambda state: waiting_call(state) is not None))
    assert call is not None
    answer = {"type": "chat/toolCallConfirmed", "turnId": second, "toolCallId": call.tool_call_id, "approved": True}
    page.dispatch(chat, answer)
    page.until(chat, is_over(second))

    third = prompt(page, chat, "/form")
    (request,) = waiting_requests(page.until(chat, waiting_requests))
    page.dispatch(chat, {"type": "chat/inputCompleted", "requestId": request.id, "response": "decline"})
    page.until(chat, is_over(third))

    fourth = prompt(page, chat, "/hang")
    page.until(chat, lambda state: state.active_turn is not None and state.active_turn.id == fourth)
    page.dispatch(chat, {"type": "chat/turnCancelled", "turnId": fourth})
    page.until(chat, is_over(fourth))

    stranger.cut()
    page.until(ROOT, lambda root: root.config.values[REMOTE_HOST]["state"] == "cut")
    fifth = prompt(page, chat, "/fail")
    chat_state = page.until(chat, is_over(fifth))
    assert ([turn.state for turn in chat_state.turns][2:], chat_state.turns[-1].error is None) == (
        ["complete", "cancelled", "error"],
        False,
    )
    page.until(chat, is_the_truth(session))
    assert page.refusals == []


def test_unreadable_action_ends_the_mirror_with_the_reason(session: Session, attach: Attach) -> None:
    """Continuing would lose changes without notice."""
    (page, stranger), (uri, chat) = attach("1.0.0"), names(session)
    page.follow(uri, chat)
    stranger.takes_numbers = True
    session.prompt("/say well met").wait()
    link = page.until(ROOT, lambda root: root.config.values[REMOTE_HOST]["state"] == "ended").config.values[REMOTE_HOST]
    assert link["message"] == "The other host sent an action without 'serverSeq'."


def test_page_fetches_older_turns_before_and_after_a_cut(session: Session, attach: Attach) -> None:
    """With a cursor, also after a cut."""
    for number in range(33):
        session.prompt(f"/say {number}").wait()
    (page, stranger), (uri, chat) = attach("1.0.0"), names(session)
    page.follow(uri, chat)
    first = page.until(chat, lambda state: state.turns).turns[0].id
    older = page.ask("fetchTurns", channel=chat, before=first, limit=50)["turns"]
    assert [each["message"]["text"] for each in older] == ["/say 0", "/say 1", "/say 2"]
    stranger.cut()
    page.until(ROOT, lambda root: root.config.values[REMOTE_HOST]["state"] == "connected")
    session.prompt("/say on").wait()
    page.until(chat, lambda state: state.turns[-1].message.text == "/say on")
    assert len(page.ask("fetchTurns", channel=chat, before=first, limit=50)["turns"]) == 3


def test_agentnb_extension_is_refused_with_the_reason(session: Session, attach: Attach) -> None:
    """Requests and actions of agentnb."""
    (page, _), (uri, chat) = attach("1.0.0"), names(session)
    page.follow(uri, chat)
    with pytest.raises(RuntimeError, match="does not offer this"):
        page.ask("listFiles", channel=uri)
    page.dispatch(uri, {"type": "x-agentnb/modeChanged", "modeId": "plain"})
    page.until_settled(uri)
    assert "does not support this" in str(page.refusals[0].rejection_reason)


@pytest.mark.parametrize("hides_new", [False, True])
def test_page_opens_and_closes_conversations_on_another_host(attach: Attach, hides_new: bool) -> None:
    """Also if the other host does not list them yet, and after a cut."""
    page, stranger = attach("1.0.0", hides_new=hides_new)
    made = page.ask("createSession", agent="eliza")
    page.until(ROOT, lambda root: made["channel"] in {each.resource for each in root.sessions or ()})
    page.follow(made["channel"], made["chat"])
    turn = prompt(page, made["chat"], "/say here")
    page.until(made["chat"], is_over(turn))
    stranger.cut()
    page.until(ROOT, lambda root: root.config.values[REMOTE_HOST]["state"] == "cut")
    page.until(ROOT, lambda root: root.config.values[REMOTE_HOST]["state"] == "connected")
    turn = prompt(page, made["chat"], "/say again")
    page.until(made["chat"], is_over(turn))
    page.ask("disposeSession", channel=made["channel"])
    page.until(ROOT, lambda root: made["channel"] not in {each.resource for each in root.sessions or ()})
