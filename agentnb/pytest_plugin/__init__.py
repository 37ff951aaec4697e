"""The pytest plugin: replays notebooks and sessions that talk to agents from their cassettes.

Pytest finds it by its entry point. It does nothing until a test needs it: a notebook with a cassette beside it
(``fit.ipynb`` and ``fit.cassette.jsonl``), or one of the fixtures ``agentnb_session``, ``agentnb_replay`` and
``agentnb_events``.
"""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from agentnb.api.session import Session
    from agentnb.events.collector import Events
    from agentnb.pytest_plugin.cassettes import PytestCassettes

_STASH = pytest.StashKey["PytestCassettes"]()
_SHIPPED = "agentnb_replays"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("agentnb", "agents in notebooks and tests")
    group.addoption("--agentnb-record", action="store_true", help="record the cassettes again with the real agents")
    group.addoption(
        "--agentnb-strict", action="store_true", help="fail if turns of a cassette were not used by any test"
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run cells and notebooks (nbval's and nbmake's items) with the cassette beside their notebook.

    A notebook without a cassette may only talk to the built-in agent: a test must not use a real agent unnoticed.
    """
    if item.path.suffix != ".ipynb":
        return (yield)
    replays = _replays(item.config)
    around = replays.environment if replays.wanted(item.path) else replays.without_cassette
    with around(item.path):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """A cell or notebook fails where a prompt was not the recorded one, whether or not a cell looked at the turn."""
    report = yield
    if call.when == "call" and item.path.suffix == ".ipynb" and _replays(item.config).wanted(item.path):
        from agentnb.pytest_plugin.cassettes import cassette_of

        news = _replays(item.config).news(cassette_of(item.path))  # even if the cell failed: they belong to it
        if news and report.passed and not _may_fail(item):
            report.outcome, report.longrepr = "failed", Deviation(news)
    return report


class Deviation:
    """Deviations from a cassette as the reason why a test failed (pytest's ``longrepr``)."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._text = "\n".join(texts)
        first = texts[0].partition("\n")[0]
        # pytest's summary reads this.
        self.reprcrash: SimpleNamespace = SimpleNamespace(path="", lineno=0, message=f"CassetteMismatch: {first}")

    def __str__(self) -> str:
        return self._text

    def toterminal(self, writer: Any) -> None:
        writer.line(self._text)


def _may_fail(item: pytest.Item) -> bool:
    """True if *item* is a cell that is meant to fail: what came of its prompt stands in the outputs that it has."""
    tags = getattr(getattr(item, "cell", None), "metadata", {}).get("tags", ())
    return not {"raises-exception", "nbval-raises-exception"}.isdisjoint(tags)


@pytest.fixture
def agentnb_replay(request: pytest.FixtureRequest) -> Callable[[str | os.PathLike[str]], AbstractContextManager[None]]:
    """Kernels that are started inside replay the notebook's cassette: for papermill, nbclient, nbconvert in a test.

    A relative path begins in the folder of the test's file. A notebook without a cassette is an error, and so is any
    deviation from the recording, at the end.

    Example:
        ``with agentnb_replay("fit.ipynb"): papermill.execute_notebook("fit.ipynb", None)``
    """
    from agentnb.pytest_plugin.cassettes import cassette_of

    replays = _replays(request.config)

    @contextlib.contextmanager
    def environment(notebook: str | os.PathLike[str]) -> Iterator[None]:
        path = request.path.parent / notebook
        replays.demand(path)
        with replays.environment(path):
            yield
        replays.check(cassette_of(path))

    return environment


@pytest.fixture
def agentnb_events() -> Iterator[Events]:
    """Collects the events of agentnb in this test, like `agentnb.testing.events`.

    Example:
        ``agentnb_events.wait_for("turn.ended", stop_reason="end_turn")``
    """
    from agentnb.events.collector import events

    with events() as heard:
        yield heard


@pytest.fixture
def agentnb_session(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Session]]:
    """Opens sessions, like `agentnb.start`, replayed from the test's own cassette.

    The cassette is ``cassettes/MODULE/TEST.cassette.jsonl`` beside the test's file; for a test in a class it is
    ``cassettes/MODULE/CLASS/TEST.cassette.jsonl``. The workspace is the test's ``tmp_path``. Sessions are closed when
    the test ends; any deviation from the recording then fails it, even if the test did not look at the turn. A
    recording waits for turns that still run at the test's end, at most 30 s.
    """
    from agentnb.api.start import DEFAULT_AGENT, start
    from agentnb.errors import UsageError
    from agentnb.host.environment import current_environment
    from agentnb.pytest_plugin.cassettes import RERECORD, cassette_of_test

    replays = _replays(request.config)
    path = cassette_of_test(request.node)
    replays.claim(path, request.node.nodeid)
    mode = replays.mode if replays.record or path.exists() else "off"
    opened: list[Session] = []

    def open_session(agent: str | None = None, **options: Any) -> Session:
        if mode == "off" and ((agent or DEFAULT_AGENT) != DEFAULT_AGENT or "command" in options):
            raise UsageError(f"{path}: there is no cassette for this test.", hint=RERECORD)
        session = start(agent, **{"cwd": tmp_path, **options})
        opened.append(session)
        return session

    monkeypatch.setenv("AGENTNB_IDS", "counted")
    monkeypatch.setenv("AGENTNB_LOG", "off")
    if mode != "off":
        monkeypatch.setenv("AGENTNB_CASSETTE_REPORT", str(replays.folder(path)))
    with current_environment().cassette.scope(path, mode):
        yield open_session
        if mode == "replay":
            replays.settle(path, opened)
        elif mode == "record":
            replays.finish(opened)
        for session in opened:
            session.close()
    replays.check(path)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist tells its controller what was played; the controller judges."""
    config = session.config
    replays = config.stash.get(_STASH, None)
    if replays is None:
        return
    if hasattr(config, "workeroutput"):
        config.workeroutput[_SHIPPED] = replays.shipped()
        return
    unused = replays.unused()
    if session.exitstatus == 0 and (replays.is_unreported or (config.getoption("--agentnb-strict") and unused)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    shipped = getattr(node, "workeroutput", {}).get(_SHIPPED)
    if shipped is not None:
        _replays(node.config).add(shipped)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Deviations from cassettes, turns that nobody asked for, and recordings whose notebooks are not stored yet."""
    replays = config.stash.get(_STASH, None)
    lines = replays.summary(strict=bool(config.getoption("--agentnb-strict"))) if replays is not None else []
    if lines:
        terminalreporter.section("agentnb cassettes")
        for line in lines:
            terminalreporter.line(line)


def _replays(config: pytest.Config) -> PytestCassettes:
    """Those of this run; agentnb is imported when the first is needed."""
    from agentnb.pytest_plugin.cassettes import PytestCassettes

    return config.stash.setdefault(_STASH, PytestCassettes(record=bool(config.getoption("--agentnb-record"))))
