"""The listener: keywords, patterns, answers in turn, memory."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.plugins.eliza.doctor import LONGEST_CLAUSE, LONGEST_ECHO, LONGEST_MEMORY, Doctor, load_script, parse_script

TALK = {
    "hello": "Hello. I am eliza. What are you working on?",
    "My loop is slow.": "Slow compared with what?",
    "I keep getting an error in my notebook": (
        "Read the error in your notebook to me from its last line upwards. What does that line ask for?"
    ),
    "Why does this fit not converge? Look at @model and @df.": (
        "What would this fit have to give up in order to settle?"
    ),
    "Summarise df": "Before I say a word about df: what do you already suspect?",
    "my mother is angry at me": "How did you find out that your mother is angry at you?",
    "blub blub": "Earlier you spoke of your mother. Does this have to do with it?",
    "bla": "I see. What happened just before that?",
    "It fails when I pass None": "And what happens if it is not the case that you pass None?",
    "I want to give you my notebook": "What keeps you from it: to give me your notebook?",
    "": "I am listening. Say something, or type `/help` to see what I can do.",
}

SCRIPT = """
silence = ["Speak."]
otherwise = ["One.", "Two."]
[expansions]
"i'm" = "I am"
[reflections]
"i am" = "you are"
"my" = "your"
"you" = "I"
[last_reflections]
"you" = "me"
[[keyword]]
words = ["cat", "cats"]
rank = 1
[[keyword.rule]]
pattern = "* cat|cats like|likes *"
answers = ["Why {0}, and why {2}?"]
[[keyword.rule]]
pattern = "*"
answers = ["Cats."]
memory = ["You said {1}."]
[[keyword]]
words = ["dog"]
rank = 2
[[keyword.rule]]
pattern = "dog *"
answers = ["Dogs: {1}."]
"""


WORDS = [f"w{number}" for number in range(LONGEST_ECHO + 5)]
ANSWERS: dict[str, tuple[list[str], list[str]]] = {
    "the higher rank wins": (["My cat sleeps, dog days are here."], ["Dogs: days are here."]),
    "a keyword that does not fit": (["The dog chases cats"], ["Cats."]),
    "turned round": (["cats like my shoes"], ["Why cats, and why your shoes?"]),
    "expanded": (["Cats like what I'm called"], ["Why Cats, and why what you are called?"]),
    "the last word": (["cats like you"], ["Why cats, and why me?"]),
    "in turn": (["a", "b", "c"], ["One.", "Two.", "One."]),
    "remembered once": (
        ["my cat", "a cat", "hm", "hm", "hm"],
        [*["Cats."] * 2, "You said your cat.", "You said a cat.", "One."],
    ),
    "a long echo": ([f"dog {' '.join(WORDS)}"], [f"Dogs: {' '.join(WORDS[:LONGEST_ECHO])} …."]),
    "a long clause": (["word " * LONGEST_CLAUSE + "cat"], ["One."]),
    "a full memory": (
        [*(f"cat {number}" for number in range(LONGEST_MEMORY + 1)), "hm"],
        [*["Cats."] * (LONGEST_MEMORY + 1), "You said cat 1."],
    ),
}


def test_conversation() -> None:
    """A conversation is answered from the script that comes with the package."""
    listener = Doctor(load_script())
    assert {prompt: listener.answer(prompt).text for prompt in TALK} == TALK


@pytest.mark.parametrize("case", ANSWERS)
def test_answers(case: str) -> None:
    """Ranks, patterns, reflections, turns and memory; the state of a listener is one of another that goes on."""
    prompts, expected = ANSWERS[case]
    listener = Doctor(parse_script(SCRIPT))
    for prompt, answer in zip(prompts, expected, strict=True):
        listener = Doctor.restore(listener.script, json.loads(json.dumps(listener.state())))
        assert listener.answer(prompt).text == answer


def test_reason() -> None:
    """The reason names the word, the pattern and the turn."""
    assert Doctor(parse_script(SCRIPT)).answer("Cats like milk").reason == (
        "I heard “Cats” (rank 1), which fits “* cat|cats like|likes *”: answer 1 of 1."
    )


@given(st.lists(st.text(max_size=200), max_size=8))
def test_determinism(prompts: list[str]) -> None:
    """Any prompts get answers and the same prompts get the same."""
    first, second = Doctor(load_script()), Doctor(load_script())
    answers = [first.answer(prompt) for prompt in prompts]
    assert all(answer.text for answer in answers)
    assert [second.answer(prompt) for prompt in prompts] == answers


def test_every_rule_fits_something() -> None:
    """Each is reached by words of its own, its answers use what it catches, and no word has two keywords."""
    script = load_script()
    words = [word for keyword in script.keywords for word in keyword.words]
    assert len(words) == len({*words})
    for keyword in script.keywords:
        for rule in keyword.rules:
            words = [token.split("|")[0] if token != "*" else "thing" for token in rule.pattern.split()]
            parts = rule.match(" ".join(words))
            assert parts is not None, rule.name
            assert all(answer.format("", *parts) for answer in (*rule.answers, *rule.memory)), rule.name
