"""The pytest plugin: `pytest --agentnb-verify` collects notebooks, and fails where one is not verified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("agentnb", "agents in notebooks and tests")
    group.addoption(
        "--agentnb-verify", action="store_true", help="verify each notebook: does it reproduce the results it shows?"
    )
    group.addoption(
        "--agentnb-verify-seconds",
        type=float,
        default=120.0,
        help="how many seconds the cells of a notebook may take in total",
    )
    group.addoption(
        "--agentnb-verify-network", metavar="HOSTS", help="hosts that notebooks may reach, separated by commas"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect notebooks if ``--agentnb-verify`` is given."""
    if file_path.suffix != ".ipynb" or not parent.config.getoption("--agentnb-verify"):
        return None
    if ".ipynb_checkpoints" in file_path.parts:
        return None
    node: pytest.Collector = NotebookFile.from_parent(parent, path=file_path)
    return node


class NotebookFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield NotebookItem.from_parent(self, name="verify")


class NotVerified(Exception):
    """What was found, as text."""


class NotebookItem(pytest.Item):
    def runtest(self) -> None:
        from agentnb.plugins.verify.verify import verify

        seconds = self.config.getoption("--agentnb-verify-seconds")
        hosts = self.config.getoption("--agentnb-verify-network")
        result = verify(self.path, seconds=seconds, network=None if hosts is None else hosts.split(","))
        for note in result.not_checked:
            self.add_report_section("call", "not checked", note)
        if not result.ok:
            raise NotVerified(repr(result))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show only the findings of a failed verification, without our own traceback."""
        if isinstance(excinfo.value, NotVerified):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.path.name}: verify"
