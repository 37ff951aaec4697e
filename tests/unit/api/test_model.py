"""The model with which a session starts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentnb import Session
from agentnb.errors import NotOffered, TurnFailed
from tests.unit.api.conftest import PATIENCE

Start = Callable[..., Session]
AGENT_SESSION = "session-1"
"""The id that scripted agents give their session."""


def model_of(session: Session) -> object:
    return next(each["currentValue"] for each in session.state.config_options or () if each["id"] == "model")


@pytest.mark.parametrize("words", [["both"], ["old"]])
def test_start_accepts_a_model_by_id_or_name(start: Start, words: list[str]) -> None:
    """Also with older agents, which have no config option for it."""
    for model in ("m2", "Two", "two"):
        session = start("settings", *words, model=model)
        session.open(PATIENCE)
        assert model_of(session) == "m2"


def test_unknown_model_fails_every_turn_and_lists_the_models(start: Start) -> None:
    """Opening the session fails, too; no prompt reaches another model."""
    session = start("settings", "both", model="m3")
    for _ in range(2):
        with pytest.raises(TurnFailed, match=r"does not offer the model 'm3'\. .*: m1, m2\."):
            session.prompt("hello").wait(PATIENCE)
    with pytest.raises(NotOffered, match="m1, m2"):
        session.open(PATIENCE)


def test_turn_fails_when_the_agent_has_no_choice_of_models(start: Start) -> None:
    with pytest.raises(TurnFailed, match=r"has no choice of models, and 'haiku' was asked for\. Leave out model=\."):
        start(model="haiku").prompt("hello").wait(PATIENCE)


@pytest.mark.parametrize("words", [[], ["resume"]])
def test_model_survives_an_agent_restart(start: Start, words: list[str]) -> None:
    """Also if the agent cannot resume its session; the last choice counts."""
    session = start("settings", "both", *words, model="m2")
    session.open(PATIENCE)
    session.restart(PATIENCE)
    assert model_of(session) == "m2"
    session.set_option("model", "m1", PATIENCE)
    session.set_option("model", "m3", PATIENCE)
    session.restart(PATIENCE)
    assert model_of(session) == "m3"


def test_fork_uses_the_model_chosen_last(start: Start) -> None:
    """It is not the model of the session's start."""
    session = start("settings", "both", "fork", model="m2")
    session.open(PATIENCE)
    session.set_option("model", "m1", PATIENCE)
    copy = session.fork(timeout=PATIENCE)
    copy.open(PATIENCE)
    assert (model_of(copy), model_of(session)) == ("m1", "m1")
    copy.close(PATIENCE)


def test_start_changes_the_model_of_an_open_session(start: Start) -> None:
    """An unknown model is an error, which lists only some of many, and changes nothing."""
    session = start("many_models")
    assert session.prompt("hello").wait(PATIENCE).text == "model-0, 5 characters"
    again = start("many_models", session=AGENT_SESSION, model="Model-7")
    assert again.tab_id == session.tab_id
    assert session.prompt("hello").wait(PATIENCE).text == "model-7, 5 characters"
    with pytest.raises(NotOffered, match=r"model-0, model-1, .*, model-19 and 180 more\."):
        start("many_models", session=AGENT_SESSION, model="other")
    assert session.prompt("hello").wait(PATIENCE).text == "model-7, 5 characters"


def test_set_model_accepts_an_id_or_a_name(start: Start) -> None:
    """Also before the agent starts, instead of an unknown model; it survives the agent's restart."""
    session = start("settings", "both", "resume", model="m3")
    with pytest.raises(NotOffered, match="m1, m2"):
        session.open(PATIENCE)
    session.set_model("two", PATIENCE)
    assert model_of(session) == "m2"
    session.set_model("m1", PATIENCE)
    session.set_model("Two", PATIENCE)
    session.restart(PATIENCE)
    assert model_of(session) == "m2"


def test_option_update_sent_with_the_response_takes_effect(start: Start) -> None:
    """The update comes in one read with the response."""
    session = start("changes_its_mind")
    session.open(PATIENCE)
    session.set_option("size", "large")
    assert [each["currentValue"] for each in session.state.config_options or ()] == ["small"]
