"""The log of 10,000 conversations and 1,000,000 turns: its first page, and a search, beside a log a tenth as large.

Measured is the time on the clock of one call, as a page waits for it; the best of some. The search index exists
already.
"""

from __future__ import annotations

import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from agentnb.log import database
from agentnb.log.store import LogStore
from tests.benchmarks.row import Row

CONVERSATIONS = int(os.environ.get("AGENTNB_HISTORY_SIZE", "10000"))
TURNS = 100
"""Turns of each conversation."""
ROUNDS = 5
DAY_MS = 86_400_000
MOST_LIST_MS, MOST_SEARCH_MS = 100.0, 200.0


WORDS = [
    f"{first}{second}" for first in ("re", "plot", "ax", "lo", "me", "out", "fra") for second in ("sid", "mean", "um")
]


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        small, large = (_Log(Path(folder, f"{count}.db"), count) for count in (CONVERSATIONS // 10, CONVERSATIONS))
        return [row for what in _QUESTIONS for row in _rows(what, small, large)]


class _Log:
    """A generated log.

    Args:
        path: Its file.
        count: Number of conversations.
    """

    def __init__(self, path: Path, count: int) -> None:
        self.count = count
        self.store = LogStore(path, "generated")
        with closing(database.connect(path)) as connection, database.transaction(connection):
            connection.executemany(_SESSION, _sessions(count))
            connection.executemany("INSERT INTO turns VALUES (?, ?, ?, ?, ?)", _turns(count))
            _mark(connection, count)
        began = time.perf_counter()
        while self.store.find("needle").left:
            pass
        self.index_seconds = time.perf_counter() - began

    def best(self, ask: Callable[[LogStore], object]) -> float:
        """Milliseconds."""
        return min(_seconds(lambda: ask(self.store)) for _ in range(ROUNDS)) * 1000


_SESSION = "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, NULL, 'generated', 0, ?, ?, NULL)"
_QUESTIONS: dict[str, tuple[Callable[[LogStore], object], float]] = {
    "first page": (lambda store: store.find(), MOST_LIST_MS),
    "first page of a folder": (lambda store: store.find(cwd="/work/7"), MOST_LIST_MS),
    "first page of what failed": (lambda store: store.find(state="failed"), MOST_LIST_MS),
    "page 20": (lambda store: store.find(offset=950), MOST_LIST_MS),
    "search, one turn": (lambda store: store.find("needle 7 in"), MOST_SEARCH_MS),
    "search, a rare word": (lambda store: store.find("haystack"), MOST_SEARCH_MS),
    "search, a word of every turn": (lambda store: store.find("turn of"), MOST_SEARCH_MS),
    "search, nowhere": (lambda store: store.find("quokka"), MOST_SEARCH_MS),
    "search, two letters": (lambda store: store.find("zz"), MOST_SEARCH_MS),
}


def _rows(what: str, small: _Log, large: _Log) -> Iterator[Row]:
    ask, most = _QUESTIONS[what]
    value, beside = large.best(ask), small.best(ask)
    name = f"history of {large.count:,}: {what}"
    yield Row(what=name, value=value, unit="ms", beside=beside, beside_name=f"of {small.count:,}")
    yield Row(
        what=f"{name}, beside {most:g} ms", value=value, unit="ms", beside=most, beside_name="wanted", at_most=1.0
    )


def _sessions(count: int) -> Iterator[tuple[object, ...]]:
    now = time.time_ns() // 1_000_000
    for number in range(count):
        at = now - number * DAY_MS // 20
        yield (
            f"eliza:/{number:08}",
            "eliza",
            f"About {number}",
            f"/work/{number % 50}",
            f"n{number % 200}.ipynb",
            at,
            at,
        )


def _turns(count: int) -> Iterator[tuple[object, ...]]:
    chance = random.Random(1)
    for number in range(count):
        for turn in range(TURNS):
            words = " ".join(chance.choices(WORDS, k=12))
            answer = " ".join(chance.choices(WORDS, k=25))
            if turn == number % TURNS:
                answer += f" needle {number} in" + (" haystack" if number % 500 == 0 else "")
            yield f"eliza:/{number:08}", turn, f"{number}-{turn}", f"Turn of {words}?", answer


def _mark(connection: sqlite3.Connection, count: int) -> None:
    marks = [(f"eliza:/{number:08}", 2 if number % 10 == 0 else 1, number % 1000 == 0) for number in range(count)]
    connection.executemany("INSERT INTO marks (uri, status, pinned) VALUES (?, ?, ?)", marks)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
