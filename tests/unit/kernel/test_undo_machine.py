"""Generated orders of an agent's changes, undo, redo and the user's own edits, against a model of plain values.

Arrays have views; undo covers all names of a turn, or one.

A long run: ``python -m tests.unit.kernel.test_undo_machine 50000 1``.
"""

from __future__ import annotations

import random
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from agentnb.errors import ChangesError, KernelChangesConflict
from tests.thorough import some
from tests.unit.kernel.shell_tools import Tools
from tests.unit.kernel.undo_model import Heap, Ref, TurnModel

NAMES = "abcdef"
STEPS_OF_A_RUN = 40
LONGEST = 4
PARTS = ("[:]", "[:3]", "[:1]", "[-1:]")
"""Views of an array."""
ONE = 0.4
"""The probability that only one name is undone or redone."""
LEFT = 0.5
"""The probability that a conflict stays unresolved."""
_SETUP = """import numpy as np, pandas as pd
class Thing: pass
def thing(v):
    t = Thing()
    t.v = v
    return t"""

Change = tuple[str, Callable[[Heap], object], set[str]]
"""Code, what it does to the model, and the names that it reads."""


class Machine:
    def __init__(self, tools: Tools, seed: int) -> None:
        self.tools = tools
        self.random = random.Random(seed)
        self.is_of_arrays = seed % 2 == 1  # arrays and lists: more views, and views of views
        self.heap = Heap()
        self.turns: list[tuple[str, TurnModel]] = []
        self.log: list[str] = []
        tools.shell.run_cell(f"%reset -f\n{_SETUP}")

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.random.choice([self.agent, self.agent, self.user, self.undo_or_redo, self.undo_or_redo])()
            seen, wanted = shape_of(self.tools.shell.user_ns), self.heap.shape()
            assert seen == wanted, "\n".join([*self.log, f"is {seen}", f"not {wanted}"])

    def agent(self) -> None:
        """Runs one agent turn."""
        turn, turn_id = TurnModel(), f"turn-{len(self.turns)}"
        self.tools.changes.begin(turn_id)
        for number in range(self.random.choice([1, 1, 2])):
            if number and self.random.random() < 0.3:
                self.user()
                turn.has_edits_within = True
            code, apply, reads = self.change()
            before = self.heap.copy()
            self.log.append(f"{turn_id}: {code}")
            self.tools.call("run_code", code=code)
            apply(self.heap)
            turn.ran(before, self.heap, reads)
        turn.ended(self.heap)
        self.turns.append((turn_id, turn))
        self.tools.changes.end(turn_id)

    def user(self) -> None:
        code, apply, _ = self.change()
        self.log.append(f"user: {code}")
        self.tools.shell.run_cell(code)
        apply(self.heap)

    def undo_or_redo(self) -> None:
        """Undoes or redoes all names of a turn, or one."""
        if not self.turns:
            return
        turn_id, turn = self.turns[-1] if self.random.random() < 0.7 else self.random.choice(self.turns)
        known = self.known(turn_id, turn)
        if not known:
            return
        chosen = [self.random.choice(known)] if self.random.random() < ONE else known
        is_redo = self.random.choice([turn.is_undone(name) for name in chosen])
        names = [name for name in chosen if turn.is_undone(name) is is_redo]
        ids = [f"variable:{name}" for name in chosen]  # names already in the wanted state are left out
        work = self.tools.changes.redo if is_redo else self.tools.changes.undo
        self.log.append(f"{'redo' if is_redo else 'undo'} {turn_id} {' '.join(names)}")
        try:
            self.tools.during(work(turn_id, ids))
            assert not turn.loses(self.heap, names, is_redo=is_redo), [*self.log, "lost"]
        except ChangesError as error:
            if isinstance(error, KernelChangesConflict):
                assert not turn.is_untouched(self.heap, names), [*self.log, "no conflict was expected"]
                if not self.settle(work, turn_id, ids):
                    return
            else:
                self.is_refused(turn, error)
                return
        then = turn.turned(self.heap, names, is_redo=is_redo)
        turn.turn(self.heap, then, names, is_redo=is_redo)
        self.heap = then
        self.known(turn_id, turn)

    def known(self, turn_id: str, turn: TurnModel) -> list[str]:
        """Compares the changed names, and which are undone, with the model; returns the names."""
        seen = {name: each.undone for name, each in self.tools.variables_changed(turn_id).items()}
        wanted = {name: turn.is_undone(name) for name in turn.names}
        assert seen == wanted, "\n".join([*self.log, turn_id, f"is {seen}", f"not {wanted}"])
        return [*seen]

    def is_refused(self, turn: TurnModel, error: ChangesError) -> None:
        """Allowed only if the user deleted an object that redo needs, and nobody has it any more."""
        if not turn.was_done or "no longer held" not in error.message:
            raise AssertionError([*self.log, "refused"]) from error
        assert shape_of(self.tools.shell.user_ns) == self.heap.shape()

    def settle(self, work: Any, turn_id: str, ids: list[str]) -> bool:
        """After a conflict nothing has changed; overwrites the present state, or leaves it."""
        assert shape_of(self.tools.shell.user_ns) == self.heap.shape(), [*self.log, "a conflict changed something"]
        self.log.append("conflict")
        if self.random.random() < LEFT:
            return False
        self.log.append("overwritten")
        self.tools.during(work(turn_id, ids, choices=dict.fromkeys(ids, "theirs")))
        return True

    def change(self) -> Change:
        """Returns code that can run now, and its change of the model."""
        pick = self.random.choice
        name, number = pick(NAMES), self.random.randrange(100)
        kinds = {
            each: self.heap.objects[value.at][0] if isinstance(value, Ref) else "int"
            for each, value in self.heap.names.items()
        }
        choices = _new(name, number)
        if self.is_of_arrays:
            choices = [each for each in choices if "np." in each[0] or "[" in each[0][:6]]
        for each, kind in kinds.items():
            value = self.heap.names[each]
            choices.append((f"{name} = {each}", _binds(name, value), {each}))
            if isinstance(value, Ref):
                choices += _in_place(each, str(kind), value, number, self.heap)
                choices += _in_place(each, str(kind), value, number + 1, self.heap)
            if isinstance(value, Ref) and kind == "array":
                choices += [(f"{name} = {each}{part}", _binds_view(name, value, part), {each}) for part in PARTS]
            choices.append((f"del {each}", _unbinds(each), {each}))
            choices.append(
                (f"{name} = [{each}, {number}]", _binds_new(name, "list", self.heap.names[each], number), {each})
            )
        return pick(choices)


def _binds(name: str, value: object) -> Callable[[Heap], object]:
    return lambda heap: heap.names.__setitem__(name, value)


def _unbinds(name: str) -> Callable[[Heap], object]:
    return lambda heap: heap.names.pop(name)


def _becomes(value: Ref, content: tuple[object, ...]) -> Callable[[Heap], object]:
    return lambda heap: heap.objects.__setitem__(value.at, content)


def _binds_new(name: str, *content: object) -> Callable[[Heap], object]:
    return lambda heap: heap.names.__setitem__(name, heap.new(*content))


def _binds_array(name: str, number: int) -> Callable[[Heap], object]:
    return lambda heap: heap.names.__setitem__(name, heap.new("array", heap.new("memory", number, 0, 0, 0, 0), 0, 5))


def _binds_view(name: str, of: Ref, part: str) -> Callable[[Heap], object]:
    def bind(heap: Heap) -> None:
        _, memory, first, last = heap.objects[of.at]
        assert isinstance(first, int)
        assert isinstance(last, int)
        places = range(first, last)
        seen = {"[:]": places, "[:3]": places[:3], "[:1]": places[:1], "[-1:]": places[-1:]}[part]
        heap.names[name] = heap.new("array", memory, seen.start, seen.stop)

    return bind


def _new(name: str, number: int) -> list[Change]:
    return [
        (f"{name} = {number}", _binds(name, number), set()),
        (f"{name} = [{number}]", _binds_new(name, "list", number), set()),
        (f"{name} = {{'k': {number}}}", _binds_new(name, "dict", ("k", number)), set()),
        (f"{name} = np.array([{number}, 0, 0, 0, 0])", _binds_array(name, number), {"np"}),
        (f"{name} = pd.DataFrame({{'c': [{number}]}})", _binds_new(name, "frame", ("c", number)), {"pd"}),
        (f"{name} = thing({number})", _binds_new(name, "thing", number), {"thing"}),
    ]


def _in_place(name: str, kind: str, value: Ref, number: int, heap: Heap) -> list[Change]:
    content = heap.objects[value.at]
    key = f"n{number % 3}"
    made: list[tuple[str, tuple[object, ...]]]
    match kind:
        case "list":
            made = [(f"{name}.append({number})", (*content, number)), (f"{name}.clear()", content[:1])]
            made += [(f"{name}.append({name})", (*content, value))] if len(content) < LONGEST else []
        case "dict":
            made = [(f"{name}[{each!r}] = {number}", _with(content, each, number)) for each in ("k", key)]
        case "array":
            _, memory, first, _ = content
            assert isinstance(memory, Ref)
            assert isinstance(first, int)
            numbers = [*heap.objects[memory.at]]
            numbers[first + 1] = number
            value = memory
            made = [(f"{name}[0] = {number}", tuple(numbers)), (f"{name} += 0", heap.objects[memory.at])]
        case "frame":
            made = [(f"{name}.loc[0, 'c'] = {number}", _with(content, "c", number))]
            made += [(f"{name}['{key}'] = {number}", _with(content, key, number))]
        case _:
            made = [(f"{name}.v = {number}", ("thing", number)), (f"{name}.v = {name}", ("thing", value))]
    return [(code, _becomes(value, then), {name}) for code, then in made]


def _with(content: tuple[object, ...], key: str, number: int) -> tuple[object, ...]:
    pairs: dict[str, object] = dict(each for each in content[1:] if isinstance(each, tuple))
    return (content[0], *({**pairs, key: number}.items()))


def shape_of(variables: dict[str, Any]) -> object:
    """Returns ``shape`` of the real objects."""
    numbers: dict[object, int] = {}

    def memory_of(value: Any) -> object:
        owner = _owner(value)
        if ("memory", id(owner)) in numbers:
            return ("same", numbers["memory", id(owner)])
        numbers["memory", id(owner)] = len(numbers)
        return ("memory", *owner.tolist())

    def of(value: Any) -> object:
        if isinstance(value, int):
            return value
        if id(value) in numbers:
            return ("same", numbers[id(value)])
        numbers[id(value)] = len(numbers)
        kind = type(value).__name__
        if kind == "list":
            return ("list", *map(of, value))
        if kind == "dict":
            return ("dict", *((key, of(each)) for key, each in value.items()))
        if kind == "ndarray":
            return ("array", memory_of(value), *places_of(value))
        if kind == "DataFrame":
            return ("frame", *((name, int(value[name].iloc[0])) for name in value.columns))
        return ("thing", of(value.v))

    return {name: of(variables[name]) for name in NAMES if name in variables}


def _owner(value: Any) -> Any:
    while value.base is not None:
        value = value.base
    return value


def places_of(value: Any) -> tuple[int, int]:
    """Returns a view's place in its memory."""
    first = (value.ctypes.data - _owner(value).ctypes.data) // value.itemsize
    return first, first + len(value)


@pytest.mark.parametrize("seed", [*some(range(6)), 7100268, 7100323])
def test_any_order_of_changes_and_undos_matches_the_model(tools: Tools, seed: int) -> None:
    Machine(tools, seed).run(STEPS_OF_A_RUN)


def main(steps: int, seed: int) -> None:
    """Runs *steps* steps from *seed* on."""
    failed = deque[str](maxlen=5)
    count = 0
    for number in range(steps // STEPS_OF_A_RUN):
        tools = Tools()
        try:
            Machine(tools, seed + number).run(STEPS_OF_A_RUN)
        except Exception as error:  # noqa: BLE001 - the next one may fail otherwise
            count += 1
            failed.append(f"seed {seed + number}: {type(error).__name__}: {error}")
        finally:
            tools.loop.stop()
    sys.stdout.write("\n\n".join([*failed, f"{steps} steps, {count} wrong\n"]))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
