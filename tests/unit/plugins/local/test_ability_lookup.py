"""The abilities of all models are looked up in the background, shown in the list of models, and kept."""

from __future__ import annotations

from tests.unit.api.conftest import PATIENCE
from tests.unit.plugins.local.conftest import Chat, Models, until_listed


def others(models: Models) -> list[str]:
    """Returns the looked-up models except the chosen one, which is looked up separately."""
    return [each for each in models.looked_up if each != "echo"]


ALL = "tools: yes, images: no, thinking: yes, context: 40,960 tokens"


def test_abilities_of_all_models_are_looked_up_once_per_pull(chat: Chat, models: Models) -> None:
    """The list shows the progress; a session opens before; digests tell the models of two pulls apart."""
    descriptions = until_listed(chat("echo"), lambda texts: texts.get("cut") == ALL)
    assert descriptions["echo"] == ALL
    assert descriptions["no-tools"] == "Cannot use tools."
    assert descriptions[""].startswith("The model that answers.")
    lookups = others(models)
    assert sorted(lookups) == sorted(set(lookups))
    until_listed(chat("echo"), lambda texts: texts.get("cut") == ALL)
    assert others(models) == lookups
    models.pull_all()
    until_listed(chat("echo"), lambda texts: texts.get("cut") == ALL and texts.get("") == "The model that answers.")
    assert sorted(others(models)) == sorted([*lookups, *lookups])


def test_server_with_few_models_is_tested_for_tool_support(chat: Chat) -> None:
    """A server with many models is not made to load each."""
    descriptions = until_listed(chat("echo", "bare"), lambda texts: texts.get("") == "The model that answers.")
    assert descriptions["echo"] == "tools: yes, images: not known, thinking: not known, context: not known"
    assert descriptions["no-tools"] == "Cannot use tools."
    descriptions = until_listed(chat("echo", "vllm"), lambda texts: texts.get("") == "The model that answers.")
    assert descriptions["echo"] == "tools: not known, images: not known, thinking: not known, context: 4,096 tokens"


def test_session_works_when_the_server_stops_during_the_lookup(chat: Chat) -> None:
    """The session works: its model is looked up at the prompt."""
    session = chat("echo", "fades")
    descriptions = until_listed(session, lambda texts: texts.get("") == "The model that answers.")
    assert set(descriptions.values()) == {"The model that answers.", "Its server does not answer."}
    assert session.prompt("Hello").wait(PATIENCE).text == "Hello"
