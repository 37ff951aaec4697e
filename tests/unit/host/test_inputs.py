"""The agent's questions to the user: shown, answered by a page or Python, cancelled, declined without a user."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentnb import Session
from agentnb.errors import AgentnbError, UsageError
from agentnb.state import (
    ChatInputAnswerChanged,
    ChatInputCompleted,
    ChatInputDraft,
    ChatInputSelectedAnswerValue,
    RawResponsePart,
)
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import agent_idle, inputs
from tests.unit.host.kernels import Kernel

FORM = {
    "mode": "form",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "way": {"type": "string", "title": "Way", "enum": ["fast", "safe"], "default": "safe"},
            "name": {"type": "string", "minLength": 2},
            "depth": {"type": "integer", "minimum": 1, "maximum": 9},
            "share": {"type": "number"},
            "sure": {"type": "boolean"},
            "parts": {
                "type": "array",
                "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
            },
        },
        "required": ["way"],
    },
}
URL = {"mode": "url", "elicitationId": "e1", "url": "https://example.org/in?x=1"}


@pytest.fixture(autouse=True)
def user(kernel: Kernel) -> None:
    """A user who can answer."""
    kernel.attend()


def asking_turn(kernel: Kernel, session: Session, *params: dict[str, Any]) -> Any:
    """Returns the turn in which the agent asks, once the question is open."""
    turn = session.prompt(json.dumps(params))
    kernel.until(session, lambda: session.questions)
    return turn


def test_a_form_is_filled_in_from_python(kernel: Kernel) -> None:
    """All kinds of questions; the agent gets the values by name."""
    session = kernel.start("asks_user")
    turn = asking_turn(kernel, session, FORM)
    request = inputs(session)[0]
    assert [type(question).__struct_config__.tag for question in request.questions or ()] == [
        "single-select",
        "text",
        "integer",
        "number",
        "boolean",
        "multi-select",
    ]
    values = {"way": "fast", "name": "Ada", "depth": 3, "share": 0.5, "sure": True, "parts": ["a", "b"]}
    session.answer(request.id, values)
    assert json.loads(turn.wait(PATIENCE, check=False).text) == {"action": "accept", "content": values}
    assert session.questions == ()


def test_page_saves_a_draft_and_answers_with_it(kernel: Kernel) -> None:
    """The state keeps drafts; an answer without values uses them."""
    session = kernel.start("asks_user")
    turn = asking_turn(kernel, session, FORM)
    request = session.questions[0]
    draft = ChatInputDraft(value=ChatInputSelectedAnswerValue(value="safe"))
    changed = ChatInputAnswerChanged(request_id=request.id, question_id="way", answer=draft)
    kernel.act(session, changed)
    assert (inputs(session)[0].answers or {})["way"] == draft
    done = ChatInputCompleted(request_id=request.id, response="accept")
    kernel.act(session, done)
    assert json.loads(turn.wait(PATIENCE, check=False).text) == {"action": "accept", "content": {"way": "safe"}}
    with pytest.raises(AgentnbError, match="answered before"):
        kernel.act(session, done)


def test_invalid_answer_is_refused_and_the_question_stays_open(kernel: Kernel) -> None:
    """The error names the reason."""
    session = kernel.start("asks_user")
    turn = asking_turn(kernel, session, FORM)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "'Way' must be answered"),
        ({"way": "slow"}, "'Way' must be one of the choices"),
        ({"way": "fast", "name": "A"}, "'name' must be at least 2 long"),
        ({"way": "fast", "depth": 10}, "'depth' must be at most 9"),
        ({"way": "fast", "depth": 1.5}, "'depth' must be a whole number"),
        ({"way": "fast", "parts": ["c"]}, "'parts' must be some of the choices"),
        ({"colour": "red"}, "'colour' was not asked"),
    ]
    for values, message in wrong:
        with pytest.raises(UsageError, match=message):
            session.answer(session.questions[0].id, values)
    session.answer(session.questions[0].id, response="decline")
    assert json.loads(turn.wait(PATIENCE, check=False).text) == {"action": "decline"}


def test_url_question_is_accepted_or_completed_elsewhere(kernel: Kernel) -> None:
    """`elicitation/complete` closes an open question."""
    session = kernel.start("asks_user")
    turn = asking_turn(kernel, session, URL)
    assert inputs(session)[0].url == URL["url"]
    session.answer(session.questions[0].id)
    assert json.loads(turn.wait(PATIENCE, check=False).text) == {"action": "accept"}
    done = session.prompt(json.dumps([{**URL, "_then": "complete"}])).wait(PATIENCE, check=False)
    assert json.loads(done.text) == {"action": "accept"}


def test_question_closes_when_the_agent_withdraws_it(kernel: Kernel) -> None:
    """`$/cancel_request` closes it without an answer."""
    session = kernel.start("asks_user")
    turn = session.prompt(json.dumps([{**FORM, "_then": "take back"}])).wait(PATIENCE, check=False)
    assert json.loads(turn.text)["code"] == -32800
    assert session.questions == ()


def test_cancelling_the_turn_cancels_its_questions(kernel: Kernel) -> None:
    """The agent gets `cancel` after `session/cancel`."""
    session = kernel.start("asks_user")
    turn = asking_turn(kernel, session, FORM)
    turn.cancel()
    kernel.until(session, lambda: agent_idle(session))
    assert (json.loads(turn.text), session.questions) == ({"action": "cancel"}, ())


def test_question_is_declined_when_no_user_is_attached(kernel: Kernel) -> None:
    kernel.attend(here=False)
    session = kernel.start("asks_user")
    turn = session.prompt(json.dumps([FORM])).wait(PATIENCE, check=False)
    assert json.loads(turn.text) == {"action": "decline"}
    assert turn.snapshot is not None
    assert "No one can answer" in str(turn.snapshot.response_parts[0])


def test_question_of_an_unknown_kind_is_refused_and_kept_raw(kernel: Kernel) -> None:
    """The agent learns the mode; the user sees the raw request."""
    session = kernel.start("asks_user")
    turn = session.prompt(json.dumps([{"mode": "song", "melody": "la"}])).wait(PATIENCE, check=False)
    assert json.loads(turn.text)["code"] == -32602
    assert turn.snapshot is not None
    (raw,) = [part for part in turn.snapshot.response_parts if isinstance(part, RawResponsePart)]
    assert (raw.name, raw.payload["melody"]) == ("elicitation/create", "la")


def login(kernel: Kernel, session: Session, way: str) -> None:
    kernel.until(session, lambda: session.questions)
    session.answer(session.questions[0].id, {"way": way})


@pytest.mark.parametrize("when", ["session", "prompt"])
@pytest.mark.parametrize("never", [(), ("never",)], ids=["works", "has no effect"])
def test_request_is_repeated_after_a_login(kernel: Kernel, when: str, never: tuple[str, ...]) -> None:
    """The user chooses a way to log in; a terminal login shows the command to type. Without effect the turn fails."""
    session = kernel.start("wants_login", when, *never)
    turn = session.prompt("hi")
    kernel.until(session, lambda: session.questions)
    (question,) = inputs(session)[0].questions or ()
    options = {option.id: option.description for option in getattr(question, "options", ())}
    assert list(options) == ["browser", "shell", "key"]
    assert "--login` in a terminal" in str(options["shell"])
    assert "Set SCRIPTED_KEY" in str(options["key"])
    login(kernel, session, "browser")
    assert turn.wait(PATIENCE, check=False).text == ("" if never else "welcome")
    assert ((turn.error is not None), session.questions) == (bool(never), ())


def test_login_by_variable_names_the_variable_to_set(kernel: Kernel) -> None:
    """Never request a key: the state would contain it."""
    session = kernel.start("wants_login", "session")
    turn = session.prompt("hi")
    login(kernel, session, "key")
    assert turn.wait(PATIENCE, check=False).error is not None
    assert "wants SCRIPTED_KEY in its environment" in str(turn.error)


def test_unattended_login_fails_with_the_ways_to_sign_in(kernel: Kernel) -> None:
    """``session.login()`` lists the ways and takes one; the next prompt works."""
    kernel.attend(here=False)
    session = kernel.start("wants_login", "session")
    turn = session.prompt("hi").wait(PATIENCE, check=False)
    assert "Ways to sign in: Browser; Shell (type `" in str(turn.error)
    with pytest.raises(UsageError, match="'browser', 'shell', 'key'"):
        session.login(timeout=PATIENCE)
    with pytest.raises(UsageError, match="--login` in a terminal"):
        session.login("shell", timeout=PATIENCE)
    session.login("browser", timeout=PATIENCE)
    assert session.prompt("hi").wait(PATIENCE, check=False).text == "welcome"
