"""The end of each run says what it took of the processors: beside its time that tells how long they stood idle."""

from __future__ import annotations

import os

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell the processor time of this run and of all programs that were seen to end (a browser's parts are not all)."""
    times = os.times()  # Windows does not count what other programs took
    total = times.user + times.system + times.children_user + times.children_system
    terminalreporter.write_line(f"processor time: at least {total:.0f} s, all programs of this run together")
