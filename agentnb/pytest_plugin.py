"""The pytest plugin: notebooks and sessions that talk to agents, played from their cassettes.

It is found by its entry point and does nothing until a test needs it: a notebook with a cassette beside it
(``fit.ipynb`` and ``fit.cassette.jsonl``), or one of the fixtures ``agentnb_session``, ``agentnb_replay`` and
``agentnb_events``.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from contextlib import AbstractContextManager

    from agentnb.api.session import Session
    from agentnb.events.heard import Events

SUFFIX = ".cassette.jsonl"
_STASH = pytest.StashKey["Replays"]()
_SHIPPED = "agentnb_replays"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Our options."""
    group = parser.getgroup("agentnb", "agents in notebooks and tests")
    group.addoption("--agentnb-record", action="store_true", help="record the cassettes anew, with the real agents")
    group.addoption(
        "--agentnb-strict", action="store_true", help="fail when turns of a cassette were not asked for by any test"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Nothing is known yet."""
    config.stash[_STASH] = Replays(record=bool(config.getoption("--agentnb-record")))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Cells and notebooks (nbval's and nbmake's items) run with the cassette beside their notebook."""
    path = item.path
    replays = item.config.stash[_STASH]
    if path.suffix != ".ipynb" or not replays.wanted(path):
        return (yield)
    with replays.environment(path):
        return (yield)


@pytest.fixture
def agentnb_replay(pytestconfig: pytest.Config) -> Callable[[str | os.PathLike[str]], AbstractContextManager[None]]:
    """Kernels that are started inside play the notebook's cassette: for papermill, nbclient, nbconvert in a test.

    Example:
        ``with agentnb_replay("fit.ipynb"): papermill.execute_notebook("fit.ipynb", None)``
    """
    replays = pytestconfig.stash[_STASH]

    def environment(notebook: str | os.PathLike[str]) -> AbstractContextManager[None]:
        path = Path(notebook).absolute()
        return replays.environment(path) if replays.wanted(path) else contextlib.nullcontext()

    return environment


@pytest.fixture
def agentnb_events() -> Iterator[Events]:
    """The events of agentnb in this test, as `agentnb.testing.events` collects them.

    Example:
        ``agentnb_events.wait_for("turn.ended", stop_reason="end_turn")``
    """
    from agentnb.events.heard import events

    with events() as heard:
        yield heard


@pytest.fixture
def agentnb_session(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Session]]:
    """Opens sessions, as `agentnb.start` does, played from the test's own cassette.

    The cassette is ``cassettes/MODULE/TEST.cassette.jsonl`` beside the test's file. The workspace is the test's
    ``tmp_path``. Sessions are closed when the test ends.
    """
    from agentnb.api.start import DEFAULT_AGENT, start
    from agentnb.cassette.switch import SWITCH
    from agentnb.errors import UsageError

    replays = request.config.stash[_STASH]
    path = cassette_of_test(request.node)
    mode = replays.mode if replays.record or path.exists() else "off"
    opened: list[Session] = []

    def open_session(agent: str | None = None, **options: Any) -> Session:
        if mode == "off" and ((agent or DEFAULT_AGENT) != DEFAULT_AGENT or "command" in options):
            hint = "Record it with the agent installed: pytest --agentnb-record."
            raise UsageError(f"{path}: there is no cassette for this test.", hint=hint)
        session = start(agent, **{"cwd": tmp_path, **options})
        opened.append(session)
        return session

    monkeypatch.setenv("AGENTNB_IDS", "counted")
    monkeypatch.setenv("AGENTNB_LOG", "off")
    monkeypatch.setenv("AGENTNB_CASSETTE_REPORT", str(replays.folder(path)))
    with SWITCH.scope(path, mode):
        yield open_session
        for session in opened:
            session.close()


def cassette_of_test(item: pytest.Item) -> Path:
    """Where the cassette of a test is."""
    name = re.sub(r"[^\w.-]+", "-", item.name).strip("-")
    return item.path.parent / "cassettes" / item.path.stem / f"{name}{SUFFIX}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist tells its controller what was played; the controller judges."""
    config = session.config
    replays = config.stash[_STASH]
    found = replays.gathered()
    if hasattr(config, "workeroutput"):
        config.workeroutput[_SHIPPED] = {path: sorted(turns) for path, turns in found.items()}
    elif config.getoption("--agentnb-strict") and replays.unused() and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker has ended."""
    shipped = getattr(node, "workeroutput", {}).get(_SHIPPED, {})
    node.config.stash[_STASH].add({path: {tuple(turn) for turn in turns} for path, turns in shipped.items()})


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Turns that nobody asked for: the cassette holds more than its notebook."""
    unused = config.stash[_STASH].unused()
    if unused:
        terminalreporter.section("agentnb cassettes")
        for line in unused:
            terminalreporter.line(line)


class Replays:
    """The cassettes of one run of pytest.

    Args:
        record: Whether they are recorded anew.
    """

    def __init__(self, *, record: bool) -> None:
        self.record = record
        self._folders: dict[str, tempfile.TemporaryDirectory[str]] = {}
        self._played: dict[str, set[tuple[int, ...]]] = {}

    @property
    def mode(self) -> str:
        """``AGENTNB_CASSETTE_MODE``."""
        return "record" if self.record else "replay"

    def wanted(self, notebook: Path) -> bool:
        """Whether *notebook* has a cassette, or is to get one."""
        return self.record or cassette_of(notebook).exists()

    @contextlib.contextmanager
    def environment(self, notebook: Path) -> Iterator[None]:
        """Kernels that are started inside have the cassette of *notebook*."""
        path = cassette_of(notebook)
        values = {
            "AGENTNB_CASSETTE": str(path),
            "AGENTNB_CASSETTE_MODE": self.mode,
            "AGENTNB_CASSETTE_REPORT": str(self.folder(path)),
            "AGENTNB_AUDIENCE": "nobody",
            "AGENTNB_IDS": "counted",
            "AGENTNB_LOG": "off",  # counted ids are no names for sessions of several kernels
        }
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

    def folder(self, cassette: Path) -> Path:
        """Where the players of *cassette* report."""
        key = str(cassette)
        if key not in self._folders:
            self._folders[key] = tempfile.TemporaryDirectory(prefix="agentnb-replay-")
        return Path(self._folders[key].name)

    def gathered(self) -> dict[str, set[tuple[int, ...]]]:
        """What was played, by cassette, as (session, turn)."""
        if self._folders:
            from agentnb.cassette.report import reports

            for key, folder in self._folders.items():
                found = reports(Path(folder.name))
                if found:
                    turns = {tuple(turn) for report in found for turn in report["turns"]}
                    self._played.setdefault(key, set()).update(turns)
                folder.cleanup()
            self._folders.clear()
        return self._played

    def add(self, played: dict[str, set[tuple[int, ...]]]) -> None:
        """Another process has played too."""
        for key, turns in played.items():
            self._played.setdefault(key, set()).update(turns)

    def unused(self) -> list[str]:
        """A line for each turn of a cassette that was played and that nobody asked for."""
        lines = []
        for key, played in sorted(self.gathered().items()):
            from agentnb.cassette.file import read
            from agentnb.errors import CassetteBroken

            with contextlib.suppress(CassetteBroken):  # its test has said so
                for lane in read(Path(key)).lanes:
                    for number, turn in enumerate(lane.turns, 1):
                        if (lane.session, number) not in played:
                            place = f"{os.path.relpath(key)}:{turn.line}"
                            lines.append(f"{place}: turn {number} of session {lane.session} was not asked for")
        return lines


def cassette_of(notebook: Path) -> Path:
    """Where the cassette of a notebook is.

    Example:
        >>> cassette_of(Path("a/fit.ipynb")).name
        'fit.cassette.jsonl'
    """
    return notebook.with_name(f"{notebook.stem}{SUFFIX}").absolute()
