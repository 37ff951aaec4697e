"""Lone surrogates, as in file names that are not UTF-8: neither JSON nor databases can hold them."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import agentnb
from agentnb import Session
from tests.unit.api.conftest import PATIENCE

Start = Callable[..., Session]
HALF, PAIR = "\udce9", "\N{GRINNING FACE}"


def test_lone_surrogates_from_the_user_are_replaced(start: Start) -> None:
    """In prompts, titles, attachments and searches; the log still works, and whole pairs stay."""
    word = uuid.uuid4().hex
    session = start(title=f"{word} caf{HALF} {PAIR}")
    turn = session.prompt(f"/say {word} a{HALF}b {PAIR}", [f"x{HALF}y", {f"caf{HALF}.csv": 1}]).wait(PATIENCE)
    assert (turn.text, session.title) == (f"{word} a\ufffdb {PAIR}", f"{word} caf\ufffd {PAIR}")
    session.prompt(f"/say later {word}").wait(PATIENCE)
    (row,) = agentnb.history(word)
    assert (row.title, row.turns) == (session.title, 2)
    assert [each.id for each in agentnb.history(f"{word} a{HALF}b")] == [row.id]
    agentnb.update_session(row, title=f"{word} {HALF}")
    assert session.title == f"{word} \ufffd"
