"""Turns that write files, undone, redone and kept in any order: the files match a model of paths.

The inside: generated schedules, too many for agents that write.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from agentnb.agent.catalog import custom
from agentnb.changes.model import FOLDER as FOLDER_VERSION
from agentnb.changes.model import Choice, PathChange, folders_above
from agentnb.errors import ChangesError, FilesConflict
from agentnb.host import Host
from agentnb.host.conversation import Conversation
from agentnb.state import Message, MessageOrigin
from tests.thorough import examples
from tests.unit.api.conftest import PATIENCE
from tests.unit.changes.test_undo_machine import FOLDER, MEMORY, Leaf, Tree, leafs, move, put, text, with_folders

STEPS = int(os.environ.get("AGENTNB_UNDOS", examples(320)))
SEED = int(os.environ.get("AGENTNB_UNDO_SEED", "0"))
ROUND = 40
"""Steps in one workspace."""
ODD = (os.fsdecode(b"d/\xff\n"), "-rf", "d/naïve \u4e2d.txt", " x\t", "e/:(top)a")
PARTS = 1 if STEPS < 10_000 else 20
PATHS = ("a", "b", "d", "d/x", "d/e", "d/e/y", "d/e/z", "e", "e/x", *ODD)
CONTENTS = [text(*slots) for slots in ((0, 0, 0), (1, 0, 0), (0, 2, 0), (1, 2, 1), (2, 2, 2))]
LEAVES = [
    *(Leaf(mode, content) for content in (*CONTENTS, b"\0bin", b"\0\xff\n", b"") for mode in ("file", "executable")),
    *[Leaf("link", b"a"), Leaf("link", b"/nowhere"), Leaf("link", b"d"), FOLDER, FOLDER, None] * 3,
    *[None] * 5,
]
BARE = (None, FOLDER)


class Change(NamedTuple):
    """One item of a turn: its change of each path."""

    turn: str
    id: str
    paths: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        """Returns the change as outcomes name it."""
        return self.turn, self.id


class Link(NamedTuple):
    """One turn's change of a path; for a folder, by all changes in it."""

    keys: frozenset[tuple[str, str]]
    before: Leaf | None
    after: Leaf | None


class Machine:
    """A workspace, a conversation in it, and a model of both.

    From :attr:`known` on the chain explains the content; before that somebody else wrote the path, or texts were
    merged, and the model adopts the content.
    """

    def __init__(self, host: Host, folder: Path, seed: int) -> None:
        self.host, self.seed, self.workspace = host, seed, str(folder)
        self.chance = random.Random(seed)
        spec = custom(["nothing"], name="nothing")
        self.conversation: Conversation = host.loop.call(lambda: host.open(spec, cwd=folder))
        self.states: dict[tuple[str, str], str] = {}
        self.changes: list[Change] = []
        self.chains: dict[str, list[Link]] = {}
        self.known: dict[str, int] = {}
        self.steps: list[str] = []
        self._edit()
        self.tree = self._look()

    # --- steps ---

    def agent_writes(self) -> None:
        turn = f"turn-{len(self.steps)}"
        before = self.tree
        turns, changes = self.conversation.turns, self.conversation.changes
        self._await(turns.begin_unprompted(turn, Message(text="x", origin=MessageOrigin(kind="user"))))
        self._edit()
        self.tree = self._look()
        self.host.loop.call(lambda: turns.complete(turn))
        self._await(changes.compared(turn))
        record = changes.record.turn(turn)
        items = () if record is None else record.items
        assert not [each.name for each in items if not each.undoable]
        paths = {path for path in before.keys() | self.tree.keys() if before.get(path) != self.tree.get(path)}
        files = [each.file for each in items if each.file is not None]
        made = [Change(turn, item.id, file.paths) for item, file in zip(items, files, strict=True)]
        self.changes += made
        self.states |= {change.key: "open" for change in made}
        keys = {path: {change.key} for change in made for path in change.paths}
        assert keys.keys() <= paths, (keys, paths, record)
        for path in paths:
            sides = before.get(path), self.tree.get(path)
            if path not in keys:  # a folder that appeared or disappeared with its contents
                assert {*sides} == {*BARE}, (path, sides, keys, self.steps)
                keys[path] = {
                    change.key for change in made if any(path in folders_above(each) for each in change.paths)
                }
                assert keys[path]
            chain = self.chains.setdefault(path, [])
            if any(self._is_undone(link, self.states) for link in chain):
                self.known[path] = len(chain)
            chain.append(Link(frozenset(keys[path]), *sides))
        self._adopt(self._left_empty())

    def user_writes(self) -> None:
        """Changes made here belong to no turn."""
        before = self.tree
        self._edit()
        self.tree = self._look()
        self._adopt(path for path in {*before, *self.tree} if before.get(path) != self.tree.get(path))
        self._adopt(self._left_empty())

    def undo(self) -> None:
        """Undoes some changes, a turn, from a turn on, or all."""
        self._do("undo", *self._choice({"open"}))

    def redo(self) -> None:
        self._do("redo", *self._choice({"undone"}))

    def keep(self) -> None:
        self._do("keep", *self._choice({"open"}))

    def undo_and_redo(self) -> None:
        """All is as before, also merged texts, whether redone at once or one by one."""
        before, chosen = self.tree, self._choice({"open"})
        known = dict(self.known)
        done = chosen[0]
        is_alone = "undone" not in self.states.values()
        if not self._do("undo", *chosen) or not (is_alone or len({each.turn for each in done}) == 1):
            return
        if self.chance.random() < 0.5 and len({each.turn for each in done}) == 1:
            apart = {path for each in done for path in each.paths}
            if not any(one != other and f"{one}/".startswith(f"{other}/") for one in apart for other in apart):
                for each in self.chance.sample(done, len(done)):
                    assert self._do("redo", [each], each.turn, (each.id,), False)
        if any(self.states[each.key] == "undone" for each in done):
            assert self._do("redo", *self._again(done)), self._story(before)
        assert self.tree == before, self._story(before)
        self.known = known

    # --- inside ---

    def _again(self, done: list[Change]) -> tuple[list[Change], str | None, tuple[str, ...], bool]:
        """The changes of *done* that are still undone, named so that nothing else is redone."""
        left = [each for each in done if self.states[each.key] == "undone"]
        if len({each.turn for each in left}) == 1:
            return left, left[0].turn, tuple(each.id for each in left), False
        return left, None, (), False

    def _choice(self, wanted: set[str]) -> tuple[list[Change], str | None, tuple[str, ...], bool]:
        """Chooses changes, and how to name them."""
        there = [each for each in self.changes if self.states[each.key] in wanted]
        if not there or self.chance.random() < 0.1:
            return there, None, (), False
        turn = self.chance.choice(there).turn
        of_turn = [each for each in there if each.turn == turn]
        how = self.chance.random()
        if how < 0.4:
            some = self.chance.sample(of_turn, self.chance.randint(1, len(of_turn)))
            return [each for each in of_turn if each in some], turn, tuple(each.id for each in some), False
        if how < 0.8:
            return of_turn, turn, (), False
        first = there.index(of_turn[0])
        return there[first:], turn, (), True

    def _do(  # noqa: C901 - an operation, its refusal, and its outcome
        self, operation: Any, chosen: list[Change], turn: str | None, ids: tuple[str, ...], onwards: bool
    ) -> bool:
        """Runs and compares it; True if it was done."""
        if not chosen:
            return False
        state = {"undo": "undone", "redo": "open", "keep": "kept"}[operation]
        after = {**self.states, **{each.key: state for each in chosen}}
        touched = {path for each in chosen for path in each.paths} if operation != "keep" else set()
        unsure = {path for path in touched if not self._explains(path, after, chosen)}
        wanted = {path: self._expected(path, after) for path in touched - unsure}
        tree = {path: leaf for path, leaf in self.tree.items() if path not in touched}
        tree |= {path: leaf for path, leaf in wanted.items() if leaf is not None}
        above = {folder for path in touched for folder in folders_above(path)} - touched
        unsure_above = {path for path in above if not self._explains(path, after, chosen)}
        self.steps.append(f"{operation} {[(each.key, each.paths) for each in chosen]} {turn} {ids} {onwards}")
        do = self.conversation.undo.do
        choices: dict[str, Choice] | None = None
        try:
            outcome = self._await(do(operation, turn, ids, onwards=onwards))
        except ChangesError as error:
            assert self._look() == self.tree, self._story(self.tree)
            assert unsure or _is_blocked(tree), self._story(tree) + f"\n{error}"  # noqa: PT017 - which errors are right is what is tested
            if not isinstance(error, FilesConflict):
                return False
            side: Choice = "mine" if self.chance.random() < 0.5 else "theirs"
            choices = dict.fromkeys((each.path for each in error.conflicts), side)
            try:
                outcome = self._await(do(operation, turn, ids, onwards=onwards, choices=choices))
            except ChangesError:
                assert self._look() == self.tree
                return False
        now = self._look()
        done = {*outcome.done}
        assert choices or done == {each.key for each in chosen}
        for each in chosen:
            if each.key in done:
                self.states[each.key] = state
        if choices:
            self.tree = now
            self._adopt(touched | above)
            return False
        for path in {*wanted, *self.tree, *now, *above} - unsure:
            is_full = _is_full(path, now)
            leaf = wanted.get(path) if path in wanted else self.tree.get(path)
            if path in above and not is_full:
                leaf = self._expected_folder(path, operation, after)
                if leaf is ...:
                    self._adopt([path])
                    leaf = now.get(path)
            actual = now.get(path)
            assert actual == (FOLDER if leaf in BARE and is_full else leaf), (
                self._story(tree) + f"\n{path!r}: {actual} is not {leaf}"
            )
        self.tree = now
        self._adopt(unsure | unsure_above)
        return True

    def _expected_folder(self, path: str, operation: str, after: dict[tuple[str, str], str]) -> Any:
        """Returns the empty folder *path* expected above undone or redone files; ``...`` where both are right."""
        if not self.chains.get(path):
            return ... if operation == "redo" else self.tree.get(path)
        if self.known.get(path) or not self._explains(path, after, []):
            return ...
        leaf = self._expected(path, after)
        return ... if leaf is not None and (operation == "redo" or path not in self.tree) else leaf

    def _explains(self, path: str, after: dict[tuple[str, str], str], chosen: list[Change]) -> bool:
        """True if the chain explains the content of *path* after the step."""
        chain, known = self.chains.get(path, []), self.known.get(path, 0)
        keys = {each.key for each in chosen}
        if any(link.keys & keys for link in chain[:known]):
            return False
        for states in (self.states, after):
            undone = [self._is_undone(link, states) for link in chain[known:]]
            if undone != sorted(undone):
                return False
        return True

    def _expected(self, path: str, states: dict[tuple[str, str], str]) -> Leaf | None:
        links = self.chains[path][self.known.get(path, 0) :]
        undone = [link for link in links if self._is_undone(link, states)]
        return undone[0].before if undone else links[-1].after

    @staticmethod
    def _is_undone(link: Link, states: dict[tuple[str, str], str]) -> bool:
        return all(states[key] == "undone" for key in link.keys)

    def _adopt(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.known[path] = len(self.chains.get(path, ()))

    def _left_empty(self) -> list[str]:
        """Empty folders that stay although their turns are undone, because others emptied and left them."""
        empty = [path for path in self.chains if self.tree.get(path) == FOLDER and not _is_full(path, self.tree)]
        explained = [path for path in empty if self.known.get(path, 0) < len(self.chains[path])]
        return [path for path in explained if self._expected(path, self.states) is None]

    def _edit(self) -> None:
        for _ in range(self.chance.randint(1, 5)):
            path = self.chance.choice(PATHS)
            if self.chance.random() < 0.2:
                move(self.workspace, path, self.chance.choice(PATHS))
            else:
                put(self.workspace, path, self.chance.choice(LEAVES))

    def _look(self) -> Tree:
        return with_folders(leafs(self.workspace))

    def _await(self, work: Any) -> Any:
        return self.host.loop.submit(work).result(PATIENCE)

    def _story(self, wanted: Tree) -> str:
        now = self._look()
        differ = {path: (self.tree.get(path), now.get(path), wanted.get(path)) for path in {*now, *wanted, *self.tree}}
        rows = [f"{path!r}: was {was}, is {actual}, model {model}" for path, (was, actual, model) in differ.items()]
        chains = [f"{path!r} from {self.known.get(path, 0)}: {chain}" for path, chain in self.chains.items()]
        return "\n".join([f"seed {self.seed}", *self.steps, *rows, *chains])


def _is_full(folder: str, tree: Iterable[str]) -> bool:
    return any(each.startswith(f"{folder}/") for each in tree)


def _is_blocked(tree: Tree) -> bool:
    """True if a file's path lies where another's folder is."""
    return any(
        one != other and one.startswith(f"{other}/")
        for one in tree
        for other, leaf in tree.items()
        if leaf.mode != "folder"
    )


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A host whose stores do not wait for a disk."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        monkeypatch.setenv("AGENTNB_DATA_DIR", folder)
        host = Host()
        yield host
        host.close()


def play(host: Host, seed: int, steps: int) -> int:
    """Plays the steps in a new workspace; returns how many were done."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        machine = Machine(host, Path(folder).resolve(), seed)
        kinds = [machine.agent_writes, machine.undo, machine.redo, machine.undo_and_redo]
        weights = [5, 4, 4, 4]
        machine.agent_writes()
        for _ in range(steps - 1):
            machine.steps.append("")
            step = machine.chance.choices([*kinds, machine.user_writes, machine.keep], [*weights, 1, 0.5])[0]
            machine.steps[-1] = step.__name__
            step()
        host.loop.submit(machine.conversation.close()).result(PATIENCE)
    return steps


def test_undo_of_a_turn_recorded_by_0_2_restores_folders(host: Host, tmp_path: Path) -> None:
    """Such a record names only empty folders."""
    loop, workspace = host.loop, tmp_path.resolve()
    conversation: Conversation = loop.call(lambda: host.open(custom(["nothing"], name="nothing"), cwd=workspace))
    (workspace / "empty").mkdir()
    message = Message(text="x", origin=MessageOrigin(kind="user"))
    loop.submit(conversation.turns.begin_unprompted("turn", message)).result(PATIENCE)
    (workspace / "new").mkdir()
    (workspace / "new/x").write_text("1")
    (workspace / "empty/x").write_text("1")
    loop.call(lambda: conversation.turns.complete("turn"))
    tracker = conversation.changes
    loop.submit(tracker.compared("turn")).result(PATIENCE)
    turn = tracker.record.turns[0]
    filled = PathChange(path="empty", before=FOLDER_VERSION)
    item = replace(turn.items[0], id="file:empty", name="empty", file=filled)
    old = replace(turn, items=(*turn.items, item), made_folders=None)
    loop.submit(tracker.save(tracker.record.with_turn(old))).result(PATIENCE)
    loop.submit(conversation.undo.do("undo")).result(PATIENCE)
    assert [*workspace.rglob("*")] == [workspace / "empty"]
    loop.submit(conversation.undo.do("redo")).result(PATIENCE)
    assert sorted(each.name for each in workspace.rglob("*")) == ["empty", "new", "x", "x"]


@pytest.mark.parametrize("part", range(PARTS))
def test_files_match_the_model_after_any_order_of_undos(host: Host, part: int) -> None:
    for number in range(part, STEPS // ROUND, PARTS):
        play(host, SEED + number, ROUND)


@pytest.mark.parametrize(
    "seed", [100226, 100293, 100342, 100652, 100787, 100814, 101132, 200264, 300898, 400354, 401245]
)
def test_files_match_the_model_for_seeds_that_once_failed(host: Host, seed: int) -> None:
    """Redo restored others' folders; two undos in one millisecond counted as one."""
    play(host, seed, ROUND)
