"""The listener: keywords, patterns, answers in turn, memory."""

from __future__ import annotations

import json

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


def doctor() -> Doctor:
    """A listener with the small script."""
    return Doctor(parse_script(SCRIPT))


def said(*prompts: str) -> list[str]:
    """What a new listener answers to these prompts."""
    listener = doctor()
    return [listener.answer(prompt).text for prompt in prompts]


def test_conversation() -> None:
    """A conversation is answered from the script that comes with the package."""
    listener = Doctor(load_script())
    assert {prompt: listener.answer(prompt).text for prompt in TALK} == TALK


def test_rank() -> None:
    """The keyword of the higher rank wins wherever it stands."""
    assert said("My cat sleeps, dog days are here.") == ["Dogs: days are here."]


def test_keyword_that_does_not_fit() -> None:
    """A keyword whose patterns do not fit leaves the word to the next."""
    assert said("The dog chases cats") == ["Cats."]


def test_reflection() -> None:
    """What is given back is turned round."""
    assert said("cats like my shoes") == ["Why cats, and why your shoes?"]
    assert said("Cats like what I'm called") == ["Why Cats, and why what you are called?"]
    assert said("cats like you") == ["Why cats, and why me?"]


def test_turns() -> None:
    """Answers come in turn and start again."""
    assert said("a", "b", "c") == ["One.", "Two.", "One."]


def test_memory() -> None:
    """What was remembered comes back once and in the order it was said."""
    assert said("my cat", "a cat", "hm", "hm", "hm") == [
        "Cats.",
        "Cats.",
        "You said your cat.",
        "You said a cat.",
        "One.",
    ]


def test_full_memory() -> None:
    """Memory forgets the oldest."""
    listener = doctor()
    for number in range(LONGEST_MEMORY + 1):
        listener.answer(f"cat {number}")
    assert listener.answer("hm").text == "You said cat 1."


def test_long_echo() -> None:
    """A long echo is cut."""
    words = [f"w{number}" for number in range(LONGEST_ECHO + 5)]
    assert said("dog " + " ".join(words)) == [f"Dogs: {' '.join(words[:LONGEST_ECHO])} …."]


def test_long_clause() -> None:
    """Only the beginning of a long clause is heard."""
    assert said("word " * LONGEST_CLAUSE + "cat") == ["One."]


def test_reason() -> None:
    """The reason names the word the pattern and the turn."""
    assert doctor().answer("Cats like milk").reason == (
        "I heard “Cats” (rank 1), which fits “* cat|cats like|likes *”: answer 1 of 1."
    )


def test_restore() -> None:
    """A listener goes on where the one before it stopped."""
    first = doctor()
    first.answer("my cat")
    first.answer("dog x")
    state = json.loads(json.dumps(first.state()))
    assert Doctor.restore(parse_script(SCRIPT), state).state() == first.state()


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
