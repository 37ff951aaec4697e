"""Modes and options: what is offered, what is accepted, what it does."""

from __future__ import annotations

import pytest

from agentnb.plugins.eliza.settings import ElizaSettings

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
    assert list(ElizaSettings(values={"pieces": pieces}).cut(TEXT)) == expected


@pytest.mark.parametrize(("value", "expected"), [("on", True), (True, True), ("False", False), ("off", False)])
def test_switch(value: object, expected: bool) -> None:
    """A switch takes words and booleans."""
    settings = ElizaSettings()
    settings.set_option("thoughts", value)
    assert settings["thoughts"] is expected
