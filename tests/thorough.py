"""The tests that only ``make test-all`` runs: second kinds of a kernel, long inputs, rare ways (decision 431)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pytest

_Case = TypeVar("_Case")

WITH_IPYKERNEL_6 = (
    "browser/test_magic.py::test_an_answer_streams",
    "kernel/test_agent_magic.py::test_a_message_of_the_page",
    "kernel/test_agent_magic.py::test_an_interrupt",
    "kernel/test_agent_magic.py::test_it_works",
    "kernel/test_agent_magic.py::test_what_a_cell_prints",
    "kernel/test_cell_request.py",
    "kernel/test_live_display.py::test_a_cell_that_blocks",
)
"""Tests that run with ipykernel 6, too; the others do so only in ``make test-all``."""
THOROUGH = (
    "browser/test_assistant.py",
    "browser/test_batches.py",
    "browser/test_box.py::test_without_a_conversation",
    "browser/test_branches.py::test_parts_of_tries",
    "browser/test_branches.py::test_text_of_the_message_box",
    "browser/test_cell_review.py::test_a_review_in_two_pages",
    "browser/test_cell_review.py::test_cells_that_are_moved",
    "browser/test_cell_review.py::test_code_from_the_chat",
    "browser/test_cell_review.py::test_fifteen_changes",
    "browser/test_cell_review.py::test_what_stands_in_cells_outside_the_view",
    "browser/test_changes.py::test_parts_of_a_file",
    "browser/test_citations.py",
    "browser/test_connection.py::test_a_busy_kernel",
    "browser/test_connection.py::test_a_kernel_with_subshells",
    "browser/test_connection.py::test_a_server_that_is_stopped",
    "browser/test_delivery.py::test_a_flood",
    "browser/test_delivery.py::test_cell_run_again",
    "browser/test_delivery.py::test_jupyters_message_limiter",
    "browser/test_delivery.py::test_page_reloaded_twice",
    "browser/test_delivery.py::test_panel_closed",
    "browser/test_delivery.py::test_second_display",
    "browser/test_delivery.py::test_two_windows",
    "browser/test_errors.py::test_errors_in_notebook_7",
    "browser/test_errors.py::test_the_shortcut_sends",
    "browser/test_export.py::test_formulas_are_drawn_and_a_wide_one_scrolls[1200-dark]",
    "browser/test_features.py::test_a_draft_survives",
    "browser/test_framed.py",
    "browser/test_inline.py::test_comments_on_lines",
    "browser/test_inline.py::test_completion",
    "browser/test_inline.py::test_edit_and_comment_work_in_notebook_7",
    "browser/test_inline.py::test_edit_waits",
    "browser/test_inline.py::test_first_edit",
    "browser/test_inline.py::test_thousand",
    "browser/test_kernel_access.py::test_kernel_access_and_a_terminal_agent_are_switched_by_keyboard",
    "browser/test_large_notebook.py",
    "browser/test_long.py::test_a_long_chat",
    "browser/test_long.py::test_a_new_kernel",
    "browser/test_long.py::test_large_output",
    "browser/test_long_text.py::test_a_text_of_2_mb_when_it_comes_at_once_makes_no_long_task[chat command stars]",
    "browser/test_long_text.py::test_a_text_of_2_mb_when_it_comes_at_once_makes_no_long_task[chat message a list]",
    "browser/test_long_text.py::test_a_text_of_2_mb_when_it_comes_at_once_makes_no_long_task[chat message code]",
    "browser/test_long_text.py::test_a_text_of_2_mb_when_it_comes_at_once_makes_no_long_task[chat message stars]",
    "browser/test_long_text.py::test_a_text_of_2_mb_when_it_comes_at_once_makes_no_long_task[chat output overwritten]",
    "browser/test_long_text.py::test_a_text_of_2_mb_when_it_comes_at_once_makes_no_long_task[chat path stars]",
    "browser/test_long_text.py::test_a_text_of_2_mb_when_it_comes_at_once_makes_no_long_task[chat user stars]",
    "browser/test_loop.py",
    "browser/test_magic.py::test_the_answer_outlives",
    "browser/test_many_agents.py",
    "browser/test_marimo.py",
    "browser/test_mentions.py::test_a_variable",
    "browser/test_mentions.py::test_selected_code",
    "browser/test_notifications.py",
    "browser/test_phone.py::test_phone_comes_back",
    "browser/test_provenance.py::test_code_that_is_taken",
    "browser/test_provenance.py::test_notebook_that_says",
    "browser/test_reading.py",
    "browser/test_remote_kernel.py",
    "browser/test_restart_in_the_middle.py",
    "browser/test_settings.py::test_an_agent_of_ones_own",
    "browser/test_settings.py::test_the_settings_page",
    "browser/test_sidebar.py::test_cells_are_put_back",
    "browser/test_sidebar.py::test_code_is_run_in_a_cell",
    "browser/test_sidebar.py::test_commands_stand",
    "browser/test_sidebar.py::test_each_notebook",
    "browser/test_sidebar.py::test_the_sidebar_fits",
    "browser/test_sidebar.py::test_where_no_page",
    "browser/test_sidebar.py::test_without_the_extension",
    "browser/test_sidebar_notebook7.py::test_python_and_the_palette",
    "browser/test_sidebar_notebook7.py::test_selected_code",
    "browser/test_sidebar_notebook7.py::test_the_chat_comes_back",
    "browser/test_sidebar_notebook7.py::test_the_shortcut",
    "browser/test_skill_offers.py",
    "browser/test_suggestions.py",
    "browser/test_translation.py",
    "browser/test_turn.py::test_a_turn_that_did_much",
    "browser/test_turn.py::test_the_conversations_that_were_open",
    "browser/test_verify.py::test_agent_clears_outputs",
    "browser/test_verify.py::test_kernel_without_agentnb",
    "browser/test_verify.py::test_mark_in_notebook_7",
    "browser/test_verify.py::test_verification_in_one_window",
    "browser/test_verify.py::test_verification_is_stopped",
    "browser/test_walkthrough.py",
    "kernel/test_chat_loads_magics.py::test_agent_magic_when_only_the_chat_is_open_answers_and_says_once_what_the_notebook_lacks[ipykernel7-%%agent",
    "kernel/test_chat_loads_magics.py::test_agent_magic_when_only_the_chat_is_open_answers_and_says_once_what_the_notebook_lacks[ipykernel7-turn",
    "kernel/test_gateway.py",
    "kernel/test_headless.py::test_a_long_turn",
    "kernel/test_headless.py::test_every_runner_ends_with_the_error[ipython]",
    "kernel/test_headless.py::test_every_runner_ends_with_the_error[nbclient]",
    "kernel/test_headless.py::test_every_runner_ends_with_the_error[nbconvert]",
    "kernel/test_headless.py::test_every_runner_ends_with_the_error[nbmake]",
    "kernel/test_headless.py::test_nbval_fails_the_cells_that_fail[--nbval-lax]",
    "kernel/test_headless.py::test_without_a_terminal",
    "kernel/test_live_display.py::test_a_console_gets_the_words_printed[ipykernel6]",
    "kernel/test_loop.py::test_a_gain_by_chance",
    "kernel/test_loop.py::test_a_killed_loop",
    "kernel/test_loop.py::test_a_metric_that_fails_in_a_try",
    "kernel/test_loop.py::test_a_notebook_that_a_program_runs",
    "kernel/test_loop.py::test_a_recorded_loop",
    "kernel/test_loop.py::test_many_tries",
    "kernel/test_loop.py::test_the_loop_ends_within",
    "kernel/test_loop_on_cluster.py",
    "notebooks/test_actions.py::test_the_example_fails",
    "notebooks/test_actions.py::test_the_example_runs",
    "notebooks/test_background.py::test_background_turn_passes_with_the_recorded_prompt_only[jupyter",
    "notebooks/test_background.py::test_background_turn_passes_with_the_recorded_prompt_only[nbconvert-several]",
    "notebooks/test_background.py::test_background_turn_passes_with_the_recorded_prompt_only[papermill-near the end]",
    "notebooks/test_background.py::test_background_turn_that_a_later_cell_cancels_is_not_waited_for_before[nbval-lax]",
    "notebooks/test_background.py::test_background_turn_under_pytest_passes_with_the_recorded_prompt_only[nbmake]",
    "notebooks/test_background.py::test_background_turn_under_pytest_passes_with_the_recorded_prompt_only[nbval]",
    "notebooks/test_background.py::test_turn_that_fails_after_the_last_cell_fails_the_run[nbconvert]",
    "notebooks/test_cassettes.py::test_replays_are_equal_to_the_byte[eliza]",
    "notebooks/test_cassettes.py::test_replays_are_equal_to_the_byte[gemini]",
    "notebooks/test_nbconvert.py::test_execute",
    "notebooks/test_plugin.py::test_a_changed_prompt_fails_with_the_diff[options1]",
    "notebooks/test_plugin.py::test_a_notebook_that_asks_for_nothing",
    "notebooks/test_plugin.py::test_a_prompt_at_which_no_cell_looks_fails_too[--nbmake]",
    "notebooks/test_plugin.py::test_in_parallel",
    "notebooks/test_plugin.py::test_nbconvert_by_the_environment",
    "notebooks/test_plugin.py::test_papermill_and_nbclient",
    "notebooks/test_plugin.py::test_record_anew",
    "notebooks/test_plugin.py::test_runners_play_the_cassette[options1]",
    "unit/api/test_exit.py::test_script_exits_without_output_and_stops_its_agent[session.close",
    "unit/api/test_exit.py::test_script_exits_without_output_and_stops_its_agent[session.prompt('/write",
    "unit/host/test_undo_turns.py::test_an_order_that_once_ended_in_a_wrong_state_ends_in_the_right_one[1",
    "unit/test_concurrent_imports.py::test_cell_and_sidebar_can_import_agentnb_concurrently[1",
    "unit/plugins/chain/test_misbehaviour.py::test_component_that_dies_late_ends_the_chain_with_its_name[old",
    "unit/plugins/chain/test_misbehaviour.py::test_component_that_dies_late_ends_the_chain_with_its_name[sdk",
    "unit/plugins/checks/test_compare.py::test_compare_judges_nearly_all_independent_steps_correctly",
    "unit/plugins/evaluate/test_day_budget.py::test_a_run_that_changed",
    "unit/plugins/evaluate/test_day_budget.py::test_runs_after",
    "unit/plugins/evaluate/test_eval.py::test_recording_passes",
    "unit/plugins/evaluate/test_examples.py::test_examples_pass",
    "unit/plugins/evaluate/test_notebooks.py::test_kernel_tools",
    "unit/plugins/knowledge/test_hostile_code.py::test_large_module_and_thousands_of_cells_are_analysed",
    "unit/plugins/knowledge/test_package_tools.py::test_tools_are_limited_and_same_names_need_the_package_name",
    "unit/plugins/map/test_bad_input.py::test_memory_does_not_grow",
    "unit/plugins/map/test_bad_input.py::test_rows_of_10_megabytes",
    "unit/plugins/map/test_cluster_workers.py::test_the_settings_of_a_killed_worker",
    "unit/plugins/map/test_cluster_workers.py::test_workers_with_another_version",
    "unit/plugins/rehearsal/test_command.py::test_rehearse_command_that_makes_a_million_files",
    "unit/plugins/remote/test_failures.py::test_server_that_never_answers",
    "unit/plugins/verify/test_bad_input.py::test_verify_of_2000_cells",
    "unit/plugins/verify/test_verified_turns.py::test_batch_that_is_to_be_verified",
)
"""The beginnings of the test ids, below ``tests/``."""


def examples(number: int) -> int:
    """Returns *number* of Hypothesis examples in thorough runs, otherwise a quarter of them."""
    return number if os.environ.get("AGENTNB_THOROUGH") else number // 4


def some(cases: Sequence[_Case]) -> Sequence[_Case]:
    """Returns every fourth of *cases*; in thorough runs all."""
    return cases if os.environ.get("AGENTNB_THOROUGH") else cases[::4]


def one_of_each(cases: Mapping[str, _Case], kind: Callable[[_Case], object]) -> dict[str, _Case]:
    """Returns the first of *cases* of each kind; in thorough runs all."""
    if os.environ.get("AGENTNB_THOROUGH"):
        return dict(cases)
    first = {kind(case): name for name, case in reversed([*cases.items()])}
    return {name: case for name, case in cases.items() if name in first.values()}


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects thorough tests, unless ``AGENTNB_THOROUGH`` is set or a single test is named."""
    if os.environ.get("AGENTNB_THOROUGH") or any("::" in each for each in config.args):
        return
    left_out = [each for each in items if is_thorough(each.nodeid)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [each for each in items if not is_thorough(each.nodeid)]


def is_thorough(test_id: str) -> bool:
    """True if ``make test`` leaves out the test with this id."""
    name = test_id.removeprefix("tests/")
    return name.startswith(THOROUGH) or ("ipykernel6" in name and not name.startswith(WITH_IPYKERNEL_6))
