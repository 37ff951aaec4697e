"""Helps to test notebooks and code that use agentnb: assertions on turns, events, and reducer cases.

`events` collects events by name: agents that start and die, turns, permissions, pages, cassettes.

`assert_text`, `assert_tool_calls`, `assert_files_written` and `assert_permissions` check a turn that has ended; the
fixtures `agentnb_session` and `agentnb_replay` (in every pytest where agentnb is installed) replay one from a cassette.

A reducer case is a JSON object, in the format of the Agent Host Protocol's own cases:

.. code-block:: json

    {
      "description": "what is shown",
      "reducer": "chat",
      "initial": {"…": "the state before"},
      "actions": [{"type": "chat/delta", "…": "…"}],
      "expected": {"…": "the state after"}
    }

``null`` means absent. If a reducer needs the time and the action has none, the time is 9,999 ms.

Example:
    >>> from agentnb.testing import run_reducer_case
    >>> case = {"reducer": "root", "initial": {"agents": []}, "actions": [], "expected": {"agents": []}}
    >>> run_reducer_case(case) == case["expected"]
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.one_at_a_time import names_at_first_use

if TYPE_CHECKING:
    from agentnb.events.collector import Event as Event
    from agentnb.events.collector import Events as Events
    from agentnb.events.collector import events as events
    from agentnb.testing.assertions import assert_files_written as assert_files_written
    from agentnb.testing.assertions import assert_permissions as assert_permissions
    from agentnb.testing.assertions import assert_text as assert_text
    from agentnb.testing.assertions import assert_tool_calls as assert_tool_calls
    from agentnb.testing.assertions import files_written as files_written
    from agentnb.testing.assertions import permissions_asked as permissions_asked
    from agentnb.testing.reducer_cases import CASE_TIME as CASE_TIME
    from agentnb.testing.reducer_cases import case_states as case_states
    from agentnb.testing.reducer_cases import load_cases as load_cases
    from agentnb.testing.reducer_cases import run_reducer_case as run_reducer_case
    from agentnb.testing.reducer_cases import skip_reason as skip_reason
    from agentnb.testing.reducer_cases import without_nulls as without_nulls
else:
    __getattr__, __dir__ = names_at_first_use(
        __name__,
        {
            "CASE_TIME": "agentnb.testing.reducer_cases",
            "Event": "agentnb.events.collector",
            "Events": "agentnb.events.collector",
            "assert_files_written": "agentnb.testing.assertions",
            "assert_permissions": "agentnb.testing.assertions",
            "assert_text": "agentnb.testing.assertions",
            "assert_tool_calls": "agentnb.testing.assertions",
            "case_states": "agentnb.testing.reducer_cases",
            "events": "agentnb.events.collector",
            "files_written": "agentnb.testing.assertions",
            "load_cases": "agentnb.testing.reducer_cases",
            "permissions_asked": "agentnb.testing.assertions",
            "run_reducer_case": "agentnb.testing.reducer_cases",
            "skip_reason": "agentnb.testing.reducer_cases",
            "without_nulls": "agentnb.testing.reducer_cases",
        },
    )

__all__ = [
    "CASE_TIME",
    "Event",
    "Events",
    "assert_files_written",
    "assert_permissions",
    "assert_text",
    "assert_tool_calls",
    "case_states",
    "events",
    "files_written",
    "load_cases",
    "permissions_asked",
    "run_reducer_case",
    "skip_reason",
    "without_nulls",
]
