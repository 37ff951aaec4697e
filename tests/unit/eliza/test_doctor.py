"""The listener: keywords, patterns, answers in turn, memory."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.eliza.doctor import LONGEST_CLAUSE, LONGEST_ECHO, LONGEST_MEMORY, Doctor, load_script, parse_script

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
    return Doctor(parse_script(SCRIPT))


def said(*prompts: str) -> list[str]:
    listener = doctor()
    return [listener.answer(prompt).text for prompt in prompts]


def test_a_conversation_is_answered_from_the_script_that_comes_with_the_package() -> None:
    listener = Doctor(load_script())
    assert {prompt: listener.answer(prompt).text for prompt in TALK} == TALK


def test_the_keyword_of_the_higher_rank_wins_wherever_it_stands() -> None:
    assert said("My cat sleeps, dog days are here.") == ["Dogs: days are here."]


def test_a_keyword_whose_patterns_do_not_fit_leaves_the_word_to_the_next() -> None:
    assert said("The dog chases cats") == ["Cats."]


def test_what_is_given_back_is_turned_round() -> None:
    assert said("cats like my shoes") == ["Why cats, and why your shoes?"]
    assert said("Cats like what I'm called") == ["Why Cats, and why what you are called?"]
    assert said("cats like you") == ["Why cats, and why me?"]


def test_answers_come_in_turn_and_start_again() -> None:
    assert said("a", "b", "c") == ["One.", "Two.", "One."]


def test_what_was_remembered_comes_back_once_and_in_the_order_it_was_said() -> None:
    assert said("my cat", "a cat", "hm", "hm", "hm") == ["Cats.", "Cats.", "You said your cat.", "You said a cat.", "One."]


def test_memory_forgets_the_oldest() -> None:
    listener = doctor()
    for number in range(LONGEST_MEMORY + 1):
        listener.answer(f"cat {number}")
    assert listener.answer("hm").text == "You said cat 1."


def test_a_long_echo_is_cut() -> None:
    words = [f"w{number}" for number in range(LONGEST_ECHO + 5)]
    assert said("dog " + " ".join(words)) == [f"Dogs: {' '.join(words[:LONGEST_ECHO])} …."]


def test_only_the_beginning_of_a_long_clause_is_heard() -> None:
    assert said("word " * LONGEST_CLAUSE + "cat") == ["One."]


def test_the_reason_names_the_word_the_pattern_and_the_turn() -> None:
    assert doctor().answer("Cats like milk").reason == (
        "I heard “Cats” (rank 1), which fits “* cat|cats like|likes *”: answer 1 of 1."
    )


def test_a_listener_goes_on_where_the_one_before_it_stopped() -> None:
    first = doctor()
    first.answer("my cat")
    first.answer("dog x")
    state = json.loads(json.dumps(first.state()))
    assert Doctor.restore(parse_script(SCRIPT), state).state() == first.state()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (SCRIPT.replace('"cats"]', '"dog"]'), "Words of more than one keyword: dog"),
        (SCRIPT.replace("Dogs: {1}", "Dogs: {2}"), "Rule dog/1: 'Dogs: {2}.' uses a part that 'dog *' does not catch"),
    ],
)
def test_a_script_that_can_not_work_is_refused(wrong: str, message: str) -> None:
    with pytest.raises(ValueError, match=".*") as refused:
        parse_script(wrong)
    assert str(refused.value) == message


@given(st.lists(st.text(max_size=200), max_size=8))
def test_any_prompts_get_answers_and_the_same_prompts_get_the_same(prompts: list[str]) -> None:
    first, second = Doctor(load_script()), Doctor(load_script())
    answers = [first.answer(prompt) for prompt in prompts]
    assert all(answer.text for answer in answers)
    assert [second.answer(prompt) for prompt in prompts] == answers


def test_every_rule_of_the_script_can_be_reached_by_some_words_of_its_own() -> None:
    script = load_script()
    for keyword in script.keywords:
        for rule in keyword.rules:
            words = [token.split("|")[0] if token != "*" else "thing" for token in rule.pattern.split()]
            assert rule.match(" ".join(words)) is not None, rule.name
