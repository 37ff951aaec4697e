"""Text from an agent never costs more time than in proportion to its length: every expression and reader of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentnb.agent.process import Ring
from agentnb.credentials import Credentials
from agentnb.policy.commands.code import rate_code
from tests.unit.linear import MEGABYTE, MORE_UNITS, UNITS, beginnings, expressions, growth, searching

EIGHTH = MEGABYTE // 8
EXPRESSIONS = expressions()
CREDENTIAL_UNITS = (
    "token",
    "token-",
    "-token",
    "eyJ-",
    "token=",
    'token="',
    "://",
    "://a:",
    "-u ",
    "-p",
    "key: ",
    "BEGIN ",
)


def ring(text: str) -> str:
    kept = Ring()
    kept.append(text.encode())
    return kept.lines()


READERS: dict[str, Callable[[str], object]] = {
    "hidden": Credentials({"MY_TOKEN": "xxxxxxxy"}).hidden,
    "hidden_in_command": Credentials({"MY_TOKEN": "xxxxxxxy"}).hidden_in_command,
    "beginning_of_command": lambda text: Credentials().beginning_of_command(text, 2000),
    "ring": ring,
    "rate_code": rate_code,
}


def test_expressions_are_found() -> None:
    """The tests below would hold for none."""
    assert len(EXPRESSIONS) > 150
    assert EXPRESSIONS["agentnb.agent.process._ESCAPE"][1] == {"sub"}


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_an_expression_of_a_megabyte_of_one_thing_takes_linear_time(name: str) -> None:
    """Runs of characters, and of every beginning of what it matches."""
    pattern, methods = EXPRESSIONS[name]
    run, heads = searching(pattern, methods), beginnings(pattern)
    for unit in UNITS:
        assert growth(run, unit) is None
    for unit in (*MORE_UNITS, *heads[:12:2], *heads[12::8]):
        assert growth(run, unit, largest=EIGHTH) is None
    for head in (*heads[:12:3], *heads[12::8]):
        assert growth(run, "x", head, EIGHTH) is None
        assert growth(run, head[-1], head, EIGHTH) is None


@pytest.mark.parametrize("name", READERS)
def test_a_reader_of_a_megabyte_of_one_thing_takes_linear_time(name: str) -> None:
    """Redaction and its neighbours."""
    for unit in UNITS:
        assert growth(READERS[name], unit) is None
    for unit in (*MORE_UNITS, *CREDENTIAL_UNITS):
        assert growth(READERS[name], unit, largest=EIGHTH) is None
