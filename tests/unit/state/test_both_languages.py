"""The Python and TypeScript reducers agree on generated cases."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentnb.state import decode_action, to_json
from agentnb.testing import CASE_TIME, run_reducer_case, skip_reason
from tests.thorough import examples
from tests.unit.state.ahp_cases import ahp_cases
from tests.unit.state.test_laws import CHANNELS, actions_of
from tests.vitest import needs_node, run_vitest

EXAMPLES = examples(80)


def write_cases(folder: Path, channel: str) -> None:
    """Writes cases with random actions on a channel and the states of Python's reducers."""
    reducer, initial = CHANNELS[channel]

    @settings(max_examples=EXAMPLES, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(actions_of(channel), min_size=1, max_size=30))
    def write(drawn: list[Any]) -> None:
        sequence = [{"time": CASE_TIME, **to_json(action)} for action in drawn]
        expected = reduce(reducer, map(decode_action, sequence), initial)
        if expected != initial:  # an equal state after changes is not the same object
            case = {
                "description": "whatever",
                "reducer": channel.rsplit(" ", maxsplit=1)[-1],
                "initial": to_json(initial),
                "actions": sequence,
                "expected": to_json(expected),
            }
            name = f"{channel.replace(' ', '-')}-{len(list(folder.iterdir()))}.json"
            (folder / name).write_text(json.dumps(case), encoding="utf-8")

    write()


@needs_node
def test_typescript_and_python_reducers_reach_the_same_states(tmp_path: Path) -> None:
    for channel in CHANNELS:
        write_cases(tmp_path, channel)
    assert len(list(tmp_path.iterdir())) > EXAMPLES
    for name, case in ahp_cases().items():
        if skip_reason(case) is None:
            (tmp_path / f"ahp-{name}.json").write_text(json.dumps({**case, "expected": run_reducer_case(case)}))
    run_vitest("test/state/cases.test.ts", AGENTNB_CASES=str(tmp_path))
