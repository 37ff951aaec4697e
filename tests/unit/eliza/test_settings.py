"""Modes and options: what is offered, what is accepted, what it does."""

from __future__ import annotations

import pytest

from agentnb.eliza.settings import OPTIONS, Settings, UnknownSetting

TEXT = "One  two\n three.\n\nFour"


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ("word", ["One  ", "two\n ", "three.\n\n", "Four"]),
        ("line", ["One  two\n", " three.\n", "\n", "Four"]),
        ("letter", list(TEXT)),
        ("whole", [TEXT]),
    ],
)
def test_a_text_is_cut_as_the_option_says_and_nothing_is_lost(pieces: str, expected: list[str]) -> None:
    assert list(Settings(values={"pieces": pieces}).cut(TEXT)) == expected


def test_every_option_begins_with_its_default() -> None:
    assert [Settings()[option.id] for option in OPTIONS] == ["instant", "word", False]


@pytest.mark.parametrize(("value", "expected"), [("on", True), (True, True), ("False", False), ("off", False)])
def test_a_switch_takes_words_and_booleans(value: object, expected: bool) -> None:
    settings = Settings()
    settings.set_option("thoughts", value)
    assert settings["thoughts"] is expected


@pytest.mark.parametrize(
    ("option_id", "value", "message"),
    [
        ("speed", "1", "There is no option `speed`; it can be `pace`, `pieces`, `thoughts`."),
        ("pace", "never", "`pace` has no value `never`; it can be `instant`, `natural`."),
        ("pace", True, "`pace` has no value `True`; it can be `instant`, `natural`."),
        ("thoughts", "perhaps", "`thoughts` has no value `perhaps`; it can be `on`, `off`."),
    ],
)
def test_what_is_not_offered_is_refused_with_what_is(option_id: str, value: object, message: str) -> None:
    with pytest.raises(UnknownSetting) as refused:
        Settings().set_option(option_id, value)
    assert str(refused.value) == message


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(UnknownSetting, match="There is no mode `x`; it can be `doctor`, `plain`"):
        Settings().set_mode("x")


def test_clients_that_know_no_switches_are_offered_a_choice() -> None:
    assert [option.type for option in Settings().options(switches=True)] == ["select", "select", "boolean"]
    assert [option.type for option in Settings().options(switches=False)] == ["select", "select", "select"]
