"""The tests that only ``make test-all`` runs: second kinds of a kernel, long inputs, rare ways (decision 431)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pytest

_Case = TypeVar("_Case")

WITH_IPYKERNEL_6 = (
    "browser/test_magic.py::test_running_cell_streams_and_takes_allow_reject_and_stop",
    "kernel/test_agent_magic.py::test_page_message_arrives_while_a_cell_awaits",
    "kernel/test_agent_magic.py::test_interrupt_cancels_the_turn_and_aborts_queued_cells",
    "kernel/test_agent_magic.py::test_magic_works_inside_other_code",
    "kernel/test_agent_magic.py::test_cell_keeps_its_output_after_a_page_message",
    "kernel/test_cell_request.py",
    "kernel/test_live_display.py::test_blocking_cell_does_not_hang_on_a_permission_request",
)
"""Tests that run with ipykernel 6, too; the others do so only in ``make test-all``."""
THOROUGH = (
    "browser/test_assistant.py",
    "browser/test_batches.py",
    "browser/test_box.py::test_fix_without_a_conversation_starts_the_default_agent",
    "browser/test_branches.py::test_keeping_parts_of_tries_never_overwrites_user_changes",
    "browser/test_branches.py::test_conversation_menu_tries_the_message_three_ways",
    "browser/test_cell_review.py::test_review_in_either_page_updates_the_other",
    "browser/test_cell_review.py::test_undo_of_a_turn_restores_moved_split_and_deleted_cells",
    "browser/test_cell_review.py::test_chat_code_that_replaces_a_cell_shows_its_diff_and_undo",
    "browser/test_cell_review.py::test_one_bar_decides_fifteen_changes_in_two_windows",
    "browser/test_cell_review.py::test_proposals_outside_the_view_work_in_each_windowing_mode",
    "browser/test_changes.py::test_review_keeps_undoes_and_redoes_parts_of_a_file",
    "browser/test_citations.py",
    "browser/test_connection.py::test_message_waits_while_a_cell_blocks_the_kernel",
    "browser/test_connection.py::test_chat_works_with_subshells_while_a_cell_blocks",
    "browser/test_connection.py::test_view_reports_the_kernel_ended_after_a_server_restart",
    "browser/test_delivery.py::test_chat_shows_a_flood_of_chunks_completely",
    "browser/test_delivery.py::test_answer_arrives_when_the_cell_runs_again",
    "browser/test_delivery.py::test_answer_arrives_when_jupyter_limits_messages",
    "browser/test_delivery.py::test_answer_arrives_when_the_page_reloads_twice",
    "browser/test_delivery.py::test_new_view_shows_the_answer_when_python_closes_the_panel",
    "browser/test_delivery.py::test_answer_arrives_in_three_views_of_one_chat",
    "browser/test_delivery.py::test_two_windows_show_each_others_answers_and_both_prompt",
    "browser/test_errors.py::test_errors_are_fixed_by_keyboard_in_notebook_7",
    "browser/test_errors.py::test_fix_shortcut_sends_saved_error_once_an_agent_is_chosen",
    "browser/test_export.py::test_exported_formulas_render_and_wide_ones_scroll[1200-dark]",
    "browser/test_features.py::test_draft_survives_a_reload_and_a_kernel_restart",
    "browser/test_framed.py",
    "browser/test_inline.py::test_line_comments_survive_a_reload_and_are_sent",
    "browser/test_inline.py::test_tab_accepts_grey_completion_and_typing_cancels_it",
    "browser/test_inline.py::test_edit_and_comment_work_in_notebook_7",
    "browser/test_inline.py::test_edit_waits_for_a_busy_kernel_and_shows_why",
    "browser/test_inline.py::test_first_edit_starts_the_default_agent_or_reports_none",
    "browser/test_inline.py::test_page_shows_and_sends_a_thousand_comments",
    "browser/test_kernel_access.py::test_notebook_7_switches_access_and_pairing_by_keyboard",
    "browser/test_large_notebook.py",
    "browser/test_long.py::test_long_chat_opens_with_its_latest_turns_after_a_reload",
    "browser/test_long.py::test_new_kernel_offers_the_earlier_conversation",
    "browser/test_long.py::test_large_output_is_cut_and_shows_all_on_demand",
    "browser/test_long_text.py::test_text_of_2_mb_at_once_makes_no_long_task[chat command stars]",
    "browser/test_long_text.py::test_text_of_2_mb_at_once_makes_no_long_task[chat message a list]",
    "browser/test_long_text.py::test_text_of_2_mb_at_once_makes_no_long_task[chat message code]",
    "browser/test_long_text.py::test_text_of_2_mb_at_once_makes_no_long_task[chat message stars]",
    "browser/test_long_text.py::test_text_of_2_mb_at_once_makes_no_long_task[chat output overwritten]",
    "browser/test_long_text.py::test_text_of_2_mb_at_once_makes_no_long_task[chat path stars]",
    "browser/test_long_text.py::test_text_of_2_mb_at_once_makes_no_long_task[chat user stars]",
    "browser/test_loop.py",
    "browser/test_magic.py::test_saved_answers_stay_readable_in_a_new_kernel",
    "browser/test_many_agents.py",
    "browser/test_marimo.py",
    "browser/test_mentions.py::test_debugger_variable_is_added_to_the_chat",
    "browser/test_mentions.py::test_selection_and_output_are_mentioned_and_sent",
    "browser/test_notifications.py",
    "browser/test_phone.py::test_phone_reconnects_after_its_network_was_cut",
    "browser/test_provenance.py::test_code_inserted_from_an_answer_is_marked_as_the_agents",
    "browser/test_provenance.py::test_saved_author_marks_show_without_a_kernel",
    "browser/test_reading.py",
    "browser/test_remote_kernel.py",
    "browser/test_restart_in_the_middle.py",
    "browser/test_settings.py::test_custom_agent_is_added_answers_and_is_removed",
    "browser/test_settings.py::test_settings_page_editor_and_file_show_the_same_values",
    "browser/test_sidebar.py::test_cell_changes_apply_at_once_unless_the_user_edited_them",
    "browser/test_sidebar.py::test_code_runs_in_a_new_cell_below_the_active_cell",
    "browser/test_sidebar.py::test_palette_menu_and_shortcut_open_the_sidebar",
    "browser/test_sidebar.py::test_each_notebook",
    "browser/test_sidebar.py::test_sidebar_fits_every_width_and_theme",
    "browser/test_sidebar.py::test_sidebar_shows_a_notice_until_the_kernel_can_answer",
    "browser/test_sidebar.py::test_chat_shows_below_the_cell_without_the_extension",
    "browser/test_sidebar.py::test_sidecar_holds_the_chat_without_the_extension",
    "browser/test_sidebar_notebook7.py::test_python_and_the_palette",
    "browser/test_sidebar_notebook7.py::test_selection_and_output_are_attached_in_notebook_7",
    "browser/test_sidebar_notebook7.py::test_chat_returns_after_a_restart_and_inserts_code",
    "browser/test_sidebar_notebook7.py::test_shortcut_shows_install_command_when_agentnb_is_missing",
    "browser/test_skill_offers.py",
    "browser/test_suggestions.py",
    "browser/test_translation.py",
    "browser/test_turn.py::test_turn_with_many_actions_folds_into_a_few_lines",
    "browser/test_turn.py::test_open_conversations_are_tabs_again_after_a_restart",
    "browser/test_verify.py::test_agent_clears_outputs_interrupts_and_restarts_the_kernel",
    "browser/test_verify.py::test_verification_without_agentnb_opens_the_sidebar_notice",
    "browser/test_verify.py::test_verification_mark_in_notebook_7_leads_to_the_cell",
    "browser/test_verify.py::test_verification_shows_in_both_windows_unless_text_differs",
    "browser/test_verify.py::test_stopped_verification_can_start_again",
    "browser/test_walkthrough.py",
    "kernel/test_chat_loads_magics.py::test_magic_works_with_a_note_when_only_the_chat_is_open[ipykernel7-%%agent",
    "kernel/test_chat_loads_magics.py::test_magic_works_with_a_note_when_only_the_chat_is_open[ipykernel7-turn",
    "kernel/test_gateway.py",
    "kernel/test_headless.py::test_long_turn_is_reported_in_the_terminal",
    "kernel/test_headless.py::test_every_notebook_runner_fails_with_the_turn_error[ipython]",
    "kernel/test_headless.py::test_every_notebook_runner_fails_with_the_turn_error[nbclient]",
    "kernel/test_headless.py::test_every_notebook_runner_fails_with_the_turn_error[nbconvert]",
    "kernel/test_headless.py::test_every_notebook_runner_fails_with_the_turn_error[nbmake]",
    "kernel/test_headless.py::test_nbval_reports_each_failed_cell[--nbval-lax]",
    "kernel/test_headless.py::test_long_turn_prints_nothing_without_a_terminal",
    "kernel/test_live_display.py::test_console_prints_the_text_of_a_turn[ipykernel6]",
    "kernel/test_loop.py::test_gain_is_confirmed_by_evaluating_again",
    "kernel/test_loop.py::test_killed_loop_resumes_where_it_was",
    "kernel/test_loop.py::test_a_metric_that_fails_in_a_try",
    "kernel/test_loop.py::test_notebook_run_by_papermill_waits_for_its_loop",
    "kernel/test_loop.py::test_replayed_loop_is_identical_without_its_agent",
    "kernel/test_loop.py::test_many_tries",
    "kernel/test_loop.py::test_loop_ends_at_each_limit",
    "kernel/test_loop_on_cluster.py",
    "notebooks/test_actions.py::test_github_actions_example_fails_for_a_changed_notebook",
    "notebooks/test_actions.py::test_github_actions_example_runs",
    "notebooks/test_background.py::test_changed_background_prompt_fails_in_every_runner[jupyter",
    "notebooks/test_background.py::test_changed_background_prompt_fails_in_every_runner[nbconvert-several]",
    "notebooks/test_background.py::test_changed_background_prompt_fails_in_every_runner[papermill-near the end]",
    "notebooks/test_background.py::test_later_cell_can_cancel_a_background_turn[nbval-lax]",
    "notebooks/test_background.py::test_changed_background_prompt_fails_under_pytest[nbmake]",
    "notebooks/test_background.py::test_changed_background_prompt_fails_under_pytest[nbval]",
    "notebooks/test_background.py::test_failed_turn_after_the_last_cell_fails_the_run[nbconvert]",
    "notebooks/test_cassettes.py::test_replays_are_equal_byte_for_byte[eliza]",
    "notebooks/test_cassettes.py::test_replays_are_equal_byte_for_byte[gemini]",
    "notebooks/test_nbconvert.py::test_nbconvert_execute_gives_the_stored_outputs",
    "notebooks/test_plugin.py::test_changed_prompt_fails_with_a_diff[options1]",
    "notebooks/test_plugin.py::test_notebook_without_prompts_reports_unused_turns",
    "notebooks/test_plugin.py::test_changed_prompt_fails_when_no_cell_shows_its_turn[--nbmake]",
    "notebooks/test_plugin.py::test_parallel_workers_use_the_cassette_of_each_notebook",
    "notebooks/test_plugin.py::test_nbconvert_replays_with_environment_variables",
    "notebooks/test_plugin.py::test_replay_fixture_works_with_papermill_and_nbclient",
    "notebooks/test_plugin.py::test_record_option_records_the_cassette_again",
    "notebooks/test_plugin.py::test_runners_replay_the_cassette[options1]",
    "unit/api/test_exit.py::test_script_exits_without_output_and_stops_its_agent[session.close",
    "unit/api/test_exit.py::test_script_exits_without_output_and_stops_its_agent[session.prompt('/write",
    "unit/host/test_undo_turns.py::test_files_match_the_model_for_seeds_that_once_failed[1",
    "unit/test_concurrent_imports.py::test_cell_and_sidebar_can_import_agentnb_concurrently[1",
    "unit/plugins/chain/test_misbehaviour.py::test_component_that_dies_late_is_named_and_ends_the_chain[old",
    "unit/plugins/chain/test_misbehaviour.py::test_component_that_dies_late_is_named_and_ends_the_chain[sdk",
    "unit/plugins/checks/test_compare.py::test_compare_judges_nearly_all_independent_steps_correctly",
    "unit/plugins/evaluate/test_day_budget.py::test_resume_repeats_a_run_whose_check_has_changed",
    "unit/plugins/evaluate/test_day_budget.py::test_runs_beyond_the_daily_budget_can_be_resumed_later",
    "unit/plugins/evaluate/test_eval.py::test_recording_that_does_not_fit_the_tasks_is_broken",
    "unit/plugins/evaluate/test_examples.py::test_examples_accept_right_and_reject_wrong_solutions",
    "unit/plugins/evaluate/test_notebooks.py::test_kernel_tools_work_in_a_kernel_that_cannot_see_the_check",
    "unit/plugins/knowledge/test_hostile_code.py::test_large_module_and_thousands_of_cells_are_analysed",
    "unit/plugins/map/test_bad_input.py::test_memory_does_not_grow",
    "unit/plugins/map/test_bad_input.py::test_batch_accepts_and_returns_rows_of_10_megabytes",
    "unit/plugins/map/test_cluster_workers.py::test_next_worker_removes_settings_of_a_killed_worker",
    "unit/plugins/map/test_cluster_workers.py::test_batch_names_workers_with_wrong_version_or_no_agent",
    "unit/plugins/rehearsal/test_command.py::test_rehearsed_command_cannot_create_a_million_files",
    "unit/plugins/remote/test_failures.py::test_server_that_never_answers_is_reported_after_timeout",
    "unit/plugins/verify/test_bad_input.py::test_verify_runs_a_notebook_with_2000_cells",
    "unit/plugins/verify/test_verified_turns.py::test_verified_batch_fixes_each_notebook_before_its_answer",
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
