"""Modes and options: what is offered, what is accepted, what it does."""

from __future__ import annotations

import pytest

from agentnb.plugins.eliza.settings import OPTIONS, Settings, UnknownSetting

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
def test_cut(pieces: str, expected: list[str]) -> None:
    """A text is cut as the option says and nothing is lost."""
    assert list(Settings(values={"pieces": pieces}).cut(TEXT)) == expected


def test_defaults() -> None:
    """Every option begins with its default."""
    assert [Settings()[option.id] for option in OPTIONS] == ["instant", "word", False]


@pytest.mark.parametrize(("value", "expected"), [("on", True), (True, True), ("False", False), ("off", False)])
def test_switch(value: object, expected: bool) -> None:
    """A switch takes words and booleans."""
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
def test_unknown_options(option_id: str, value: object, message: str) -> None:
    """What is not offered is refused with what is."""
    with pytest.raises(UnknownSetting) as refused:
        Settings().set_option(option_id, value)
    assert str(refused.value) == message


def test_unknown_mode() -> None:
    """An unknown mode is refused."""
    with pytest.raises(UnknownSetting, match="There is no mode `x`; it can be `doctor`, `plain`"):
        Settings().set_mode("x")


def test_clients_without_switches() -> None:
    """Clients that know no switches are offered a choice."""
    assert [option.type for option in Settings().options(switches=True)] == ["select", "select", "boolean"]
    assert [option.type for option in Settings().options(switches=False)] == ["select", "select", "select"]
