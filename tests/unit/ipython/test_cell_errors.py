"""The errors of a shell's cells: which are kept, what ``@error`` attaches, and the prompts about them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentnb.errors import UnknownMention, UsageError
from agentnb.ipython.cell_errors import MOST, CellErrors, errors_of, expanded, failed_prompt, text_of
from agentnb.ipython.mentions import attachments, scope_of
from agentnb.ipython.shell_mentions import ShellMentions
from agentnb.kernel.tools import TOOLS
from agentnb.server.lab_messages import FailedParams
from tests.unit.kernel.notebook_page import NotebookPage


@pytest.fixture
def shell() -> Any:
    """The parts of a shell that errors need; IPython's compiler has compiled no cells."""
    history = SimpleNamespace(input_hist_raw=[""], output_hist_reprs={})
    compiler = SimpleNamespace(format_code_name=lambda _: None)
    return SimpleNamespace(user_ns={}, user_ns_hidden={}, history_manager=history, execution_count=1, compile=compiler)


@pytest.fixture
def errors(shell: Any) -> CellErrors:
    """The errors of cells 2 and 3."""
    errors = errors_of(shell)
    errors.remember(ValueError("the older"), 2, "c2")
    errors.remember(KeyError("column"), 3, "c3")
    return errors


def attached(prompt: str, shell: Any, **variables: Any) -> list[tuple[str, str | None]]:
    shell.user_ns.update(variables)
    scope = scope_of(shell, Path.cwd())
    return [(each.label, getattr(each, "model_representation", None)) for each in attachments(prompt, [], scope)]


def test_the_last_error_and_that_of_a_cell_can_be_mentioned(shell: Any, errors: CellErrors) -> None:
    """A variable named ``error`` takes precedence."""
    last, older = errors.last, errors.of(2)
    assert last is not None
    assert older is not None
    assert attached("Why? @error @error:2", shell) == [("error", last.text), ("error:2", older.text)]
    assert last.text.startswith("KeyError: 'column'\nThe cell that failed: In [3] (cell id c3).")
    assert attached("@error", shell, error=5) == [("error", "error: int\n5")]


@pytest.mark.parametrize(("prompt", "what"), [("@error", "no cell has failed"), ("@error:9", "cell 9 has not failed")])
def test_a_mention_of_an_error_where_nothing_failed_says_so(prompt: str, what: str, shell: Any) -> None:
    with pytest.raises(UnknownMention, match=f"{prompt}: {what} since .* Run the cell"):
        attached(prompt, shell)


def test_an_interrupt_and_errors_of_agentnb_are_no_failures(shell: Any, errors: CellErrors) -> None:
    """The last error does not change."""
    for error in (KeyboardInterrupt(), UsageError("%agent needs a prompt."), SystemExit(1)):
        errors.remember(error, 4, "c4")
    assert errors.last == errors.of(3)
    assert errors.of(4) is None


def test_only_the_latest_errors_are_remembered(shell: Any) -> None:
    """Many errors must not fill the memory."""
    for count in range(1, MOST + 3):
        errors_of(shell).remember(ValueError(count), count)
    assert errors_of(shell).of(2) is None
    assert errors_of(shell).of(3) is not None


def test_the_chat_offers_the_last_error_first(shell: Any, errors: CellErrors, tmp_path: Path) -> None:
    (first, *_) = ShellMentions(shell).suggest("", tmp_path)
    assert (first.text, first.detail) == ("error", "the last one: KeyError: 'column'")
    assert [each.label for each in ShellMentions(shell).attach("@error @error:2 @error:9", tmp_path)] == [
        "error",
        "error:2",
    ]


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
def test_the_word_alone_becomes_a_prompt_with_the_error(
    typed: str, parts: list[str], shell: Any, errors: CellErrors
) -> None:
    """The prompt names the action, not the tools for cells."""
    prompt = "\n\n".join(expanded(typed, shell, edits=True))
    assert [part for part in parts if part not in prompt] == []
    assert [tool for tool in TOOLS if "_" in tool and tool in prompt] == []


def test_an_agent_without_the_tools_is_to_show_the_code(shell: Any, errors: CellErrors) -> None:
    prompt = expanded("fix", shell, edits=False).instructions
    assert ("change the cell" in prompt, "show the whole corrected code" in prompt) == (False, True)


@pytest.mark.parametrize("typed", ["fix the plot", "Fix", "explain this", "fixes", "please fix", "fix 2 and 3"])
def test_a_prompt_that_only_begins_so_is_a_prompt(typed: str, shell: Any, errors: CellErrors) -> None:
    assert expanded(typed, shell, edits=True) == (typed, "")


@pytest.mark.parametrize(("typed", "what"), [("fix", "No cell has failed"), ("explain 9", "Cell 9 has not failed")])
def test_the_word_alone_where_nothing_failed_says_what_to_do(typed: str, what: str, shell: Any) -> None:
    with pytest.raises(UsageError, match=f"{what} since .* Run the cell with the error first, then `%agent"):
        expanded(typed, shell, edits=True)


def test_an_error_that_only_a_page_shows_is_told_by_its_output(shell: Any, errors: CellErrors) -> None:
    """Secrets are masked and colours removed; mentions then find the error."""
    traceback = "\x1b[31m---\x1b[0m\npassword = 'hunter2'\nValueError: gone"
    output = {"name": "ValueError", "message": "gone", "traceback": traceback}
    params = FailedParams(id="1", action="fix", cell_id="c9", count=9, **output)
    assert "@error:9\n" in failed_prompt(shell, params)
    error = errors.last
    assert error is not None
    assert errors.of(9) == error
    assert "In [9] (cell id c9)" in error.text
    assert "---\npassword = '***'\nValueError: gone" in error.text
    seen = FailedParams(id="2", action="explain", cell_id="c2", count=2, name="ValueError", traceback="…")
    known = errors.of(2)
    assert failed_prompt(shell, seen).startswith("Explain the error in In [2]: @error:2")
    assert errors.last == known


def test_a_cell_that_was_changed_since_is_shown_as_it_reads_now(shell: Any, errors: CellErrors) -> None:
    page = NotebookPage("work.ipynb", {"c3": "df['column']"})
    try:
        error = errors.last
        assert error is not None
        assert text_of(error).endswith("as it reads now:\n```\ndf['column']\n```")
    finally:
        page.close()


def test_of_two_cells_with_one_id_the_one_that_failed_is_shown_as_it_reads_now(shell: Any, errors: CellErrors) -> None:
    """Identified by its number; without a match none is shown, as it could be the wrong one."""
    page = NotebookPage("work.ipynb", {"c3": "another"})
    try:
        page.cells.append({"id": "c3", "kind": "code", "source": "df['column']", "count": 3})
        page.tell()
        error = errors.last
        assert error is not None
        assert text_of(error).endswith("In [3] (cell id c3) as it reads now:\n```\ndf['column']\n```")
        page.cells[1]["count"] = 4
        page.tell()
        assert text_of(error) == error.text
    finally:
        page.close()


def test_a_button_pressed_before_the_page_knows_the_count_sends_the_error_of_that_cell(
    shell: Any, errors: CellErrors
) -> None:
    """The output shows the error before the reply has the count: the mention names the cell's latest run."""
    errors.remember(ValueError("the older, run again"), 4, "c2")
    errors.remember(TypeError("another cell"), 5, "c5")
    early = FailedParams(id="1", action="fix", cell_id="c2", name="ValueError", message="the older, run again")
    assert (failed_prompt(shell, early) or "").startswith("Fix the error in In [4]: @error:4\n")
    errors.remember(TypeError("again"), 6, "c5")
    assert str(attached("@error:4", shell)[0][1]).startswith("ValueError: the older, run again")
