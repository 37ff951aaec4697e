"""Variables that an agent's code changes: their records, and undo, redo and keep."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from agentnb.errors import ChangesError, KernelBusy, KernelChangesConflict
from agentnb.kernel.changes import KernelChanges
from agentnb.kernel.job_queue import scheduler_of
from agentnb.kernel.variables.changes import NameChange, variable_id
from tests.unit.kernel.shell_tools import OWNER, Tools

MADE = "import numpy as np, pandas as pd\ndf = pd.DataFrame({'dose': [1, 2, 3]})\n"


def turn(tools: Tools, *codes: str, turn_id: str = "turn-1") -> dict[str, NameChange]:
    """Returns the changes of a turn that runs *codes*, by name."""
    tools.changes.begin(turn_id)
    for code in codes:
        tools.text("run_code", code=code)
    return {each.name: each for each in tools.changes.end(turn_id) if isinstance(each, NameChange)}


def undo(tools: Tools, *names: str, turn_id: str = "turn-1", **choices: Any) -> tuple[str, ...]:
    by_id = {variable_id(name): choice for name, choice in choices.items()}
    return tools.during(tools.changes.undo(turn_id, [*map(variable_id, names)], choices=by_id))


def redo(tools: Tools, *names: str, turn_id: str = "turn-1") -> tuple[str, ...]:
    return tools.during(tools.changes.redo(turn_id, [*map(variable_id, names)]))


def test_turn_records_added_changed_and_deleted_variables(tools: Tools) -> None:
    """With their old and new objects; imports and private names are no variables."""
    tools.shell.run_cell("n = 1\ngone = 'x'\nsame = 5\nimport os")
    changes = turn(tools, "import json\nn = 2\nnew = [1]\ndel gone\nsame = 5\n_hidden = 1\ndef area(r): return r")
    assert {name: (each.status, each.detail) for name, each in changes.items()} == {
        "area": ("added", "function"),
        "gone": ("deleted", "str, 1 character"),
        "n": ("changed", "1 → 2"),
        "new": ("added", "list, 1 item"),
    }
    assert all(each.refusal is None and each.id == f"variable:{name}" for name, each in changes.items())


def test_frame_change_shows_shape_columns_and_types(tools: Tools) -> None:
    tools.shell.run_cell(f"{MADE}a = np.zeros(3)")
    changes = turn(
        tools,
        "df = df.assign(total=df.dose * 2.0, dose=df.dose.astype(float))",
        "a = np.ones((2, 2), dtype='int8')\ndf = df.rename(columns={'total': 'sum'})",
    )
    assert changes["a"].detail == "ndarray (3,) float64 → ndarray (2, 2) int8"
    assert changes["df"].detail == (
        "DataFrame (3, 1) → DataFrame (3, 2); column added: 'sum'; column of another type: 'dose' int64 → float64"
    )


QUIET = {
    "generator": "x = iter([1, 2])",
    "broken": "class Odd:\n    def __getattribute__(self, name): raise RuntimeError\nx = Odd()",
    "slots": "class Point:\n    __slots__ = ('a',)\nx = Point()\nx.a = 1",
    "recursive": "x = []\nx.append(x)",
    "not a number": "x = [float('nan')]",
    "texts of objects": "class Loud:\n    def __repr__(self): raise SystemExit\n    __hash__ = None\nx = [Loud()]",
    "equality of objects": (
        "class Never:\n    __hash__ = object.__hash__\n    def __eq__(self, other): raise RuntimeError\nx = {Never()}"
    ),
    "empty frame": "import pandas as pd\nx = pd.DataFrame()",
    "wide frame": "import pandas as pd, numpy as np\nx = pd.DataFrame(np.zeros((3, 500)))",
    "long list": "x = list(range(300_000))",
    "large dict": "x = dict.fromkeys(range(100_000))",
}


@pytest.mark.parametrize("case", QUIET)
def test_unchanged_object_is_not_recorded(tools: Tools, case: str) -> None:
    tools.shell.run_cell(QUIET[case])
    assert turn(tools, "pass") == {}


def test_undo_restores_the_same_objects(tools: Tools) -> None:
    """The very same objects; added names go; redo repeats the change."""
    tools.shell.run_cell("xs = [1]\ngone = [2]")
    old, gone = tools.shell.user_ns["xs"], tools.shell.user_ns["gone"]
    turn(tools, "xs = [9]\ndel gone\nnew = 3")
    new = tools.shell.user_ns["xs"]
    assert undo(tools, "xs", "gone", "new") == ("variable:xs", "variable:gone", "variable:new")
    assert tools.shell.user_ns["xs"] is old
    assert tools.shell.user_ns["gone"] is gone
    assert "new" not in tools.shell.user_ns
    assert all(each.undone and each.refusal is None for each in tools.changes.end("turn-1"))
    redo(tools, "xs", "gone", "new")
    assert tools.shell.user_ns["xs"] is new
    assert "gone" not in tools.shell.user_ns
    assert tools.shell.user_ns["new"] == 3
    assert not any(each.undone for each in tools.changes.end("turn-1"))


def test_several_runs_of_a_turn_make_one_change(tools: Tools) -> None:
    """From the state before the turn to the state after it; an equal state is no change."""
    tools.shell.run_cell("n = 1\nback = keep = [1]")
    changes = turn(tools, "n = 2\nback = 0\ntemporary = 1", "n = 3\nback = keep\ndel temporary")
    assert {name: each.detail for name, each in changes.items()} == {"n": "1 → 3"}
    undo(tools, "n")
    assert tools.shell.user_ns["n"] == 1


def test_later_turn_must_be_undone_first(tools: Tools) -> None:
    """The later one first; undo of the earlier one alone is a conflict."""
    tools.shell.run_cell("xs = [0]")
    turn(tools, "xs = [1]")
    turn(tools, "xs = [2]", turn_id="turn-2")
    with pytest.raises(KernelChangesConflict, match="'xs' is other than the turn left it"):
        undo(tools, "xs")
    undo(tools, "xs", turn_id="turn-2")
    undo(tools, "xs")
    assert tools.shell.user_ns["xs"] == [0]


@pytest.mark.parametrize("cell", ["xs = [5]", "del xs", "xs.append(4)"])
def test_undo_conflicts_when_the_user_changed_the_variable(tools: Tools, cell: str) -> None:
    """Undo then changes nothing; a choice decides, and redo restores the user's object."""
    tools.shell.run_cell("xs = [1]\nn = 1")
    turn(tools, "xs = [2]\nn = 2")
    tools.shell.run_cell(cell)
    now = tools.shell.user_ns.get("xs")
    with pytest.raises(KernelChangesConflict) as raised:
        undo(tools, "n", "xs")
    (conflict,) = raised.value.conflicts
    assert (conflict.id, conflict.base, conflict.target) == ("variable:xs", "list, 1 item", "list, 1 item")
    assert tools.shell.user_ns.get("xs") is now
    assert tools.shell.user_ns["n"] == 2
    assert undo(tools, "n", "xs", xs="mine") == ("variable:n",)
    assert tools.shell.user_ns.get("xs") is now
    assert undo(tools, "xs", xs="theirs") == ("variable:xs",)
    assert tools.shell.user_ns["xs"] == [1]
    redo(tools, "xs")
    assert tools.shell.user_ns.get("xs") is now


def test_turn_does_not_record_changes_of_the_users_cells(tools: Tools) -> None:
    tools.shell.run_cell("a = 1\nxs = []")
    tools.changes.begin("turn-1")
    tools.text("run_code", code="a = 2")
    tools.shell.run_cell("a = 10\nb = 1\nxs.append(1)")
    changes = turn(tools, "a = 3")
    assert {name: each.detail for name, each in changes.items()} == {"a": "10 → 3"}
    undo(tools, "a")
    assert tools.shell.user_ns["a"] == 10


def test_turn_does_not_record_a_cell_run_while_code_awaits(tools: Tools) -> None:
    shell = tools.shell
    shell.run_cell("xs, ys, n = [], [], 0")

    async def both() -> None:
        code = "import asyncio\nys.append(1)\nn = 1\nwaits.set()\nawait goes_on.wait()\nmine = 1"
        shell.user_ns.update(waits=asyncio.Event(), goes_on=asyncio.Event())
        cell = asyncio.ensure_future(cells())
        tools.loop.submit(tools.tool_runner.call("run_code", {"code": code})).add_done_callback(
            lambda _: loop.call_soon_threadsafe(done.set)
        )
        await done.wait()
        await cell

    async def cells() -> None:
        await shell.user_ns["waits"].wait()
        shell.run_cell("xs.append(1)\ntheirs = 1\nn = 5")
        shell.user_ns["goes_on"].set()

    tools.changes.begin("turn-1")
    loop, done = asyncio.new_event_loop(), asyncio.Event()
    tools.job_queue.schedule = scheduler_of(loop)
    loop.run_until_complete(both())
    loop.close()
    statuses = {each.name: each.status for each in tools.changes.end("turn-1")}
    assert statuses == {"mine": "added", "n": "changed", "ys": "changed"}


def test_turn_records_failed_and_interrupted_code(tools: Tools) -> None:
    tools.shell.run_cell("n = 1")
    tools.changes.begin("turn-1")
    tools.text("run_code", code="n = 2\n1 / 0")
    tools.text("run_code", code="m = 3\nwhile True: pass", timeout=0.1)
    assert [each.name for each in tools.changes.end("turn-1")] == ["m", "n"]


def test_old_objects_are_freed_after_keep_or_close(tools: Tools) -> None:
    """They are freed only after the change is kept, and before the next cell ends."""
    made = "class Thing: pass\nx = Thing()"
    for end in (lambda: tools.changes.keep("turn-1"), tools.changes.close):
        tools.shell.run_cell(made)
        followed = weakref.ref(tools.shell.user_ns["x"])
        turn(tools, "x = 1")
        gc.collect()
        assert followed() is not None
        end()
        tools.shell.run_cell("pass")
        gc.collect()
        assert followed() is None


def test_kept_change_cannot_be_undone(tools: Tools) -> None:
    tools.shell.run_cell("a = [1]\nb = [1]")
    turn(tools, "a = 2\nb = 2")
    tools.changes.keep("turn-1", ["variable:a"])
    assert [(each.name, each.refusal is None) for each in tools.changes.end("turn-1")] == [("a", False), ("b", True)]
    with pytest.raises(ChangesError, match="It was kept"):
        undo(tools, "a")
    undo(tools, "b")
    assert tools.shell.user_ns["b"] == [1]


def test_old_objects_have_a_memory_limit(tools: Tools) -> None:
    """A too large one or the oldest is dropped; the change says why undo is impossible."""
    tools.changes = KernelChanges(OWNER, lambda: tools.runner, tools.job_queue, limit=lambda: 3_000_000)
    tools.use(tools.runner)
    tools.shell.run_cell("a = b'1' * 2_000_000\nb = b'2' * 2_000_000\nc = b'3' * 4_000_000")
    changes = turn(tools, "a = 1", "b = 1", "c = 1", "d = 1")
    assert {name: each.refusal is None for name, each in changes.items()} == {
        "a": False,
        "b": True,
        "c": False,
        "d": True,
    }
    assert changes["c"].reason == "The old object is no longer held: it holds about 4 MB, and room is limited."


VIEWS = "import numpy as np\na = np.zeros(1_000_000)\nv, w = a[:2], a[1:3]"
WRITES = {
    "a view, then another": ("v[1] = 1", "w[0] = 2"),
    "a view, and the array itself": ("v[1] = 1", "a[0] = 3"),
    "the array, then a view": ("a[:] = 3", "v[1] = 1"),
    "one view, again after another": ("v[1] = 1", "w[0] = 2", "v[:] = 3"),
}


@pytest.mark.parametrize("case", WRITES)
def test_array_views_agree_after_undo_and_redo_of_any_view(tools: Tools, case: str) -> None:
    tools.shell.run_cell(VIEWS)
    a = tools.shell.user_ns["a"]
    changes = turn(tools, *WRITES[case])
    after = a.copy()
    for name in changes:  # all names share the same memory
        undo(tools, name)
        assert not a.any()
        redo(tools, *changes)
        assert (a == after).all()


def test_undo_of_views_too_large_to_keep_is_a_conflict(tools: Tools) -> None:
    """Each view is stored alone: a later change by another one is a conflict, and the order is kept."""
    tools.changes = KernelChanges(OWNER, lambda: tools.runner, tools.job_queue, limit=lambda: 1_000_000)
    tools.use(tools.runner)
    tools.shell.run_cell(VIEWS)
    a = tools.shell.user_ns["a"]
    changes = turn(tools, *WRITES["a view, then another"])
    with pytest.raises(KernelChangesConflict):
        undo(tools, *changes)
    assert a[:3].tolist() == [0, 2, 0]
    undo(tools, *changes, **dict.fromkeys(changes, "theirs"))
    assert not a.any()
    redo(tools, *changes)
    assert a[:3].tolist() == [0, 2, 0]


def test_undo_reports_a_busy_kernel(tools: Tools) -> None:
    tools.changes.patience = 0
    turn(tools, "n = 1")
    tools.job_queue.schedule = lambda _: None
    work = tools.loop.submit(tools.changes.undo("turn-1", ["variable:n"]))
    with pytest.raises(KernelBusy, match="busy"):
        work.result(30)
    tools.job_queue.run_pending()
    assert tools.shell.user_ns["n"] == 1


def test_unknown_turn_cannot_be_undone(tools: Tools) -> None:
    with pytest.raises(ChangesError, match="until the kernel is restarted"):
        undo(tools, "n", turn_id="turn-0")


def test_variable_records_hide_secrets(tools: Tools) -> None:
    changes = turn(tools, "password = 1234\ntext = 'hush'")
    assert (changes["password"].detail, changes["text"].detail) == ("int", "str, 4 characters")


def test_run_code_result_names_changed_variables(tools: Tools) -> None:
    tools.shell.run_cell("a = 1\nxs = []\ngone = 1")
    result = tools.call("run_code", code="a = 2\nnew = 1\nxs.append(1)\ndel gone")
    assert result["_meta"] == {
        "agentnb/changed": ["a changed", "gone deleted", "new added", "xs changed in place"],
    }
