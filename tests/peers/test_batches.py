"""A batch with a real agent: one session per input in one process, ordered answers, changes of isolated inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb.agent import AgentSpec

pytestmark = pytest.mark.peers
SECONDS = 300


@pytest.mark.parametrize("peer", ["opencode"], indirect=True)
def test_batch_returns_answers_and_changes_of_isolated_inputs(
    spec: AgentSpec, environment: dict[str, str], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder stays unchanged until `keep()`."""
    monkeypatch.chdir(workspace)
    options: dict[str, Any] = {"command": spec.command, "env": environment, "progress": False}
    answers = agentnb.map("[[text]] Say something about {input}.", ["one", "two", "three"], concurrency=2, **options)
    answers.wait(SECONDS)
    assert [each.text.endswith('```python\nprint("hello")\n```\n') for each in answers.results] == [True] * 3
    assert len({each.session for each in answers.results}) == 3

    written = agentnb.map("[[shell text]] Do {input}.", ["it"], cwd="isolated", permissions="allow", **options)
    result = written.wait(SECONDS).result(0)
    assert [(change.path, change.status) for change in result.changes] == [("shell.txt", "added")]
    assert list(workspace.iterdir()) == []
    assert result.keep() == ("shell.txt",)
    assert (workspace / "shell.txt").read_text(encoding="utf-8") == "hi-from-shell\n"
