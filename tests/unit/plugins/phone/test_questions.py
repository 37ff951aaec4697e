"""The permission requests on a phone, and the effect of its answers."""

from __future__ import annotations

from typing import Any

import pytest

from agentnb import Session
from agentnb.api.questions import PermissionQuestion
from agentnb.api.settings import policy
from agentnb.host import current_host
from tests.unit.plugins.phone.conftest import Phones
from tests.unit.server.websocket.client import Client, Failed, chat_of

LIST, ANSWER, STOP, PREVIEW = (
    f"x-agentnb/{name}" for name in ("listQuestions", "answerQuestion", "stopTurn", "previewQuestion")
)


def next_questions(phone: Client) -> dict[str, Any]:
    """Returns the next list of questions that the phone receives."""
    params: dict[str, Any] = phone.hear(lambda message: message.get("method") == "x-agentnb/questionsChanged")["params"]
    return params


def first_question(phone: Client) -> dict[str, Any]:
    """Waits for an open question and returns the first."""
    question_list = phone.ask(LIST, {})
    while not question_list["questions"]:
        question_list = next_questions(phone)
    question: dict[str, Any] = question_list["questions"][0]
    return question


def answered(phone: Client) -> None:
    """Waits until no question is open."""
    while next_questions(phone)["questions"]:
        pass


def answer(phone: Client, question: dict[str, Any], *, approved: bool, **more: Any) -> Any:
    call = question["call"]["toolCallId"]
    params = {"channel": question["channel"], "turnId": question["turnId"], "toolCallId": call, "approved": approved}
    return phone.ask(ANSWER, params | more)


def test_phone_can_allow_a_permission_request_only_once(server: Phones, session: Session) -> None:
    """The chat and the log name the phone; it can allow only once, whatever it sends."""
    phone = server.phone()
    turn = session.prompt("/ask execute")
    question = first_question(phone)
    assert (question["agent"], question["channel"], question["isWhole"]) == ("Tour", chat_of(session), True)
    assert question["call"]["risk"]["reason"]
    assert server.look().phones == (current_name(server),)
    assert answer(phone, question, approved=True, selectedOptionId="agentnb:always", editedToolInput="rm -rf /") == {}
    answered(phone)
    turn.wait()
    record = next(each for each in policy(session).records if each.by.startswith("client phone"))
    assert (record.outcome, session.permissions) == ("allow", "ask")
    second = session.prompt("/ask execute")
    assert first_question(phone)["call"]["status"] == "pending-confirmation"
    second.cancel()
    phone.close()


def current_name(server: Phones) -> str:
    """Returns the name of the one connected phone."""
    (name,) = server.look().phones
    assert name.startswith("phone")
    return name


def test_request_answered_elsewhere_disappears_from_the_phone(server: Phones, session: Session) -> None:
    """The other answer comes from the notebook or another phone."""
    one, two = server.phone("one"), server.phone("two")
    turn = session.prompt("/ask execute")
    question, same = first_question(one), first_question(two)
    assert answer(one, question, approved=False) == {}
    answered(two)
    with pytest.raises(Failed, match="answered before"):
        answer(two, same, approved=True)
    turn.wait()
    later = session.prompt("/ask execute")
    first_question(two)
    (waiting,) = session.questions
    assert isinstance(waiting, PermissionQuestion)
    waiting.allow()
    answered(two)
    later.wait()
    for each in (one, two):
        each.close()


def test_phone_can_stop_a_turn(server: Phones, session: Session) -> None:
    """A turn without questions can be stopped, too."""
    phone = server.phone()
    turn = session.prompt("/slow 100000 20")
    question_list = phone.ask(LIST, {})
    while not question_list["turns"]:
        question_list = next_questions(phone)
    (running,) = question_list["turns"]
    assert phone.ask(STOP, {"channel": running["channel"], "turnId": running["turnId"]}) == {}
    turn.wait(60, check=False)
    assert turn.done
    with pytest.raises(Failed):
        phone.ask(STOP, {"channel": running["channel"], "turnId": running["turnId"]})
    phone.close()


def test_too_large_request_cannot_be_allowed_from_the_phone(server: Phones, session: Session) -> None:
    phone = server.phone()
    turn = session.prompt("/write notes.txt " + "x" * 300_000)
    question = first_question(phone)
    assert question["isWhole"] is False
    with pytest.raises(Failed, match="too large to be shown"):
        answer(phone, question, approved=True)
    assert answer(phone, question, approved=False) == {}
    turn.wait(60, check=False)
    phone.close()


def test_preview_without_an_open_request_is_rejected(server: Phones, session: Session) -> None:
    """An answer to it and an invalid channel are refused, too."""
    phone = server.phone()
    for channel in (chat_of(session), "ahp-chat:/none", "ahp-root://"):
        with pytest.raises(Failed):
            phone.ask(PREVIEW, {"channel": channel, "toolCallId": "c"})
    phone.close()


def test_connected_phone_counts_as_an_attached_front_end(server: Phones) -> None:
    """This holds without a page, too, and ends when the phone disconnects."""
    from agentnb.server.comm.frontend import current_frontend

    front = current_frontend()
    assert current_host() is not None
    assert front.attached() is False
    phone = server.phone()
    assert front.attached() is True
    server.unpair()
    assert front.attached() is False
    phone.close()
