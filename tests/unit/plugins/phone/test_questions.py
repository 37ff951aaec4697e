"""The permission requests on a phone, and the effect of its answers."""

from __future__ import annotations

from typing import Any

import pytest

from agentnb import PermissionQuestion, Session
from agentnb.state import to_json
from tests.unit.plugins.phone.conftest import Phones
from tests.unit.server.websocket.client import PATIENCE, Client, Failed, chat_of

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


def test_phone_shows_a_permission_request_and_can_allow_it_once(server: Phones, session: Session) -> None:
    """The chat names the phone; it can allow only once, whatever it sends."""
    phone = server.phone()
    turn = session.prompt("/ask execute")
    question = first_question(phone)
    assert (question["agent"], question["channel"], question["isWhole"]) == ("Tour", chat_of(session), True)
    assert question["call"]["risk"]["reason"]
    name = current_name(server)
    assert answer(phone, question, approved=True, selectedOptionId="agentnb:always", editedToolInput="rm -rf /") == {}
    answered(phone)
    turn.wait()
    assert turn.snapshot is not None
    call = to_json(turn.snapshot)["responseParts"][0]["toolCall"]
    assert (call["answeredBy"]["name"], call["selectedOption"]["id"]) == (name, "allow_once")
    assert (call["success"], session.permissions) == (True, "ask")
    second = session.prompt("/ask execute")
    assert first_question(phone)["call"]["status"] == "pending-confirmation"
    second.cancel()
    phone.close()


def current_name(server: Phones) -> str:
    """Returns the name of the one connected phone."""
    name: str
    (name,) = server.look()["phones"]
    assert name.startswith("phone")
    return name


def test_late_answer_to_an_answered_request_is_refused(server: Phones, session: Session) -> None:
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


def test_request_too_large_to_show_cannot_be_allowed(server: Phones, session: Session) -> None:
    phone = server.phone()
    turn = session.prompt("/write notes.txt " + "x" * 300_000)
    question = first_question(phone)
    assert question["isWhole"] is False
    with pytest.raises(Failed, match="too large to be shown"):
        answer(phone, question, approved=True)
    assert answer(phone, question, approved=False) == {}
    turn.wait(60, check=False)
    phone.close()


def test_preview_without_an_open_request_is_refused(server: Phones, session: Session) -> None:
    """So is the stop of a turn that does not run; an invalid channel is refused, too."""
    phone = server.phone()
    for channel in (chat_of(session), "ahp-chat:/none", "ahp-root://"):
        for request, params in ((PREVIEW, {"toolCallId": "c"}), (STOP, {"turnId": "t"})):
            with pytest.raises(Failed):
                phone.ask(request, {"channel": channel, **params})
    phone.close()


def test_connected_phone_counts_as_a_user_who_can_answer(server: Phones, session: Session) -> None:
    """This holds without a page, too, and ends when the phone disconnects."""
    phone = server.phone()
    turn = session.prompt("/ask execute")
    assert answer(phone, first_question(phone), approved=True) == {}
    assert "Allow once" in turn.wait(PATIENCE).text
    server.unpair()
    phone.close()
    assert "Allow once" not in session.prompt("/ask execute").wait(PATIENCE).text
