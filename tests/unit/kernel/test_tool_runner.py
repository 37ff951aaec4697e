"""Each tool on a real shell: its results, its permission requests, and its errors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from agentnb.state import ToolCallCell, ToolDiffContent, ToolTextContent
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE = f"""
class Plot:
    def _repr_png_(self):
        import base64
        return base64.b64decode({PNG!r})
Plot()
"""


class Frame:
    """A minimal data frame."""

    columns = ("dose", "response")
    dtypes = ("int64", "float64")
    shape = (5, 2)

    def head(self, rows: int) -> str:
        return f"the first {rows} rows"


def test_variables_are_listed_with_type_and_size(tools: Tools) -> None:
    """Only the user's own: no modules, no private names, none of IPython's; a filter selects."""
    tools.shell.run_cell("import os\nxs = [1, 2, 3]\n_private = 1\ndef area(r): return r")
    tools.shell.user_ns["frame"] = Frame()
    text = tools.text("variables")
    assert [line.split(":")[0] for line in text.splitlines()] == ["area", "frame", "xs"]
    assert "xs: list, length 3, " in text
    assert "shape (5, 2)" in text
    assert tools.text("variables", filter="FRA").startswith("frame: ")
    assert tools.text("variables", filter="x?").startswith("xs: ")
    assert tools.text("variables", filter="zzz") == "None of the 3 variables matches."
    assert tools.text("variables", filter="[" * 1_001) == "'filter' has 1,001 characters; at most 1,000 are read."
    assert {request.kind for request in tools.requests} == {"read"}


def test_inspect_describes_a_variable(tools: Tools) -> None:
    """A frame's columns and head, a function's source or docstring, the object at a path."""
    tools.shell.user_ns.update(frame=Frame(), runs=[{"loss": 0.5}], text="x" * 50_000)
    text = tools.text("inspect", path="frame")
    assert "dose: int64" in text
    assert "the first 8 rows" in text
    assert tools.text("inspect", path='runs[0]["loss"]').endswith("float\n0.5")
    tools.shell.user_ns["join"] = ",".join
    assert "Concatenate any number of strings" in tools.text("inspect", path="join")
    assert len(tools.text("inspect", path="text")) < 10_000
    assert tools.call("inspect", path="gone")["isError"]


def test_tool_results_hide_secrets(tools: Tools) -> None:
    token = "ghp_" + 36 * "a"
    tools.shell.user_ns["note"] = f"it is {token}"
    assert tools.text("inspect", path="note").endswith("it is ***")
    assert token not in tools.text("run_code", code="print(note); note")


def test_code_runs_in_the_users_namespace(tools: Tools, capsys: pytest.CaptureFixture[str]) -> None:
    """Printed text in order and the value; the user's own output, prompt number and last value stay."""
    tools.shell.run_cell("xs = [1, 2]\n41 + 1", store_history=True)
    capsys.readouterr()
    count = tools.shell.execution_count
    code = "import sys\nprint('a')\nprint('b', file=sys.stderr)\nys = xs + [3]\nys"
    assert tools.text("run_code", code=code) == "a\nb\n[1, 2, 3]"
    assert tools.shell.user_ns["ys"] == [1, 2, 3]
    assert tools.text("run_code", code="x = 1") == "(no output)"
    assert (tools.requests[0].kind, tools.requests[0].command) == ("kernel", code)
    assert (tools.shell.execution_count, tools.shell.user_ns["_"]) == (count, 42)
    assert "".join(capsys.readouterr()) == ""
    tools.shell.run_cell("print('mine')")
    assert capsys.readouterr().out == "mine\n"


def shows(*bundles: dict[str, str]) -> str:
    """Returns code that displays *bundles*."""
    return "show = get_ipython().display_pub.publish\n" + "".join(f"show({each!r})\n" for each in bundles)


def test_rich_output_becomes_text_and_pictures(tools: Tools) -> None:
    """A table with its shape, HTML as text, at most five pictures; a note counts the rest."""
    html = {"text/html": "<b>bold</b><script>alert(1)</script>", "text/plain": "<IPython.core.display.HTML object>"}
    table = {"text/html": "<table><tr><th>dose</th></tr><tr><td>1</td></tr><tr><td>2</td></tr></table>"}
    assert tools.text("run_code", code=shows(html, table)) == "bold\nTable, 2 rows × 1 columns:\ndose\n1\n2"
    blocks = tools.call("run_code", code=shows(*[{"image/png": PNG}] * 7))["content"]
    assert [block["type"] for block in blocks] == ["text", *["image"] * 5]
    assert blocks[0]["text"].count("is left out: an agent gets at most 5 pictures") == 2


def test_agent_without_picture_support_gets_a_sentence(tools: Tools) -> None:
    tools.shell.display_formatter.active_types = tools.shell.display_formatter.format_types
    blocks = tools.call("run_code", code=f"%who_ls int\n{PICTURE}")["content"]
    assert blocks[1] == {"type": "image", "data": PNG, "mimeType": "image/png"}
    tools.takes_pictures = False
    blocks = tools.call("run_code", code=PICTURE)["content"]
    assert [block["type"] for block in blocks] == ["text", "text"]
    assert blocks[1]["text"] == "(1 picture is left out: this agent takes no pictures. The user sees it.)"
    assert [type(each).__name__ for each in tools.progress[-1].content] == ["ToolTextContent", "ToolBlockContent"]


WAITS = "import time\nprint('\\x1b[31mbegun\\x1b[0m')\ntry:\n    time.sleep(600)\nfinally:\n    gone = 1"


def stopped_once_it_has_printed(tools: Tools, code: str, times: int = 1) -> list[dict[str, Any]]:
    """Returns the results of *code*, started *times* times and stopped once after the first output."""

    async def stopped() -> list[dict[str, Any]]:
        running = [asyncio.ensure_future(tools.tool_runner.call("run_code", {"code": code})) for _ in range(times)]
        await asyncio.to_thread(tools.printed.wait)
        assert tools.stop("run_code", code=code)
        return await asyncio.gather(*running)

    return tools.during(stopped())


def test_stop_ends_the_code_but_not_the_turn(tools: Tools) -> None:
    """The output so far is shown with its colours; the agent learns who stopped it."""
    (result,) = stopped_once_it_has_printed(tools, WAITS)
    assert result["isError"]
    assert result["content"][0]["text"].startswith("begun\nThe code was stopped by the user. The turn goes on.")
    assert (tools.shell.user_ns["gone"], tools.interrupts) == (1, 0)
    during, end = tools.progress[0], tools.progress[-1]
    assert during.content == (ToolTextContent(text="\x1b[31mbegun\x1b[0m\n"),)
    assert (during.ended_at, (end.ended_at or 0) >= end.started_at) == (None, True)
    assert not tools.stop("run_code", code=WAITS)
    assert tools.text("run_code", code="gone") == "1"


def test_second_interrupt_still_reports_that_time_was_up(tools: Tools) -> None:
    """The agent learns that its time was up, not that the code raised nothing."""
    code = (
        "import os, signal, time\n"
        "class Slow(KeyboardInterrupt):\n"
        "    def _render_traceback_(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(600)\n"
        "try:\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    raise Slow from None"
    )
    result = tools.call("run_code", code=code, timeout=0.1)
    assert (result["isError"], "its time was up" in result["content"][0]["text"]) == (True, True)


def test_interrupt_in_a_finalizer_is_sent_again_silently(tools: Tools, capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        "import time\n"
        "class Slow:\n"
        "    def __del__(self):\n"
        "        print('begun', flush=True)\n"
        "        end = time.monotonic() + 1\n"
        "        while time.monotonic() < end: pass\n"
        "slow = Slow()\ndel slow\nwhile True: pass"
    )
    (result,) = stopped_once_it_has_printed(tools, code)
    assert result["content"][0]["text"].startswith("begun\nThe code was stopped by the user.")
    assert "Exception ignored" not in capsys.readouterr().err


def test_stop_ends_the_running_one_of_two_equal_calls(tools: Tools) -> None:
    """The one behind it runs as usual."""
    code = "runs = globals().get('runs', 0) + 1\nprint('begun', flush=True)\nwhile runs == 1:\n    pass"
    results = stopped_once_it_has_printed(tools, code, times=2)
    assert [each["isError"] for each in results] == [True, False]
    assert tools.shell.user_ns["runs"] == 2


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print('first')\n1 / 0", ["first", "ZeroDivisionError: division by zero", "----> 2 1 / 0", "Traceback"]),
        ("x = = 1", ["SyntaxError"]),
        ("  x = 1\n y = 2", ["IndentationError"]),
        ("%no_such_magic", ["no_such_magic"]),
        ("raise SystemExit(3)", ["SystemExit", "Traceback"]),
        ("input('name? ')", ["cannot ask for input"]),
        ("raise ValueError('```\\n---\\n```')", ["Traceback"]),
        ("raise ValueError('`' * 30)", ["Traceback"]),
        ("print('a' * 50_000)\nraise ValueError('b' * 50_000)", ["Traceback"]),
    ],
)
def test_failed_code_returns_its_traceback_as_a_code_block(tools: Tools, code: str, words: list[str]) -> None:
    """Whatever its content or length: Markdown must not read its dashed line as a rule."""
    result = tools.call("run_code", code=code)
    (block,) = result["content"]
    assert all(word in block["text"] for word in words), block["text"]
    assert "\x1b" not in block["text"]
    assert result["isError"] is (code != "%no_such_magic")
    tree = MarkdownIt().parse(block["text"])
    assert [token.type for token in tree].count("hr") == 0
    if "Traceback" in words:
        assert tree[-1].type == "fence"
        assert "Traceback" in tree[-1].content


def test_long_output_is_cut_in_the_middle(tools: Tools) -> None:
    text = tools.text("run_code", code="for i in range(200_000): print(f'{i:06}')")
    assert text.startswith("000000")
    assert text.endswith("199999")
    assert "characters left out" in text
    assert len(text) < 21_000


def test_code_is_interrupted_when_its_time_is_up(tools: Tools) -> None:
    for code in ("import time\ntime.sleep(1000)", "while True: pass"):
        result = tools.call("run_code", code=code, timeout=0.1)
        assert result["isError"]
        assert "its time was up" in result["content"][0]["text"]
    assert tools.text("run_code", code="1 + 1") == "2"
    assert tools.interrupts == 0


def test_run_code_reports_that_its_code_cannot_run_now(tools: Tools) -> None:
    """Without a kernel, or while a cell runs; it does not run later either."""

    def answer() -> str:
        work = tools.tool_runner.call("run_code", {"code": "late = 1", "wait": 0})
        return str(tools.loop.submit(work).result(30)["content"][0]["text"])

    assert answer().startswith("Nothing can run code in this terminal now.")
    tools.job_queue.schedule = lambda _: None
    assert answer().startswith("The kernel is busy with a cell.")
    tools.job_queue.run_pending()
    assert "late" not in tools.shell.user_ns


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("variables", {}),
        ("inspect", {"path": "xs"}),
        ("run_code", {"code": "xs.append(1)"}),
    ],
)
def test_denied_tool_call_is_reported_to_the_agent(tools: Tools, tool: str, arguments: dict[str, Any]) -> None:
    tools.shell.user_ns["xs"] = []
    tools.denies = True
    result = tools.call(tool, **arguments)
    assert (result["isError"], result["content"][0]["text"]) == (True, "No.")
    assert tools.shell.user_ns["xs"] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("inspect", {}, "inspect wants 'path'. It takes path."),
        ("inspect", {"path": 1}, "'path' of inspect is a string, not 1."),
        ("run_code", {"code": "1", "colour": "red"}, "run_code has no argument 'colour'."),
        ("run_code", {"code": "1", "timeout": True}, "'timeout' of run_code is a number, not True."),
        ("run_code", {"code": "1", "wait": 1e9}, "'wait' of run_code is at least 0, at most 600, not"),
        ("run_code", {"code": " \n"}, "The argument 'code' is empty."),
        ("cells", {"first": 0}, "'first' of cells is a string, not 0."),
        (
            "insert_cell",
            {"source": "x", "cell_type": "raw"},
            "'cell_type' of insert_cell is one of code, markdown, not 'raw'.",
        ),
    ],
)
def test_invalid_tool_arguments_are_reported(tools: Tools, tool: str, arguments: dict[str, Any], words: str) -> None:
    result = tools.call(tool, **arguments)
    assert result["isError"]
    assert result["content"][0]["text"].startswith(words)
    assert tools.requests == []


def notebook(path: Path) -> Path:
    cells = [
        {"id": "a", "cell_type": "markdown", "metadata": {}, "source": ["# Fit\n", "of it"]},
        {
            "id": "b",
            "cell_type": "code",
            "metadata": {},
            "source": "df",
            "execution_count": 3,
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "DF", "text/html": "<b>"}, "metadata": {}},
                {"output_type": "display_data", "data": {"image/png": PNG}, "metadata": {}},
                {"output_type": "error", "ename": "KeyError", "evalue": "'x'", "traceback": []},
            ],
        },
    ]
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    return path


def test_cells_reads_the_saved_notebook(tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", str(notebook(tmp_path / "fit.ipynb")))
    text = tools.text("cells", outputs=True)
    assert "as its file was last saved, 2 cells." in text
    assert "--- Markdown cell (id a)\n# Fit\nof it" in text
    assert "--- In [3] (id b)\ndf\nOutput:\none\ntwo\nDF\n(shows image/png)\nKeyError: 'x'" in text
    assert "In [3]" not in tools.text("cells", last="a")
    assert "Markdown" not in tools.text("cells", first="In [3]")
    assert tools.text("cells", first="3", last="a").startswith("The last cell is above the first.")
    assert (tools.requests[0].kind, tools.requests[0].path) == ("read", str(tmp_path / "fit.ipynb"))
    (tmp_path / "fit.ipynb").write_text("no json")
    assert "cannot be read" in tools.text("cells")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("insert_cell", {"source": "x"}),
        ("replace_cell", {"cell": "3", "source": "x"}),
        ("run_cell", {"cell": "b"}),
    ],
)
def test_cells_cannot_be_changed_without_an_open_page(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any]
) -> None:
    assert "The name of this notebook is unknown. Let the user open agentnb's sidebar" in tools.text(tool, **arguments)
    monkeypatch.setenv("JPY_SESSION_NAME", str(notebook(tmp_path / "fit.ipynb")))
    text = tools.text(tool, **arguments)
    assert text.startswith("No open page can ")
    assert "open agentnb's sidebar" in text
    assert tools.text("replace_cell", cell="z", source="x").startswith("The notebook has no cell 'z'.")
    assert tools.text("replace_cell", cell="1", source="x").startswith("The notebook has no cell '1'.")


@pytest.fixture
def page() -> Iterator[NotebookPage]:
    """A page with a notebook of six cells, of which four have run."""
    cells = {"a": "# Fit\nof it", "b": "\nfit(df)\n", "c": "", "d": "x = `1`", "e": "y"}
    made = NotebookPage("fit.ipynb", cells)
    made.cells[0]["kind"] = "markdown"
    for at, count in ((1, 3), (3, 7), (4, 7)):
        made.cells[at]["count"] = count
    made.tell()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("arguments", "title", "cell_id"),
    [
        ({"cell": "3", "source": "x"}, "Replace In [3]: `fit(df)`", "b"),
        ({"cell": "In [3]", "source": "x"}, "Replace In [3]: `fit(df)`", "b"),
        ({"cell": "c", "source": "x"}, "Replace the cell that is empty", "c"),
        ({"cell": "d", "source": "x"}, "Replace In [7]: x = `1`", "d"),
        ({"cell": "a", "source": "x"}, "Replace the Markdown cell `# Fit`", "a"),
        ({"below": "[3]", "source": "x"}, "Insert a cell below In [3]", "b"),
        ({"source": "x"}, "Insert a cell at the end", None),
    ],
)
def test_request_title_names_the_cell_as_jupyterlab_does(
    tools: Tools, page: NotebookPage, arguments: dict[str, Any], title: str, cell_id: str | None
) -> None:
    """By the number beside it, as in a mention, and its first line, not by its position."""
    before, replaces = page.texts(), "cell" in arguments
    tools.call("replace_cell" if replaces else "insert_cell", **arguments)
    request = tools.requests[-1]
    assert request.title == title
    assert request.cell == ToolCallCell(
        notebook="fit.ipynb",
        action="replace" if replaces else "insert",
        cell_id=cell_id,
        kind="markdown" if cell_id == "a" else "code",
        old_text=before[cell_id] if cell_id and replaces else None,
        new_text="x",
    )
    assert page.texts() == {**before, str(cell_id) if replaces else "new-1": "x"}


def test_prompt_number_of_two_cells_is_ambiguous(tools: Tools, page: NotebookPage) -> None:
    text = tools.text("run_cell", cell="7")
    assert text.startswith("2 cells show In [7]. Specify one by its id: d and e.")


def test_cell_edit_preview_is_a_diff(tools: Tools, page: NotebookPage) -> None:
    tools.call("insert_cell", source="x = 1")
    tools.call("replace_cell", cell="3", source="")
    content = [each for request in tools.requests for each in request.preview or ()]
    previews = [(diff.old_text, diff.new_text) for diff in content if isinstance(diff, ToolDiffContent)]
    assert previews == [("", "x = 1\n"), ("\nfit(df)\n", "")]
