"""Conversations whose agents ask to run commands and code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentnb.host import Host
from tests.unit.host.talk import Talk, environment, host
from tests.unit.host.test_freedom import host_of, work
from tests.unit.kernel.shell_tools import Tools

__all__ = ["environment", "host", "host_of", "work"]

ELIZA = (sys.executable, "-m", "agentnb.plugins.eliza")
MakeTalk = Callable[[str], Talk]


@pytest.fixture
def talk_with(host: Host, work: Path) -> MakeTalk:
    """Opens conversations with the agent of this script."""
    return lambda script: Talk(host, work, script=script)


@pytest.fixture
def talk(host: Host, work: Path) -> Talk:
    """Returns a conversation with eliza, who runs commands in terminals; its workspace has files."""
    (work / "build").mkdir()
    (work / "build/x.o").write_text("x\n")
    (work / "a.txt").write_text("one\n")
    return Talk(host, work, command=ELIZA)


@pytest.fixture
def kernel_talk(host: Host, work: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """Returns a session whose agent calls the kernel's tools, in the workspace."""
    monkeypatch.chdir(work)
    host.environment.connect(shell=tools)
    return Talk(host, work, script="calls_kernel", kernel_tools=True)
