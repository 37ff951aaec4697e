"""The errors of a shell's cells: which are kept, what ``@error`` attaches, and the prompts about them."""

from __future__ import annotations

import pytest

from agentnb.errors import UnknownMention, UsageError
from tests.unit.ipython.conftest import Open, Shell, contents

SINCE = "since agentnb was loaded in this kernel"


@pytest.fixture
def failed(shell: Shell) -> Shell:
    """A shell whose cells 2 and 3 have failed."""
    shell.run("df = {}")
    shell.run("raise ValueError('the older')", cell_id="c2")
    shell.run("df['column']", cell_id="c3")
    return shell


def test_mention_attaches_the_last_error_or_that_of_a_cell(failed: Shell) -> None:
    """The chat suggests the last one first; a variable named ``error`` takes precedence."""
    attached = failed.attached("Why? @error @error:2")
    assert attached["error"].startswith("KeyError: 'column'\nThe cell that failed: In [3] (cell id c3).")
    assert attached["error:2"].startswith("ValueError: the older\nThe cell that failed: In [2] (cell id c2).")
    assert contents(failed.mentions.attach("@error @error:2 @error:9", failed.folder)) == attached
    first = failed.suggested()[0]
    assert (first.text, first.detail) == ("error", "the last one: KeyError: 'column'")
    failed.names["error"] = 5
    assert failed.attached("@error") == {"error": "error: int\n5"}


def test_mention_or_fix_is_refused_with_advice_when_no_cell_failed(shell: Shell) -> None:
    for prompt, what in (("@error", "no cell has failed"), ("@error:9", "cell 9 has not failed")):
        with pytest.raises(UnknownMention, match=f"{prompt}: {what} {SINCE}. Run the cell"):
            shell.attached(prompt)
    for typed, what in (("fix", "No cell has failed"), ("explain 9", "Cell 9 has not failed")):
        with pytest.raises(UsageError, match=f"{what} {SINCE}. Run the cell with the error first, then `%agent"):
            shell.expanded(typed)


@pytest.mark.filterwarnings("ignore:To exit")
def test_interrupts_and_agentnb_errors_are_not_remembered(failed: Shell) -> None:
    for error in ("KeyboardInterrupt", "SystemExit(1)", "agentnb.UsageError('%agent needs a prompt.')"):
        failed.run(f"import agentnb; raise {error}")
    assert failed.attached("@error") == {"error": failed.attached("@error:3")["error:3"]}


def test_only_the_latest_errors_are_remembered(shell: Shell) -> None:
    """Many errors must not fill the memory."""
    shell.run(*["1 / 0"] * 32)
    assert shell.attached("@error:3")
    with pytest.raises(UnknownMention):
        shell.attached("@error:2")


@pytest.mark.parametrize(
    ("typed", "parts"),
    [
        ("fix", ["Fix the error in In [3]: @error:3\n", "change the cell"]),
        ("fix 2", ["Fix the error in In [2]: @error:2\n", "change the cell"]),
        ("fix @error:2", ["@error:2\n"]),
        ("explain", ["Explain the error in In [3]: @error:3\n", "Don't change anything."]),
        ("fix\nUse pandas 1 only,\nplease.", ["@error:3\n", "\n\nUse pandas 1 only,\nplease.\n\nFind the cause"]),
    ],
)
def test_fix_or_explain_alone_expands_to_a_prompt_with_the_error(typed: str, parts: list[str], failed: Shell) -> None:
    """The prompt names the action, not the tools for cells."""
    prompt = "\n\n".join(failed.expanded(typed))
    assert [part for part in parts if part not in prompt] == []
    assert "_cell" not in prompt


def test_fix_prompt_asks_for_code_when_agent_cannot_edit_cells(failed: Shell) -> None:
    _, instructions = failed.expanded("fix", edits=False)
    assert ("change the cell" in instructions, "show the whole corrected code" in instructions) == (False, True)


@pytest.mark.parametrize("typed", ["fix the plot", "Fix", "explain this", "fixes", "please fix", "fix 2 and 3"])
def test_prompt_that_only_resembles_fix_is_not_expanded(typed: str, failed: Shell) -> None:
    assert failed.expanded(typed) == (typed, "")


def test_error_known_only_to_a_page_is_read_from_its_output(failed: Shell) -> None:
    """Secrets are masked and colours removed; mentions then find the error."""
    traceback = "\x1b[31m---\x1b[0m\npassword = 'hunter2'\nValueError: gone"
    prompt = failed.failed("fix", "c9", "ValueError", count=9, message="gone", traceback=traceback)
    assert "@error:9\n" in prompt
    text = failed.attached("@error")["error"]
    assert "In [9] (cell id c9)" in text
    assert "---\npassword = '***'\nValueError: gone" in text
    prompt = failed.failed("explain", "c2", "ValueError", count=2, traceback="…")
    assert prompt.startswith("Explain the error in In [2]: @error:2")
    assert failed.attached("@error")["error"] == failed.attached("@error:2")["error:2"]


def test_error_text_shows_the_current_code_of_the_failed_cell(failed: Shell, open_page: Open) -> None:
    """Identified by its number if ids are equal; without a match none is shown, as it could be the wrong one."""
    before = failed.attached("@error")["error"]
    changed = "\n\nIn [3] (cell id c3) as it reads now:\n```\ndf['row']\n```"
    page = open_page({"c3": "df['row']"})
    assert failed.attached("@error")["error"] == before + changed
    page.cells.insert(0, {"id": "c3", "kind": "code", "source": "another"})
    page.cells[1]["count"] = 3
    page.tell()
    assert failed.attached("@error")["error"] == before + changed
    page.cells[1]["count"] = 4
    page.tell()
    assert failed.attached("@error")["error"] == before


def test_fix_button_sends_the_cell_error_before_count_is_known(failed: Shell) -> None:
    """The output shows the error before the reply has the count: the mention names the cell's latest run."""
    failed.run("raise ValueError('the older, run again')", cell_id="c2")
    failed.run("raise TypeError('another cell')", cell_id="c5")
    prompt = failed.failed("fix", "c2", "ValueError", message="the older, run again")
    assert prompt.startswith("Fix the error in In [4]: @error:4\n")
    failed.run("raise TypeError('again')", cell_id="c5")
    assert failed.attached("@error:4")["error:4"].startswith("ValueError: the older, run again")
