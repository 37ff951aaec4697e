"""The listener: keywords, patterns, answers in turn, memory.

The inside: an algorithm with generated prompts.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentnb.plugins.eliza.doctor import Doctor

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


def test_doctor_answers_from_its_script() -> None:
    listener = Doctor()
    assert {prompt: listener.answer(prompt).text for prompt in TALK} == TALK


@given(st.lists(st.text(max_size=200), max_size=8))
def test_doctor_gives_the_same_answers_each_time(prompts: list[str]) -> None:
    first, second = Doctor(), Doctor()
    answers = [first.answer(prompt) for prompt in prompts]
    assert all(answer.text for answer in answers)
    assert [second.answer(prompt) for prompt in prompts] == answers
