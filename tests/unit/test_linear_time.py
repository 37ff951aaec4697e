"""Text from an agent never costs more time than in proportion to its length: every expression and reader of it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from agentnb.agent.process import Ring
from agentnb.credentials import Credentials
from agentnb.policy.commands import LONGEST_COMMAND, rate_command
from agentnb.policy.commands.code import rate_code
from agentnb.policy.commands.disguise import insides
from agentnb.policy.commands.mentions import named, secret
from agentnb.policy.commands.plain import plainer
from agentnb.policy.glob import command_matches, path_matches
from tests.unit.linear import MORE_UNITS, UNITS, beginnings, expressions, growth, searching

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
    "rate_command": rate_command,
    "plainer": plainer,
    "command_matches": lambda text: command_matches("*a*b*", text),
    "path_matches": lambda text: path_matches("**/{a,b}*c", text),
    "secret": secret,
    "named": named,
    "insides": insides,
}


def test_expressions_are_found() -> None:
    """The tests below would hold for none."""
    assert len(EXPRESSIONS) > 150
    assert EXPRESSIONS["agentnb.credentials.ASSIGNMENT"][1] == {"match"}


def test_growth_of_a_quadratic_expression_is_told() -> None:
    """The tests below would hold whatever the expressions are."""
    quadratic = searching(re.compile(r"\w+@"), {"search"})
    assert "characters take" in (growth(quadratic, "x") or "")
    assert growth(searching(re.compile(r"\w@"), {"search"}), "x") is None


def test_growth_of_a_quadratic_loop_is_told() -> None:
    """As of an expression."""
    assert "characters take" in (growth(lambda text: [text[at:].count("y") for at in range(len(text))], "x") or "")


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_an_expression_of_a_megabyte_of_one_thing_takes_linear_time(name: str) -> None:
    """Runs of characters, and of every beginning of what it matches."""
    pattern, methods = EXPRESSIONS[name]
    run, heads = searching(pattern, methods), beginnings(pattern)
    for unit in (*UNITS, *MORE_UNITS, *heads[:12:3], *heads[12::8]):
        assert growth(run, unit) is None
    for head in (*heads[:12:4], *heads[12::8]):
        assert growth(run, "x", head) is None
        assert growth(run, head[-1], head) is None


@pytest.mark.parametrize("name", READERS)
def test_a_reader_of_one_thing_takes_linear_time(name: str) -> None:
    """Redaction, commands, paths and their neighbours."""
    for unit in (*UNITS, *MORE_UNITS, *CREDENTIAL_UNITS):
        assert growth(READERS[name], unit, largest=16_000) is None
    assert growth(READERS[name], "x") is None


@pytest.mark.parametrize("unit", [*UNITS, *MORE_UNITS, "a;", "a|", "if ", "a\n", "<<a ", "a=b ", "(", "{a,b}"])
def test_a_command_that_is_too_long_is_not_read_and_asks(unit: str) -> None:
    """So its length costs nothing, and it is never allowed unseen."""
    command = unit * (LONGEST_COMMAND // len(unit) + 1)
    rating = rate_command(command)
    assert (rating.severity, rating.readable, rating.asks) == ("high", False, True)
    assert rating.reason == "The command is too long to be read: more than 16,000 characters."
