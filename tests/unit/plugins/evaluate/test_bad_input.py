"""Invalid tasks, checks, files and words: each error says what is wrong, and what to do.

The inside: checks that misbehave run in both ways, and a kernel unconfined; here the command always confines them.
"""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentnb.plugins.evaluate.checking import Left, check, check_in_the_open
from agentnb.plugins.evaluate.kernel import open_kernel
from agentnb.plugins.evaluate.task import read_tasks
from agentnb.plugins.rehearsal.command import rehearse_command
from tests.unit.plugins.evaluate.conftest import Eval, Write

FINE = "def check(run):\n    return True\n"
EMPTY = {"agentnb_eval": 1, "tasks": {}, "agents": [], "runs": 1, "results": []}


def test_missing_and_invalid_tasks_are_reported(tmp_path: Path, task: Write, evaluate: Eval) -> None:
    """The error comes before any agent starts."""
    (tmp_path / "empty").mkdir()
    cases = [(tmp_path / "empty", "There is no task in"), (tmp_path / "nowhere", "is not a folder")]
    written = {
        "title = ": "cannot be used: ",
        'title = "x"': "missing required field `prompt`",
        'title = "x"\nprompt = " "': "prompt is empty",
        'title = "x"\nprompt = "y"\ncolour = 1': "unknown field `colour`",
        'title = "x"\nprompt = "y"\nseconds = -1': "seconds is not a number above 0",
        'title = "x"\nprompt = "y"\nnotebook = "no.ipynb"': "there is no notebook 'no.ipynb'",
        'title = "x"\nprompt = "y"\nnotebook = "../check.py"': "there is no notebook",
    }
    for number, (text, message) in enumerate(written.items()):
        folder = task(f"task-{number}", FINE)
        (folder / "task.toml").write_text(text)
        cases.append((folder, message))
    for number, (text, message) in enumerate(
        {"def check(": "is not valid Python", "x = 1": "has no function check"}.items()
    ):
        cases.append((task(f"check-{number}", text), message))
    missing = task("missing", FINE)
    (missing / "check.py").unlink()
    cases.append((missing, "has no check"))
    results = [(evaluate("--agents", "eliza", tasks=folder), message) for folder, message in cases]
    assert [(done.code, done.err) for done, message in results if done.code != 2 or message not in done.err] == []


def test_invalid_arguments_are_reported_before_agents_start(
    tmp_path: Path, task: Write, agent: Write, evaluate: Eval
) -> None:
    task("one", FINE)
    agent("good", {})
    (tmp_path / "other.json").write_text(json.dumps(EMPTY | {"tasks": {"two": {"title": "", "digest": ""}}}))
    (tmp_path / "odd.json").write_text("[1")
    (tmp_path / "folder").mkdir()
    newer = EMPTY | {"agentnb_eval": 99}
    (tmp_path / "newer.json").write_text(json.dumps(newer))
    good = ("--agents", "good")
    cases = {
        (): "No agent was given.",
        ("--agents", "nobody"): "There is no agent called 'nobody'",
        (*good, "--runs", "0"): "--runs 0 is not a number from 1",
        (*good, "--record", f"{tmp_path}/a", "--replay", f"{tmp_path}/a"): "cannot be combined",
        ("--replay", f"{tmp_path}/none"): "There is no recording in",
        (*good, "--baseline", f"{tmp_path}/none.json"): "cannot be read: No such file",
        (*good, "--baseline", f"{tmp_path}/odd.json"): "has no results of an evaluation",
        (*good, "--baseline", f"{tmp_path}/newer.json"): "written by a newer agentnb",
        (*good, "--baseline", f"{tmp_path}/other.json"): "is of other tasks: two",
        (*good, "--json", f"{tmp_path}/folder"): "cannot be written",
        (*good, "--html", f"{tmp_path}/nowhere/x.html"): "cannot be written",
    }
    results = {words: evaluate(*words) for words in cases}
    assert {words: done for words, done in results.items() if done.code != 2 or cases[words] not in done.err} == {}
    assert not any("one · good" in done.err for done in results.values())
    missing = agent("gone", {})
    missing.write_text(missing.read_text().replace("command = [", 'command = ["no-such-program", '))
    done = evaluate("--agents", "good", "gone")
    assert (done.code, "no-such-program" in done.err, "one · good" in done.err) == (2, True, False)


CHECKS = {
    "return 1": ("broken", "returned 1: it must return True, False, or a text"),
    "pass": ("broken", "returned None"),
    "return {}['x']": ("broken", "line 2, raised KeyError: 'x'"),
    "raise SystemExit(0)": ("broken", "raised SystemExit"),
    "import os; os._exit(0)": ("broken", "gave no answer"),
    "while True: pass": ("broken", "still running after 2 s"),
    "while True: print('x' * 10_000)": ("broken", "still running after 2 s"),
    "print('x' * 30_000_000); return True": ("right", ""),
    "return bytearray(6 << 30) == 0": ("broken", "more memory than a check may use"),
    "import socket; socket.create_connection(('127.0.0.1', PORT))": ("broken", "Error"),
    "return 'no ' * 10_000": ("wrong", "no no"),
    "return False": ("wrong", "The check failed"),
    "assert run.answer == 'x'": ("wrong", "line 2, failed"),
    "assert not run.path('none.csv')": ("wrong", "There is no file none.csv."),
    "return run.final": ("wrong", "no line that starts with ANSWER:"),
    "return run.python('import sys; sys.exit(3)') or True": ("wrong", "The code fails"),
    "(run.folder / 'new').write_text('x'); return (run.task / 'task.toml').is_file()": ("right", ""),
}


def test_check_that_misbehaves_is_reported_as_broken(tmp_path: Path, task: Write) -> None:
    """It has no network and limits of time and memory; its files are removed."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    for number, code in enumerate(CHECKS):
        text = code.replace("PORT", str(server.getsockname()[1]))
        task(f"check-{number:02}", f"def check(run):\n    {text}\n", check_seconds=2 if "while" in code else 60)
    tasks = read_tasks([str(tmp_path / "tasks")])
    left = Left("An answer.", workspace, None, None, ())
    with ThreadPoolExecutor(3) as pool:
        all_outcomes = [[*pool.map(lambda each: check(each, left), tasks)]]
        assert [*workspace.iterdir()] == [] or not rehearse_command("true", "/").available
        all_outcomes += [[*pool.map(lambda each: check_in_the_open(each, left), tasks)]]
    odd = [
        (code, each)
        for outcomes in all_outcomes
        for (code, wanted), each in zip(CHECKS.items(), outcomes, strict=True)
        if each.outcome != wanted[0] or wanted[1] not in each.why
    ]
    assert odd == []
    with pytest.raises(BlockingIOError):
        server.accept()
    server.close()


def test_kernel_runs_in_the_workspace_and_ends_when_closed(tmp_path: Path) -> None:
    """The agent's permission request to run code in it is denied."""
    kernel = open_kernel(tmp_path)
    ran = kernel.ask("run", "import os; print(os.getcwd())").ran
    assert ran is not None
    assert str(tmp_path) in str(ran)
    assert kernel.close() is not None
    assert not kernel.is_alive
