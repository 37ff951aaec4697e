"""Splits a command line of any length into the words of the standard library."""

from __future__ import annotations

import shlex

from hypothesis import example, given
from hypothesis import strategies as st

from agentnb.policy.shell.words import split_words

PIECES = ("a", "b=1", " ", "\t", "\n", "\r", "\u00a0", "'", '"', "\\", "''", '"x"', "#", ";", "|", "$(", "\x00")


def outcome(line: str, split: object) -> object:
    assert callable(split)
    try:
        return split(line)
    except ValueError as error:
        return str(error)


@given(st.one_of(st.lists(st.sampled_from(PIECES)).map("".join), st.text()))
@example("a''b \"\\\"\\\\\\n\" '' \\\n")
def test_split_words_gives_the_same_words_as_shlex(line: str) -> None:
    """Or the same error."""
    assert outcome(line, split_words) == outcome(line, shlex.split)
