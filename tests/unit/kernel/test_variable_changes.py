"""Variables that an agent's code changes: their records, and undo, redo and keep."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from agentnb.errors import ChangesError, KernelBusy, KernelChangesConflict
from tests.unit.kernel.shell_tools import TURN, Tools


def test_turn_records_added_changed_and_deleted_variables(tools: Tools) -> None:
    """With their old and new objects; imports and private names are no variables, and secrets have no value."""
    tools.shell.run_cell("n = 1\ngone = 'x'\nsame = 5\nimport os")
    changes = tools.turn(
        "import json\nn = 2\nnew = [1]\ndel gone\nsame = 5\n_hidden = 1\ndef area(r): return r\npassword = 1234"
    )
    assert {name: (each.status, each.detail) for name, each in changes.items()} == {
        "area": ("added", "function"),
        "gone": ("deleted", "str, 1 character"),
        "n": ("changed", "1 → 2"),
        "new": ("added", "list, 1 item"),
        "password": ("added", "int"),
    }
    assert all(each.refusal is None and each.id == f"variable:{name}" for name, each in changes.items())


def test_frame_change_shows_shape_columns_and_types(tools: Tools) -> None:
    tools.shell.run_cell("import numpy as np, pandas as pd\ndf = pd.DataFrame({'dose': [1, 2, 3]})\na = np.zeros(3)")
    changes = tools.turn(
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
    assert tools.turn("pass") == {}


def test_undo_and_redo_bind_the_same_objects(tools: Tools) -> None:
    """A kept change cannot be undone."""
    tools.shell.run_cell("xs = [1]\ngone = [2]")
    names = tools.shell.user_ns
    old, gone = names["xs"], names["gone"]
    tools.turn("xs = [9]\ndel gone\nnew = 3")
    new = names["xs"]
    assert tools.undo("xs", "gone", "new") == ("variable:xs", "variable:gone", "variable:new")
    assert (names["xs"] is old, names["gone"] is gone, "new" in names) == (True, True, False)
    assert all(each.undone and each.refusal is None for each in tools.variables_changed().values())
    tools.redo("xs", "gone", "new")
    assert (names["xs"] is new, "gone" in names, names["new"]) == (True, False, 3)
    assert not any(each.undone for each in tools.variables_changed().values())
    tools.changes.keep(TURN, ["variable:xs"])
    with pytest.raises(ChangesError, match="It was kept"):
        tools.undo("xs")
    tools.undo("gone")
    assert names["gone"] is gone


@pytest.mark.parametrize("cell", ["xs = [5]", "del xs", "xs.append(4)"])
def test_undo_conflicts_when_the_user_changed_the_variable(tools: Tools, cell: str) -> None:
    """Undo then changes nothing; a choice decides, and redo restores the user's object."""
    tools.shell.run_cell("xs = [1]\nn = 1")
    tools.turn("xs = [2]\nn = 2")
    tools.shell.run_cell(cell)
    now = tools.shell.user_ns.get("xs")
    with pytest.raises(KernelChangesConflict, match="'xs' is other than the turn left it") as raised:
        tools.undo("n", "xs")
    (conflict,) = raised.value.conflicts
    assert (conflict.id, conflict.base, conflict.target) == ("variable:xs", "list, 1 item", "list, 1 item")
    assert tools.shell.user_ns.get("xs") is now
    assert tools.shell.user_ns["n"] == 2
    assert tools.undo("n", "xs", xs="mine") == ("variable:n",)
    assert tools.shell.user_ns.get("xs") is now
    assert tools.undo("xs", xs="theirs") == ("variable:xs",)
    assert tools.shell.user_ns["xs"] == [1]
    tools.redo("xs")
    assert tools.shell.user_ns.get("xs") is now


def test_turn_does_not_record_a_cell_run_while_code_awaits(tools: Tools) -> None:
    shell = tools.shell
    shell.run_cell("xs, ys, n = [], [], 0")

    async def both() -> None:
        code = "import asyncio\nys.append(1)\nn = 1\nwaits.set()\nawait goes_on.wait()\nmine = 1"
        shell.user_ns.update(waits=asyncio.Event(), goes_on=asyncio.Event())
        cell = asyncio.ensure_future(cells())
        await asyncio.wrap_future(tools.loop.submit(tools.tool_runner.call("run_code", {"code": code})))
        await cell

    async def cells() -> None:
        await shell.user_ns["waits"].wait()
        shell.run_cell("xs.append(1)\ntheirs = 1\nn = 5")
        shell.user_ns["goes_on"].set()

    tools.changes.begin(TURN)
    loop = asyncio.new_event_loop()
    tools.run_jobs_on(loop)
    loop.run_until_complete(both())
    loop.close()
    statuses = {name: each.status for name, each in tools.variables_changed().items()}
    assert statuses == {"mine": "added", "n": "changed", "ys": "changed"}


def test_turn_records_failed_and_interrupted_code(tools: Tools) -> None:
    tools.shell.run_cell("n = 1")
    tools.turn("n = 2\n1 / 0")
    tools.text("run_code", code="m = 3\nwhile True: pass", timeout=0.1)
    assert [*tools.variables_changed()] == ["m", "n"]


def test_old_objects_are_freed_after_keep_or_close(tools: Tools) -> None:
    """They are freed only after the change is kept, and before the next cell ends."""
    for end in (lambda: tools.changes.keep(TURN), tools.changes.close):
        tools.shell.run_cell("class Thing: pass\nx = Thing()")
        followed = weakref.ref(tools.shell.user_ns["x"])
        tools.turn("x = 1")
        gc.collect()
        assert followed() is not None
        end()
        tools.shell.run_cell("pass")
        gc.collect()
        assert followed() is None


def test_old_objects_have_a_memory_limit(tools: Tools) -> None:
    """A too large one or the oldest is dropped; the change says why undo is impossible."""
    tools.limit_undo(3_000_000)
    tools.shell.run_cell("a = b'1' * 2_000_000\nb = b'2' * 2_000_000\nc = b'3' * 4_000_000")
    changes = tools.turn("a = 1", "b = 1", "c = 1", "d = 1")
    can_undo = {name: each.refusal is None for name, each in changes.items()}
    assert can_undo == {"a": False, "b": True, "c": False, "d": True}
    assert changes["c"].reason == "The old object is no longer held: it holds about 4 MB, and room is limited."


def test_undo_of_views_too_large_to_keep_is_a_conflict(tools: Tools) -> None:
    """Each view is stored alone: a later change by another one is a conflict, and the order is kept."""
    tools.limit_undo(1_000_000)
    tools.shell.run_cell("import numpy as np\na = np.zeros(1_000_000)\nv, w = a[:2], a[1:3]")
    a = tools.shell.user_ns["a"]
    changes = tools.turn("v[1] = 1", "w[0] = 2")
    with pytest.raises(KernelChangesConflict):
        tools.undo(*changes)
    assert a[:3].tolist() == [0, 2, 0]
    tools.undo(*changes, **dict.fromkeys(changes, "theirs"))
    assert not a.any()
    tools.redo(*changes)
    assert a[:3].tolist() == [0, 2, 0]


def test_undo_reports_a_busy_kernel_or_an_unknown_turn(tools: Tools) -> None:
    with pytest.raises(ChangesError, match="until the kernel is restarted"):
        tools.undo("n", turn_id="turn-0")
    tools.changes.patience = 0
    tools.turn("n = 1")
    tools.job_queue.schedule = lambda _: None
    work = tools.loop.submit(tools.changes.undo(TURN, ["variable:n"]))
    with pytest.raises(KernelBusy, match="busy"):
        work.result(30)
    tools.job_queue.run_pending()
    assert tools.shell.user_ns["n"] == 1


def test_run_code_result_names_changed_variables(tools: Tools) -> None:
    tools.shell.run_cell("a = 1\nxs = []\ngone = 1")
    result = tools.call("run_code", code="a = 2\nnew = 1\nxs.append(1)\ndel gone")
    assert result["_meta"] == {
        "agentnb/changed": ["a changed", "gone deleted", "new added", "xs changed in place"],
    }
