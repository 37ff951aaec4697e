"""The cassettes of one run of pytest: which test has which, what was replayed, and what deviated."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.cassette.large_content import answers_of
from agentnb.cassette.report import not_asked_for, reports
from agentnb.errors import AgentnbError, CassetteMismatch, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pytest

    from agentnb.api.session import Session

SUFFIX = ".cassette.jsonl"
RERECORD = "Record it with the agent installed: pytest --agentnb-record."
_LONGEST = 100
_SETTLED_S, _FINISHED_S, _TICK_S = 10.0, 30.0, 0.02


class PytestCassettes:
    def __init__(self, *, record: bool) -> None:
        self.record = record
        self.deviations: list[str] = []
        self.is_unreported: bool = False
        self.recorded: list[str] = []
        self._folders: dict[str, tempfile.TemporaryDirectory[str]] = {}
        self._played: dict[str, set[tuple[int, ...]]] = {}
        self._reported_counts: dict[str, int] = {}  # for each replayer, the number of reported mismatches
        self._owners: dict[str, str] = {}

    @property
    def mode(self) -> str:
        """``AGENTNB_CASSETTE_MODE``."""
        return "record" if self.record else "replay"

    def wanted(self, notebook: Path) -> bool:
        """True if *notebook* has a cassette, or is to get one."""
        cassette = cassette_of(notebook)
        return self.record or cassette.exists() or answers_of(cassette).exists()

    def demand(self, notebook: Path) -> None:
        if not notebook.is_file():
            hint = "A relative path begins in the folder of the test's file."
            raise UsageError(f"{notebook}: there is no such notebook.", hint=hint)
        if not self.wanted(notebook):
            raise UsageError(f"{cassette_of(notebook)}: there is no cassette for this notebook.", hint=RERECORD)

    def claim(self, path: Path, test: str) -> None:
        """Say that the cassette at *path* is that of *test*."""
        owner = self._owners.setdefault(str(path).casefold(), test)
        if owner != test:
            raise UsageError(f"{owner} and {test} would share {path}.", hint="Give one of them another name.")

    @contextlib.contextmanager
    def environment(self, notebook: Path) -> Iterator[None]:
        """Kernels that are started inside have the cassette of *notebook*."""
        path = cassette_of(notebook)
        if self.record and str(notebook) not in self.recorded:
            self.recorded.append(str(notebook))
        with _environment(
            AGENTNB_NOTEBOOK=str(notebook),
            AGENTNB_CASSETTE=str(path),
            AGENTNB_CASSETTE_MODE=self.mode,
            AGENTNB_CASSETTE_REPORT=str(self.folder(path)),
            AGENTNB_AUDIENCE="nobody",
            AGENTNB_IDS="counted",
            AGENTNB_LOG="off",  # counted ids are not unique between kernels
        ):
            yield

    @contextlib.contextmanager
    def without_cassette(self, notebook: Path) -> Iterator[None]:
        """Kernels that are started inside may use the built-in agent only, unless the environment says otherwise."""
        chosen = {"AGENTNB_CASSETTE", "AGENTNB_CASSETTE_MODE"} & os.environ.keys()
        mode = {} if chosen else {"AGENTNB_CASSETTE_MODE": "builtin"}
        with _environment(AGENTNB_NOTEBOOK=str(notebook), **mode):
            yield

    def folder(self, cassette: Path) -> Path:
        """Returns where the replayers of *cassette* report; from now on it counts as one that is played."""
        key = str(cassette)
        if key not in self._folders:
            self._folders[key] = tempfile.TemporaryDirectory(prefix="agentnb-replay-")
        if not self.record:
            self._played.setdefault(key, set())
        return Path(self._folders[key].name)

    def news(self, cassette: Path) -> list[str]:
        """The deviations from *cassette* since the last call."""
        fresh: list[str] = []
        for report in self._reports(cassette):
            replayer, mismatches = report["replayer"], report["mismatches"]
            fresh += mismatches[self._reported_counts.get(replayer, 0) :]
            self._reported_counts[replayer] = len(mismatches)
        news = [f"not as recorded in {os.path.relpath(cassette)}: {text}" for text in dict.fromkeys(fresh)]
        self.deviations += news
        return news

    def check(self, cassette: Path) -> None:
        if news := self.news(cassette):
            raise CassetteMismatch("\n".join(news))

    def settle(self, cassette: Path, sessions: Sequence[Session]) -> None:
        """Wait until the replayers have seen every prompt of *sessions* that was made, awaited or not."""
        chats = [session.chat for session in sessions]
        deadline, look_again = time.monotonic() + _SETTLED_S, threading.Event()
        while any(chat.active_turn is not None for chat in chats) and time.monotonic() < deadline:
            made = sum(len(chat.turns) + (chat.active_turn is not None) for chat in chats)
            if sum(len(each["turns"]) + len(each["mismatches"]) for each in self._reports(cassette)) >= made:
                return
            look_again.wait(_TICK_S)
            chats = [session.chat for session in sessions]

    def finish(self, sessions: Sequence[Session]) -> None:
        """Wait for the turns of *sessions* that still run, so that the recording has their answers."""
        deadline = time.monotonic() + _FINISHED_S
        for turn in (turn for session in sessions for turn in (*session.turns, *session.waiting)):
            with contextlib.suppress(AgentnbError):
                turn.wait(max(0.0, deadline - time.monotonic()))

    def _reports(self, cassette: Path) -> list[dict[str, Any]]:
        folder = self._folders.get(str(cassette))
        return reports(Path(folder.name)) if folder is not None else []

    def gathered(self) -> dict[str, set[tuple[int, ...]]]:
        """The turns that were played, by cassette, as (session, turn)."""
        for key, folder in self._folders.items():
            self.is_unreported |= bool(self.news(Path(key)))
            for report in reports(Path(folder.name)):
                self._played.setdefault(key, set()).update(tuple(turn) for turn in report["turns"])
            folder.cleanup()
        self._folders.clear()
        self._reported_counts.clear()
        return self._played

    def shipped(self) -> dict[str, Any]:
        """The data that `add` takes in another process."""
        turns = {path: sorted(turns) for path, turns in self.gathered().items()}
        notes = {"deviations": self.deviations, "is_unreported": self.is_unreported, "recorded": self.recorded}
        return {"turns": turns, **notes}

    def add(self, shipped: dict[str, Any]) -> None:
        """Another process, a worker of pytest-xdist, has run notebooks and tests too."""
        for key, turns in shipped["turns"].items():
            self._played.setdefault(key, set()).update(tuple(turn) for turn in turns)
        self.deviations += shipped["deviations"]
        self.is_unreported |= shipped["is_unreported"]
        self.recorded += [path for path in shipped["recorded"] if path not in self.recorded]

    def summary(self, *, strict: bool) -> list[str]:
        """The lines for the end of the run; none where all is well."""
        unused = self.unused()
        lines = [*self.deviations, *unused]
        if unused and strict:
            lines.append("The run fails because of --agentnb-strict: each turn of a cassette must be used.")
        return lines + [
            f"{os.path.relpath(path)}: its cassette was recorded, and the outputs stored in it are still those from "
            "before. Store those of the new recording: "
            f"AGENTNB_CASSETTE={cassette_of(Path(path)).name} jupyter nbconvert --to notebook --execute --inplace "
            f"--ExecutePreprocessor.record_timing=False {os.path.relpath(path)}"
            for path in self.recorded
        ]

    def unused(self) -> list[str]:
        """A line for each turn of a cassette that was to be played and that nobody asked for."""
        return [line for key, played in sorted(self.gathered().items()) for line in not_asked_for(Path(key), played)]


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Variables of this process, and so of those that it starts, inside."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def cassette_of(notebook: Path) -> Path:
    """Returns the path of a notebook's cassette.

    Example:
        >>> cassette_of(Path("a/fit.ipynb")).name
        'fit.cassette.jsonl'
    """
    return notebook.with_name(f"{notebook.stem}{SUFFIX}").absolute()


def cassette_of_test(item: pytest.Item) -> Path:
    """Where the cassette of a test is: a folder for its module, and for each class; parameters are in the name."""
    folder = item.path.parent / "cassettes" / item.path.stem
    for part in item.nodeid.partition("[")[0].split("::")[1:-1]:
        folder /= part
    return folder / f"{_plain(item.name)}{SUFFIX}"


def _plain(name: str) -> str:
    """Returns a test's name as a file name; a few digits are added if it was changed or cut.

    Example:
        >>> _plain("test_x[a-b]"), _plain("test_x[a/b]")
        ('test_x-a-b', 'test_x-a-b-c1ae1e')
    """
    function, bracket, words = name.partition("[")
    words = words.removesuffix("]")
    plain = re.sub(r"[^\w.-]+", "-", words)
    whole = f"{function}-{plain}" if bracket else function
    if plain == words and len(whole) <= _LONGEST:
        return whole
    from agentnb.cassette.compare import hash_of

    return f"{whole[:_LONGEST].rstrip('-')}-{hash_of(name)[:6]}"
