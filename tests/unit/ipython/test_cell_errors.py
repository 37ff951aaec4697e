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


def test_mention_attaches_the_last_error_or_that_of_a_cell(shell: Any, errors: CellErrors) -> None:
    """A variable named ``error`` takes precedence."""
    last, older = errors.last, errors.of(2)
    assert last is not None
    assert older is not None
    assert attached("Why? @error @error:2", shell) == [("error", last.text), ("error:2", older.text)]
    assert last.text.startswith("KeyError: 'column'\nThe cell that failed: In [3] (cell id c3).")
    assert attached("@error", shell, error=5) == [("error", "error: int\n5")]


@pytest.mark.parametrize(("prompt", "what"), [("@error", "no cell has failed"), ("@error:9", "cell 9 has not failed")])
def test_error_mention_is_refused_when_no_cell_failed(prompt: str, what: str, shell: Any) -> None:
    with pytest.raises(UnknownMention, match=f"{prompt}: {what} since .* Run the cell"):
        attached(prompt, shell)


def test_interrupts_and_agentnb_errors_are_not_remembered(shell: Any, errors: CellErrors) -> None:
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


def test_chat_suggests_the_last_error_first(shell: Any, errors: CellErrors, tmp_path: Path) -> None:
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
def test_fix_or_explain_alone_expands_to_a_prompt_with_the_error(
    typed: str, parts: list[str], shell: Any, errors: CellErrors
) -> None:
    """The prompt names the action, not the tools for cells."""
    prompt = "\n\n".join(expanded(typed, shell, edits=True))
    assert [part for part in parts if part not in prompt] == []
    assert [tool for tool in TOOLS if "_" in tool and tool in prompt] == []


def test_fix_prompt_asks_for_code_when_agent_cannot_edit_cells(shell: Any, errors: CellErrors) -> None:
    prompt = expanded("fix", shell, edits=False).instructions
    assert ("change the cell" in prompt, "show the whole corrected code" in prompt) == (False, True)


@pytest.mark.parametrize("typed", ["fix the plot", "Fix", "explain this", "fixes", "please fix", "fix 2 and 3"])
def test_prompt_that_only_resembles_fix_is_not_expanded(typed: str, shell: Any, errors: CellErrors) -> None:
    assert expanded(typed, shell, edits=True) == (typed, "")


@pytest.mark.parametrize(("typed", "what"), [("fix", "No cell has failed"), ("explain 9", "Cell 9 has not failed")])
def test_fix_or_explain_fails_with_advice_when_no_cell_failed(typed: str, what: str, shell: Any) -> None:
    with pytest.raises(UsageError, match=f"{what} since .* Run the cell with the error first, then `%agent"):
        expanded(typed, shell, edits=True)


def test_error_known_only_to_a_page_is_read_from_its_output(shell: Any, errors: CellErrors) -> None:
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


def test_error_text_shows_the_current_code_of_a_changed_cell(shell: Any, errors: CellErrors) -> None:
    page = NotebookPage("work.ipynb", {"c3": "df['column']"})
    try:
        error = errors.last
        assert error is not None
        assert text_of(error).endswith("as it reads now:\n```\ndf['column']\n```")
    finally:
        page.close()


def test_error_text_shows_the_failed_cell_when_ids_are_equal(shell: Any, errors: CellErrors) -> None:
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


def test_fix_button_sends_the_cell_error_before_count_is_known(shell: Any, errors: CellErrors) -> None:
    """The output shows the error before the reply has the count: the mention names the cell's latest run."""
    errors.remember(ValueError("the older, run again"), 4, "c2")
    errors.remember(TypeError("another cell"), 5, "c5")
    early = FailedParams(id="1", action="fix", cell_id="c2", name="ValueError", message="the older, run again")
    assert (failed_prompt(shell, early) or "").startswith("Fix the error in In [4]: @error:4\n")
    errors.remember(TypeError("again"), 6, "c5")
    assert str(attached("@error:4", shell)[0][1]).startswith("ValueError: the older, run again")
