"""Tasks, agents that solve them as a test prescribes, and the command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentnb.cli.command_line import main
from agentnb.plugins.rehearsal.command import rehearse_command
from agentnb.toml_file import toml_value

AGENTS = Path(__file__).parents[3] / "agents"
Write = Callable[..., Path]
_HERE = rehearse_command("true", "/")
needs_isolation = pytest.mark.skipif(not _HERE.available, reason=_HERE.reason)


class Done(NamedTuple):
    """The result of an `agentnb eval`."""

    code: int
    out: str
    err: str


Eval = Callable[..., Done]


@pytest.fixture
def task(tmp_path: Path) -> Write:
    """Writes a task."""

    def write(name: str, check: str, prompt: str = "", files: dict[str, str] | None = None, **more: Any) -> Path:
        folder = tmp_path / "tasks" / name
        (folder / "workspace").mkdir(parents=True)
        lines = {"title": f"Task {name}", "prompt": prompt or f"Do {name}.", **more}
        (folder / "task.toml").write_text("".join(f"{key} = {toml_value(each)}\n" for key, each in lines.items()))
        (folder / "check.py").write_text(check)
        for path, text in (files or {}).items():
            (folder / "workspace" / path).write_text(text)
        return folder

    return write


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Describes an agent with a solution for each prompt, or with *program*."""
    settings = tmp_path / "settings"
    (settings / "agents").mkdir(parents=True)
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(settings))
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))

    def write(name: str, solutions: dict[str, Any] | None = None, program: str = "solves.py") -> Path:
        known = tmp_path / "known" / f"{name}.json"
        known.parent.mkdir(exist_ok=True)
        known.write_text(json.dumps(solutions or {}))
        path = settings / "agents" / f"{name}.toml"
        words = [sys.executable, str(AGENTS / program), *([str(known)] if solutions is not None else [])]
        path.write_text(
            f"name = {toml_value(name)}\ntitle = {toml_value(name)}\ncommand = {toml_value(words)}\n"
            f"[confinement]\nreads = {toml_value([str(AGENTS), str(known)])}\n"
        )
        return path

    return write


@pytest.fixture
def evaluate(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Eval:
    """Runs `agentnb eval` on the tasks."""

    def run(*words: str, tasks: Path | None = None) -> Done:
        capfd.readouterr()
        code = main(["eval", str(tasks or tmp_path / "tasks"), *words])
        return Done(code, *capfd.readouterr())

    return run
