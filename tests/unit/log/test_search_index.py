"""The inside: the search index finds the same as reading the whole log, after any change or damage."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb.log import database
from agentnb.log.record import LogBatch, SessionRecord, TurnText
from agentnb.log.search_index import AROUND, HITS, SearchIndex
from agentnb.log.store import LogStore
from tests.thorough import examples
from tests.unit.api.conftest import PATIENCE

TEXTS = st.text(alphabet="abB ß%_\"*'\n\N{SNOWMAN}\N{GRINNING FACE}数据", max_size=12)
TURNS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4)


class Log:
    """A log in a folder, written as kernels do."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "sessions.db"
        self.store = LogStore(self.path, "host")
        self.index = self.path.with_name("sessions-search.db")
        self.turns: dict[str, list[tuple[str, str]]] = {}
        self._moment = 0

    def say(self, uri: str, turns: list[tuple[str, str]], *, title: str = "-") -> None:
        """Sets the turns of the conversation."""
        self._moment += 1
        self.turns[uri] = turns
        session = SessionRecord(
            uri=uri, agent="-", title=title, cwd="-", host_id="host", created_at=1, modified_at=self._moment
        )
        records = [
            TurnText(uri=uri, number=number, turn_id=f"{self._moment}.{number}", prompt=prompt, answer=answer)
            for number, (prompt, answer) in enumerate(turns)
        ]
        self.store.write(LogBatch(sessions={uri: session}, turns=records))
        assert self.store.flush(PATIENCE)

    def search(self, text: str) -> set[str]:
        return {record.uri for record in self.store.sessions(text)}

    def holds(self, text: str) -> set[str]:
        """Returns the conversations that contain *text*, by reading each."""
        folded = text.casefold()
        return {
            uri
            for uri, turns in self.turns.items()
            if any(folded in words.casefold() for turn in turns for words in turn) or folded in "-\n-\n-\n"
        }


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


@settings(max_examples=examples(60), deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), TURNS), min_size=1, max_size=6),
    wanted=st.lists(TEXTS.filter(bool), min_size=1, max_size=6),
    forgotten=st.sampled_from(["", "a"]),
)
def test_search_finds_the_same_as_reading_every_text(
    steps: list[tuple[str, list[tuple[str, str]]]], wanted: list[str], forgotten: str
) -> None:
    """Special characters match themselves; a search between changes has no effect."""
    with tempfile.TemporaryDirectory() as folder:
        log = Log(Path(folder))
        for uri, turns in steps:
            before = log.turns.get(uri, [])
            log.say(uri, turns + before[len(turns) :])
            log.search(wanted[0])
        if forgotten in log.turns:
            log.store.forget(forgotten)
            del log.turns[forgotten]
        parts = [turn[0][1:6] for turns in log.turns.values() for turn in turns]
        for text in [*wanted, *filter(str.strip, parts)]:
            assert (text, log.search(text)) == (text, log.holds(text))
        log.store.close()


def test_hits_show_the_place_of_the_text(log: Log) -> None:
    """With the original spelling, and some text around it on one line; the latest few.

    A title that has the text is no hit.
    """
    log.say("a", [("one", "x" * 100 + "\nthe Straße\nends" + "y" * 100), ("STRASSE?", "no")])
    hits = log.store.find("strasse").hits["a"]
    assert [(hit.number, hit.where, hit.text) for hit in hits] == [(1, "prompt", "STRASSE"), (0, "answer", "Straße")]
    assert str(hits[1]) == "…" + "x" * (AROUND - 5) + " the Straße ends" + "y" * (AROUND - 5) + "…"
    log.say("b", [("one", "two")], title="Residuals")
    log.say("c", [("the word", "the word")] * 20)
    assert [hit.number for hit in log.store.find("word").hits["c"]] == [19, 19, 18][:HITS]
    results = log.store.find("residual")
    assert ([record.uri for record in results.sessions], results.hits) == (["b"], {})


def test_a_deleted_conversation_leaves_nothing_in_the_index(log: Log) -> None:
    """Neither in a table nor in the bytes of its file."""
    log.say("a", [("a very private matter", "indeed")])
    log.say("b", [("something else", "yes")])
    assert log.search("private")
    log.store.forget("a")
    with sqlite3.connect(log.index) as index:
        index.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert index.execute("SELECT uri FROM places").fetchall() == [("b",)]
    assert b"private" not in log.index.read_bytes()


NEWER = "CREATE TABLE places (something TEXT); PRAGMA user_version = 99"


@pytest.mark.parametrize(
    "damage", [b"", b"no database at all, " * 50, None, NEWER], ids=["empty", "no", "gone", "newer"]
)
def test_damaged_or_missing_index_is_rebuilt(log: Log, damage: bytes | str | None) -> None:
    """It only has data that the log has too; a newer agentnb may have written it."""
    log.say("a", [("residuals", "two")])
    assert log.search("residual")
    for suffix in ("", "-wal", "-shm"):
        log.index.with_name(log.index.name + suffix).unlink(missing_ok=True)
    if isinstance(damage, bytes):
        log.index.write_bytes(damage)
    elif damage is not None:
        with sqlite3.connect(log.index) as index:
            index.executescript(damage)
    assert log.search("residual") == {"a"}
    with sqlite3.connect(log.index) as index:
        assert index.execute("SELECT count(*) FROM places").fetchone() == (1,)


def test_search_reads_the_log_when_the_index_is_unwritable(log: Log) -> None:
    """A folder in its place simulates a full or read-only disk."""
    log.say("a", [("residuals", "two")])
    log.index.mkdir()
    assert log.search("residual") == {"a"}
    assert log.store.find("residual").hits["a"][0].text == "residual"


def test_the_index_is_readable_by_its_owner_only(log: Log) -> None:
    log.say("a", [("residuals", "two")])
    log.search("residual")
    assert log.index.stat().st_mode & 0o777 == 0o600


def test_parallel_searches_index_each_turn_once(log: Log) -> None:
    """Kernels share the index; another may be adding the same turns."""
    for number in range(20):
        log.say(f"{number}", [("residuals", "two")] * 3)

    def search(_: int) -> int:
        with contextlib.closing(database.connect(log.path)) as connection:
            return len(SearchIndex(log.path).find(connection, "residuals")[0])

    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(search, range(4))] == [20] * 4
    with sqlite3.connect(log.index) as index:
        assert index.execute("SELECT count(*), count(DISTINCT rowid) FROM texts").fetchone() == (60, 60)
