"""The inside: the fast search for credentials finds the same as the full search."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentnb.credentials import ASSIGNMENT, SHAPES, any_case, assignments, shapes
from tests.thorough import examples
from tests.unit.cassette.test_secrets import CREDENTIALS, MIX

NAMES = ["key", "KEY", "\u212aey", "secret", "\u017fecret", "token", "tokens", "Token", "password", "passwrd"]
NAMES += ["passphrase", "credentials", "credent\u0131al", "api", "client", "encryption", "access", "session", "b"]
SIGNS = ["=", ":", ":=", "=>", "'", '"', " ", "\n", "_", "-", ".", ",", ";", "(", "⟦", "⟧", "é", "7", "/"]
VALUES = ["0f9e8d7c6b5a4321", "correct-horse-9", "x" * 12, "1" * 2_000, "a" * 59, "b" * 60, "c" * 61, "d_" * 40]
TEXTS = st.lists(st.sampled_from(NAMES + SIGNS + VALUES), max_size=24).map("".join)

WORDS = [
    "key",
    "api[_-]?key",
    "access[_-]?key",
    "token",
    "secret",
    "session_id",
    "passw(?:or)?d",
    "pwd",
    "cookie$",
    "auth",
]
CASED = [
    "k",
    "K",
    "\u212a",
    "ey",
    "EY",
    "\u017f",
    "s",
    "S",
    "ecret",
    "ESSION_ID",
    "api",
    "_",
    "token",
    "PASSWord",
    "wd",
]
CASED += ["access-", "cookie", "Auth", "x", "p", "I", "\u0131"]

RARE = [
    "1//0" + MIX,
    "sq0atp-" + MIX[:22],
    "EAAA" + (MIX * 2)[:58],
    "M" + MIX[:24] + "." + MIX[:6] + "." + MIX[:28],
    "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN" * 3,
    "secret" + "_" + (MIX * 2)[:43],
    "glc" + "_" + MIX,
]
SAMPLES = [*CREDENTIALS.values(), *RARE]

_PIECE = re.compile(
    r"(?:\\b)?(?:\(\?:(?P<words>[\w-]+(?:\|[\w-]+)+)\)(?P<perhaps>\?)?|\[(?P<letters>[A-Za-z]{2,6})\]|\\(?P<sign>[./])"
    r"|(?P<plain>[\w:/=-]))(?![{*+?])"
)


def heads(shape: str) -> list[str]:
    """Returns every beginning of *shape*'s matches, up to the first part with many possible texts."""
    choices: list[list[str]] = []
    at = 0
    while (piece := _PIECE.match(shape, at)) is not None:
        words = (piece["words"] or "").split("|") if piece["words"] else list(piece["letters"] or "")
        choices.append([*(words or [piece["sign"] or piece["plain"]]), *([""] if piece["perhaps"] else [])])
        at = piece.end()
    return ["".join(each) for each in itertools.product(*choices)]


def variants(name: str) -> list[str]:
    """Returns the samples of the shape *name*, with each literal replaced by each other one."""
    plain, literals = re.compile(SHAPES[name][0]), SHAPES[name][1:]
    swapped = (sample.replace(old, new) for sample in SAMPLES for old in literals for new in literals if old in sample)
    return [each for each in dict.fromkeys(swapped) if plain.search(each)]


@settings(max_examples=examples(400), deadline=None)
@given(text=TEXTS | st.text())
@example(text="a" * 60 + "encryption_key=0f9e8d7c6b5a4321")
@example(text="a" * 61 + "encryption_key=0f9e8d7c6b5a4321")
@example(text="a key=" + "1" * 2_000 + "api_key=0f9e8d7c6b5a4321")
@example(text="secretoken=0f9e8d7c6b5a4321 tokey: 0f9e8d7c6b5a4321")
@example(text="token" * 30 + " token=0f9e8d7c6b5a4321")
def test_assignments_match_those_of_the_plain_expression(text: str) -> None:
    """Names beyond the look-back, values that end inside a word, letters that fold."""
    matches = [(match.span(), match.groupdict()) for match in assignments(text)]
    assert matches == [(match.span(), match.groupdict()) for match in ASSIGNMENT.finditer(text)]


@settings(max_examples=examples(300), deadline=None)
@given(
    words=st.sets(st.sampled_from(WORDS), min_size=1), text=st.lists(st.sampled_from(CASED), max_size=12).map("".join)
)
def test_any_case_matches_the_same_as_ignorecase(words: set[str], text: str) -> None:
    """Also for letters that fold; of words with the same beginning, the first match wins."""
    ordered = sorted(words)
    plain = re.compile("|".join(ordered), re.IGNORECASE)
    spans = [match.span() for match in re.finditer(any_case(*ordered), text)]
    assert spans == [match.span() for match in plain.finditer(text)]


@pytest.mark.parametrize("name", [name for name in CREDENTIALS if name.startswith("assignment")])
def test_every_sample_assignment_is_found(name: str) -> None:
    """Otherwise the property test could compare two empty results."""
    assert list(assignments(f"say {CREDENTIALS[name]} once"))


@pytest.mark.parametrize("name", SHAPES)
def test_every_beginning_of_a_shape_contains_a_literal(name: str) -> None:
    """No alternative is forgotten."""
    known = [any(literal in head for literal in SHAPES[name][1:] or ("",)) for head in heads(SHAPES[name][0])]
    assert all(known) or (not any(known) and variants(name))


@pytest.mark.parametrize(("name", "literal"), [(name, each) for name in SHAPES for each in SHAPES[name][1:]])
def test_every_variant_with_a_literal_is_found(name: str, literal: str) -> None:
    """With a misspelt literal, no sample would have it, and the credential would be written down."""
    holding = [text for text in variants(name) if literal in text]
    assert holding
    for text in holding:
        match = re.search(SHAPES[name][0], text)
        assert match is not None
        assert any(start <= match.start() and match.end() <= end for start, end, _ in shapes(text))


def test_heads_returns_all_beginnings_of_a_shape() -> None:
    """The tests above depend on it."""
    assert heads(SHAPES["OpenAI key"][0]) == ["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-"]
    assert heads(SHAPES["Stripe key"][0])[:2] == ["sk_live_", "sk_test_"]
    assert heads(SHAPES["DigitalOcean token"][0]) == ["doo_v1_", "dop_v1_", "dor_v1_"]
