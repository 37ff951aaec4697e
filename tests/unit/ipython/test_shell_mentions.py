"""The mentions in a shell for prompts typed in the chat."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentnb.ipython.shell_mentions import MOST, ShellMentions
from tests.unit.kernel.shell_tools import Tools


class Broken:
    """An object that fails on inspection."""

    def __getattr__(self, name: str) -> Any:
        message = f"no {name} today"
        raise RuntimeError(message)


@pytest.fixture
def mentions(tmp_path: Path) -> ShellMentions:
    """A shell with variables and two cells run; a folder with files."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text("a,b\n")
    (tmp_path / "fit.py").write_text("x = 1\n")
    history = SimpleNamespace(input_hist_raw=["", "subframe, frame = 'x', [1, 2]", "frame[0]"], output_hist_reprs={})
    injected = {"open": open, "In": []}
    variables = {**injected, "frame": [1, 2], "broken": Broken(), "_hidden": 1, "subframe": "x", "json": json}
    shell: Any = SimpleNamespace(user_ns=variables, user_ns_hidden=injected, history_manager=history, execution_count=3)
    return ShellMentions(shell)


def offered(mentions: ShellMentions, start: str, cwd: Path) -> list[tuple[str, str, str]]:
    return [(one.text, one.kind, one.detail) for one in mentions.suggest(start, cwd)]


def test_suggestions_describe_variables_and_cells(mentions: ShellMentions, tmp_path: Path) -> None:
    """Everything is offered before the user types, even a failing object."""
    assert offered(mentions, "", tmp_path)[:8] == [
        ("cells", "cell", "all 2 that were run"),
        ("cell:2", "cell", "frame[0]"),
        ("cell:1", "cell", "subframe, frame = 'x', [1, 2]"),
        ("frame", "variable", "list, length 2"),
        ("subframe", "variable", "str, length 1"),
        ("broken", "variable", ""),
        ("data/", "folder", ""),
        ("fit.py", "file", ""),
    ]


def test_suggestions_put_modules_last_and_omit_shell_names(mentions: ShellMentions, tmp_path: Path) -> None:
    """`@` and Enter takes the first; prompts are not about IPython's `open`."""
    assert [text for text, _, _ in offered(mentions, "", tmp_path)][-2:] == ["fit.py", "json"]
    assert [text for text, _, _ in offered(mentions, "o", tmp_path)] == ["broken", "json"]


def test_suggestions_put_recently_used_names_first(tmp_path: Path) -> None:
    """From the cell that ran last, and in it the last name."""
    cells = ["", "a = b = c = 1", "a", "print(c, b)", "never_run(a)"]
    history = SimpleNamespace(input_hist_raw=cells, output_hist_reprs={})
    shell: Any = SimpleNamespace(
        user_ns=dict.fromkeys(["a", "b", "c", "d"], 1), user_ns_hidden={}, history_manager=history, execution_count=4
    )
    kinds = [text for text, kind, _ in offered(ShellMentions(shell), "", tmp_path) if kind == "variable"]
    assert kinds == ["b", "c", "a", "d"]


def test_suggestions_put_prefix_matches_first(mentions: ShellMentions, tmp_path: Path) -> None:
    assert [text for text, _, _ in offered(mentions, "FRAME", tmp_path)] == ["frame", "subframe"]


def test_suggestions_include_files_in_folders(mentions: ShellMentions, tmp_path: Path) -> None:
    assert offered(mentions, "data/r", tmp_path) == [("data/rows.csv", "file", "")]


def test_number_of_suggestions_is_limited(mentions: ShellMentions, tmp_path: Path) -> None:
    """Nobody reads a list of a thousand files."""
    for number in range(2 * MOST):
        (tmp_path / f"f{number}").touch()
    assert len(mentions.suggest("", tmp_path)) == MOST


def test_chat_prompt_attaches_only_known_mentions(mentions: ShellMentions, tmp_path: Path) -> None:
    """Each once; unknown names, code and files outside the workspace are ignored."""
    attachments = mentions.attach("@frame and @frame, @nobody, `@subframe`, @cell:1, @../secret, @fit.py", tmp_path)
    assert [attachment.label for attachment in attachments] == ["frame", "cell:1", "fit.py"]


class Watched:
    """An object that records the threads that inspect it."""

    def __init__(self) -> None:
        self.threads: set[threading.Thread] = set()

    def __repr__(self) -> str:
        self.threads.add(threading.current_thread())
        return "a watched object"


def test_objects_are_inspected_only_on_the_main_thread(tmp_path: Path) -> None:
    tools, watched = Tools(), Watched()
    tools.shell.user_ns["watched"] = watched
    attachments = tools.during(asyncio.to_thread(tools.mentions.attach, "What is @watched?", tmp_path))
    assert "a watched object" in str(attachments)
    assert watched.threads == {threading.main_thread()}
    offered = tools.during(asyncio.to_thread(tools.mentions.suggest, "watch", tmp_path))
    assert [one.detail.rpartition(".")[2] for one in offered] == ["Watched"]
    assert watched.threads == {threading.main_thread()}


def test_objects_are_described_by_type_when_the_kernel_is_busy(tmp_path: Path) -> None:
    tools, watched = Tools(), Watched()
    tools.shell.user_ns.update(watched=watched, other=watched)
    mentions = ShellMentions(tools.shell, tools.job_queue, patience=0.01)
    with ThreadPoolExecutor(1) as thread:
        attachments = thread.submit(mentions.attach, "What are @watched and @other?", tmp_path).result()
        offered = thread.submit(mentions.suggest, "watch", tmp_path).result()
    assert [one.label for one in attachments] == ["watched", "other"]
    assert "watched: Watched. Its value is not shown: " in str(attachments[0])
    assert [one.detail for one in offered] == ["Watched"]
    assert watched.threads == set()
