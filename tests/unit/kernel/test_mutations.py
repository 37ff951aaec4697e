"""Changes in place by an agent: undone in the objects themselves, or announced before approval."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.kernel.mutations import MUTATIONS
from tests.unit.kernel.shell_tools import Tools
from tests.unit.kernel.values import value_of

_REASON = "{} is not installed here (pip install polars scikit-learn torch)"


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_is_undone_and_redone_or_announced(tools: Tools, name: str) -> None:
    mutation = MUTATIONS[name]
    if mutation.needs:
        pytest.importorskip(mutation.needs, reason=_REASON.format(mutation.needs))
    shell = tools.shell
    assert shell.run_cell(f"import warnings\nwarnings.simplefilter('ignore')\n{mutation.before}").success
    names = ("x", *mutation.names)
    before, objects = (
        {each: value_of(shell.user_ns[each]) for each in names},
        {each: shell.user_ns[each] for each in names},
    )
    announced = tools.unrestorable(mutation.code)
    changes = tools.turn(mutation.code)
    if announced:
        assert mutation.needs == ""
        return
    after = {each: value_of(shell.user_ns[each]) for each in names}
    assert after != before
    assert [(each.name, each.reason) for each in changes.values() if each.reason] == []
    tools.undo(*changes)
    assert _differing(before, shell.user_ns) == []
    if name != "numpy: resize":  # NumPy moves the memory, so another array replaces it
        assert [each for each in names if shell.user_ns[each] is not objects[each]] == []
    aliases = [each for each in names if objects[each] is objects["x"]]
    assert [each for each in aliases if shell.user_ns[each] is not shell.user_ns["x"]] == []
    tools.redo(*changes)
    assert _differing(after, shell.user_ns) == []
    tools.undo(*changes)
    assert _differing(before, shell.user_ns) == []


def _differing(values: dict[str, Any], variables: dict[str, Any]) -> list[object]:
    now = {name: value_of(variables[name]) for name in values}
    return [(name, now[name], each) for name, each in values.items() if now[name] != each]


def test_only_generators_and_open_files_are_announced(tools: Tools) -> None:
    """The others are announced: undo never claims more than it does."""
    announced = []
    for name, mutation in MUTATIONS.items():
        if not mutation.needs:
            tools.shell.run_cell(mutation.before)
            if tools.unrestorable(mutation.code):
                announced.append(name)
    assert announced == ["python: generator", "python: open file"]
