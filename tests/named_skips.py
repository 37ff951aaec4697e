"""A pytest plugin: in CI (``CI`` is set) a test may skip only for a reason named here.

A test that skips because its subject does not work hides a defect. A reason belongs here if the machine lacks
something, and the tests run on another one.
"""

from __future__ import annotations

import os
import re

import pytest

NO_REFERENCE_DATA = "the reference data stands beside some checkouts only"
NO_VSCODE = "a build of VS Code is large; who has one names it (AGENTNB_VSCODE)"
OPTIONAL_LIBRARY = "a library that agentnb works with and does not install"
OTHER_SYSTEM = "what is tested exists on another system"
OTHER_WAY = "this machine confines in another way, and the tests of that one run"
NOT_ALLOWED = "this machine, a container for example, does not allow it to its users"
NO_PROGRAM = "a program of the system that is not everywhere, and that agentnb does not need"
OPT_IN = "a test that is run on request, and installs what it can get (`make test-peers`)"

FINE = {
    r"AGENTNB_CASES names no folder": "cases from elsewhere are run on request",
    r"no reference data at .* \(AGENTNB_SHARED\)": NO_REFERENCE_DATA,
    r"no (policy|round-trip) cases at .*": NO_REFERENCE_DATA,
    r"no folder .*/cases/ahp/reducers": NO_REFERENCE_DATA,
    r"no client of the Agent Host Protocol at .*": NO_REFERENCE_DATA,
    r"no built VS Code at .* \(AGENTNB_VSCODE\)": NO_VSCODE,
    r"the dependencies of the built VS Code are not installed at .*": NO_VSCODE,
    r"PyTorch is not installed here .*": OPTIONAL_LIBRARY,
    r"(polars|sklearn|torch) is not installed here .*": OPTIONAL_LIBRARY,
    r"vl-convert-python is not installed: .*": OPTIONAL_LIBRARY,
    r"plotly and kaleido are not installed: .*": OPTIONAL_LIBRARY,
    r"pyright is installed beside this Python\.": "what is tested is that it is missing",
    r"no ipykernel6: none is missing; .*": "the environment of the oldest versions has one kernel",
    r"the folders of a Linux home": OTHER_SYSTEM,
    r"Windows has no .*": OTHER_SYSTEM,
    r"no fork on this system": OTHER_SYSTEM,
    r"terminals of Unix": OTHER_SYSTEM,
    r"the kernel is killed by a signal": OTHER_SYSTEM,
    r"Linux only: .*": OTHER_SYSTEM,
    r"the superuser's rights are given up by Linux's calls": OTHER_SYSTEM,
    r"(Code|Commands) can be rehearsed on Linux only\.": OTHER_SYSTEM,
    r"not supported on this platform \(.*\)": OTHER_SYSTEM,
    r"only root can become .*": "tests as another user need root's rights",
    r"the superuser writes to files that are read-only": "tests of what a user may not write need a user",
    r"no user namespaces here": NOT_ALLOWED,
    r"another user may not run this Python": NOT_ALLOWED,
    r"other users can write nothing there": NOT_ALLOWED,
    r"This system does not let users create namespaces.*": NOT_ALLOWED,
    r"It could not be isolated: this system does not let users create namespaces .*": NOT_ALLOWED,
    r"namespaces cannot be forbidden here: .*": NOT_ALLOWED,
    r"this machine lets us make no control group: .*": NOT_ALLOWED,
    r"no disk of its own can be had here: .*": NOT_ALLOWED,
    r"the system lets nobody make a network of its own; .*": NOT_ALLOWED,
    r"the kernel's Landlock has version .*": NOT_ALLOWED,
    r"Landlock has version \d+ here": OTHER_WAY,
    r"(Landlock|bubblewrap|sandbox-exec) confines here": OTHER_WAY,
    r"(bubblewrap|bash|zsh|fish) is not installed": NO_PROGRAM,
    r"bubblewrap can make no namespaces here": NOT_ALLOWED,
    r"(None|bubblewrap|sandbox-exec) cannot confine to single hosts": OTHER_WAY,
    r"this machine's own name (has no address|leads to .*)": "the test needs a machine whose name is the loopback",
    r"needs git": NO_PROGRAM,
    r"no C compiler here": NO_PROGRAM,
    r"no OpenMP here: .*": NO_PROGRAM,
    r"no openssl on PATH .*": NO_PROGRAM,
    r"no dbus-daemon: .*": NO_PROGRAM,
    r"openssl is not installed, .*": NO_PROGRAM,
    r"no scripted model server at .*": OPT_IN,
    r".* could not be installed:\n.*": OPT_IN,
    r".* not installed here \(AGENTNB_PEERS, .*\)": OPT_IN,
    r"the catalogue does not know what .* needs": OPT_IN,
    r"npm is not on the PATH, or OpenCode is already": OPT_IN,
    r"no JupyterHub: .*": OPT_IN,
    r"no Enterprise Gateway: .*": OPT_IN,
    r"no jupyter-server-proxy: .*": OPT_IN,
    r"no model servers: .*": OPT_IN,
}
"""The pattern of each whole reason, with why the skip is acceptable."""


def is_ci() -> bool:
    """True if this run is in CI (``CI`` is set and is not ``0`` or ``false``)."""
    return os.environ.get("CI", "").lower() not in {"", "0", "false"}


def is_fine(reason: str) -> bool:
    """True if `FINE` names the reason of a skip."""
    return any(re.fullmatch(pattern, reason, re.DOTALL) for pattern in FINE)


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Returns why a test or file was skipped, without pytest's prefix."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


class NamedSkips:
    """Collects skips with unnamed reasons, and fails the run at its end."""

    def __init__(self) -> None:
        self._skips: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes a skipped test."""
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Notes a skipped file."""
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail") and not is_fine(reason_of(report)):
            self._skips.append(f"{report.nodeid}: {reason_of(report)}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fails the run."""
        if self._skips and session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Lists the skips and says what to do."""
        if not self._skips:
            return
        terminalreporter.section("skipped for a reason that is not named")
        for each in self._skips:
            terminalreporter.line(each)
        terminalreporter.line(
            "In CI a test skips for a reason in tests/named_skips.py only: let the test run, or name the reason there."
        )


def watch_skips(config: pytest.Config) -> None:
    """Starts to watch, in CI; only in the controller of pytest-xdist, which gets all reports."""
    if is_ci() and not hasattr(config, "workerinput"):
        config.pluginmanager.register(NamedSkips(), "named-skips")


pytest_configure = watch_skips
