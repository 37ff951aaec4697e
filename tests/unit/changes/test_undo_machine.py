"""The inside: a machine of edits by agent and user, undo, redo, keep, and kills: files match a model."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from agentnb.changes.model import FileVersion, PathChange, folders_above
from agentnb.changes.store import ChangeStore
from agentnb.changes.store_folder import EngineName
from agentnb.errors import ChangesError, FilesConflict
from tests.thorough import examples
from tests.unit.changes.interrupted_files import InterruptedFiles, Killed

COMMON = 2_000
RUNS = int(os.environ.get("AGENTNB_UNDOS", examples(400)))
PARTS = max(1, RUNS // COMMON)
STEPS = 5
MEMORY = "/dev/shm"  # noqa: S108 - where it is there, no disk is waited for

PATHS = ("a", "b", "d", "d/x", "d/e/y", "e/x", os.fsdecode(b"d/\xff\n"))
SLOTS = 3


class Leaf(NamedTuple):
    """A file, a link or an empty folder."""

    mode: str
    content: bytes = b""


Tree: TypeAlias = dict[str, Leaf]
FOLDER = Leaf("folder")


def text(*slots: int) -> bytes:
    """A text whose slots change independently: unchanged lines stand between them."""
    return b"".join(b"slot %d is %d\nstays %d\nstays\n" % (at, value, at) for at, value in enumerate(slots))


CONTENTS = [text(*slots) for slots in itertools.product(range(3), repeat=SLOTS)] + [b"\0binary", b"\0\xff", b""] * 3
LEAVES: list[Leaf | None] = [
    *(Leaf(mode, content) for content in CONTENTS for mode in ("file", "file", "executable")),
    *[Leaf("link", b"a"), Leaf("link", b"/nowhere"), Leaf("folder"), Leaf("folder"), None, None, None] * 5,
]
TEXTS = [Leaf("file", content) for content in CONTENTS if content.startswith(b"slot")]
NEAR = 0.7
MOVED = 0.2
numbers = st.integers(0, 2**31 - 1)
"""One number determines a step: drawing several would take longer than the step."""


class Move(NamedTuple):
    """An existing file, link or folder gets another path; its old folder stays, empty or not."""

    path: str


Edit: TypeAlias = "tuple[str, Leaf | Move | None]"


def edits(number: int, near: tuple[str, ...] = ()) -> list[Edit]:
    """Returns one to three edits, most of them of the paths *near*, where two sides meet."""
    chance = random.Random(number)
    paths = [chance.choice(near if near and chance.random() < NEAR else PATHS) for _ in range(chance.randint(1, 3))]
    made: list[Edit] = []
    for path in paths:
        if chance.random() < MOVED:
            made.append((path, Move(chance.choice(PATHS))))
        else:
            made.append((path, chance.choice(TEXTS if chance.random() < NEAR else LEAVES)))
    return made


class Turn(NamedTuple):
    """An agent's changes, in the store and in the model."""

    changes: tuple[PathChange, ...]
    before: Tree
    after: Tree
    ids: tuple[str, ...]


class Undos(RuleBasedStateMachine):
    """A workspace that an agent and a user edit, and a model of its files."""

    engine: EngineName = "copy"

    @initialize(number=numbers)
    def begin(self, number: int) -> None:
        self.folder = tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None)
        self.workspace = f"{self.folder}/workspace"
        os.mkdir(self.workspace)  # noqa: PTH102
        self.files = InterruptedFiles(-1)
        self.files.left = 1 << 60
        self.store = self._opened()
        self.model: Tree = {}
        self.turns: list[Turn] = []
        self.undone: list[tuple[PathChange, ...]] = []
        self._edit(edits(number))
        self.agent_edits(number + 1)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)

    @rule(number=numbers)
    def agent_edits(self, number: int) -> None:
        """Edits files as an agent; a comparison finds the changes."""
        before, first = self.model, self.store.take()
        self._edit(edits(number, tuple(before)))
        last = self.store.take()
        changes = self.store.changes(first, last)
        paths = {path for path in before.keys() | self.model.keys() if before.get(path) != self.model.get(path)}
        steps = [step for each in changes for step in each.backward]
        assert {step.path for step in steps} == paths
        for step in steps:
            assert (self._leaf(step.target), self._leaf(step.base)) == (
                before.get(step.path),
                self.model.get(step.path),
            )
        self.turns.append(Turn(changes, before, self.model, (first.id, last.id)))

    @rule(number=numbers)
    def user_edits(self, number: int) -> None:
        self._edit(edits(number, tuple(each.path for each in self.turns[-1].changes) if self.turns else ()))

    @rule(number=numbers)
    def undo(self, number: int) -> None:
        """Undoes a turn, or from a turn on."""
        if not self.turns:
            return
        which = number // 2 % len(self.turns)
        chosen = self.turns[which:] if number % 2 else [self.turns[which]]
        self._apply([change for turn in reversed(chosen) for change in turn.changes])

    @rule(number=numbers)
    def undo_and_redo_at_once(self, number: int) -> None:
        """A turn without later edits: files and empty folders are as before it, and as after it again."""
        self.agent_edits(number)
        changes, before, after, _ = self.turns[-1]
        undone = self.store.apply([step for each in changes for step in each.backward])
        assert leafs(self.workspace) == before
        taken_back = [step for each in undone for step in each.backward]
        done_again = [step for each in changes for step in each.forward]
        self.store.apply(taken_back if number % 2 else done_again)
        assert leafs(self.workspace) == after

    @rule(number=numbers)
    def undo_one(self, number: int) -> None:
        """Undoes one change."""
        changes = self.turns[number % len(self.turns)].changes if self.turns else ()
        if changes:
            self._apply([changes[number // 16 % len(changes)]])

    @rule()
    def redo(self) -> None:
        """Undoes the last undo."""
        if self.undone:
            self._apply(self.undone.pop())

    @rule(number=numbers)
    def undo_until_it_ends(self, number: int) -> None:
        """The process is killed, or the disk full: all or nothing, at the latest at the next start."""
        changes = self.turns[number // 1000 % len(self.turns)].changes if self.turns else ()
        steps = [step for each in changes for step in each.backward]
        wanted = expected(self.model, self._wishes(changes), {})
        self.files.left, self.files.full, self.files.half = number // 4 % 20, number % 2 == 0, number // 2 % 2 == 0
        try:
            self.store.apply(steps)
        except Killed:
            self.files.left = 1 << 60
            self.store = self._opened()
            self.store.recover()
        except ChangesError:
            assert leafs(self.workspace) == self.model
        self.files.left = 1 << 60
        self.store.recover()  # if only the cleanup is missing
        now = leafs(self.workspace)
        assert now in [self.model, wanted]
        self.model = now

    @rule(number=numbers)
    def keep(self, number: int) -> None:
        """Forgets a turn's contents; the others' contents stay."""
        if not self.turns:
            return
        del self.turns[number % len(self.turns)]
        self.undone.clear()
        self.store.prune(name for turn in self.turns for name in turn.ids)

    def _apply(self, changes: Iterable[PathChange]) -> None:
        changes, before = list(changes), with_folders(self.model)
        steps = [step for each in changes for step in each.backward]
        wishes = self._wishes(changes)
        wanted = expected(self.model, wishes, {})
        try:
            done = self.store.apply(steps)
        except FilesConflict as error:
            assert leafs(self.workspace) == self.model
            assert wanted is None
            sides = [("mine", "theirs")[len(each.path) % 2] for each in error.conflicts]
            choices = {each.path: side for each, side in zip(error.conflicts, sides, strict=True)}
            wanted = expected(self.model, wishes, choices)
            try:
                done = self.store.apply(steps, choices)  # type: ignore[arg-type]
            except ChangesError:
                assert leafs(self.workspace) == self.model
                return
        now = leafs(self.workspace)
        assert now == wanted
        after = with_folders(now)
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        assert {each.path for each in done if each.before != each.after} == changed
        for change in done:  # both versions are still stored
            assert self._leaf(change.before) == before.get(change.path)
            assert self._leaf(change.after) == after.get(change.path)
        self.undone.append(done)
        self.model = now

    def _wishes(self, changes: Iterable[PathChange]) -> dict[str, tuple[Leaf | None, Leaf | None]]:
        wishes: dict[str, tuple[Leaf | None, Leaf | None]] = {}
        for step in [step for each in changes for step in each.backward]:
            base = wishes[step.path][0] if step.path in wishes else self._leaf(step.base)
            wishes[step.path] = base, self._leaf(step.target)
        return wishes

    def _leaf(self, version: FileVersion | None) -> Leaf | None:
        return None if version is None else Leaf(version.mode, self.store.content(version))

    def _opened(self) -> ChangeStore:
        folders = Path(self.folder, "store"), Path(self.workspace)
        return ChangeStore(*folders, is_sensitive=lambda _: False, engine=self.engine, files=self.files)

    def _edit(self, changed: list[Edit]) -> None:
        for path, leaf in changed:
            if isinstance(leaf, Move):
                move(self.workspace, path, leaf.path)
            else:
                put(self.workspace, path, leaf)
        self.model = leafs(self.workspace)


def expected(model: Tree, wishes: dict[str, tuple[Leaf | None, Leaf | None]], choices: dict[str, str]) -> Tree | None:
    """Returns the workspace after steps from bases to targets; None for a conflict."""
    new = dict(model)
    for path, (base, target) in wishes.items():
        current = model.get(path)
        is_full = current is None and any(each.startswith(f"{path}/") for each in model)
        is_folder = is_full or current == FOLDER
        if choices.get(path) == "mine" or (current == target and not is_full):
            continue
        if target is None and is_folder != (base == FOLDER):
            continue  # a folder that others made, or no longer a folder
        if is_full and target is None:
            continue
        if (
            current == base
            or (is_bare(current) and is_bare(base))
            or (is_full and target == FOLDER)
            or choices.get(path) == "theirs"
        ):
            new_leaf = target
        else:
            merged = None if None in {base, current, target} else merge(base, current, target)  # type: ignore[arg-type]
            if merged is None:
                return None
            new_leaf = merged
        new.pop(path, None)
        if new_leaf is not None:
            new[path] = new_leaf
    for path in [path for path, leaf in new.items() if leaf.mode == "folder"]:
        if any(each.startswith(f"{path}/") for each in new):
            del new[path]
    return None if any(each.startswith(f"{path}/") for path in new for each in new) else new


def is_bare(leaf: Leaf | None) -> bool:
    """True if it has no content of a user."""
    return leaf is None or leaf == FOLDER


def with_folders(tree: Tree) -> Tree:
    """Returns *tree* with the folders that are not empty."""
    return {**{above: FOLDER for path in tree for above in folders_above(path)}, **tree}


def merge(base: Leaf, current: Leaf, target: Leaf) -> Leaf | None:
    """Merges a file's versions; None for a conflict."""
    if not {base.mode, current.mode, target.mode} <= {"file", "executable"}:
        return None
    mode = target.mode if current.mode == base.mode else current.mode
    if current.content in {base.content, target.content}:
        return Leaf(mode, target.content)
    if base.content == target.content:
        return Leaf(mode, current.content)
    if any(b"slot" not in each.content for each in (base, current, target)):
        return None
    lines = []
    for old, mine, theirs in zip(
        *[each.content.splitlines(keepends=True) for each in (base, current, target)], strict=True
    ):
        if mine not in {old, theirs} and theirs != old:
            return None
        lines.append(theirs if mine == old else mine)
    return Leaf(mode, b"".join(lines))


def leafs(workspace: str, inside: str = "") -> Tree:
    """Returns files, links and empty folders."""
    tree: Tree = {}
    with os.scandir(f"{workspace}/{inside}") as entries:
        for entry in entries:
            path = f"{inside}{entry.name}"
            if entry.is_symlink():
                tree[path] = Leaf("link", os.readlink(os.fsencode(entry.path)))  # noqa: PTH115 - undecodable bytes
            elif entry.is_file():
                with open(entry.path, "rb") as file:  # noqa: PTH123 - a Path takes longer than the rest
                    tree[path] = Leaf("executable" if entry.stat().st_mode & 0o100 else "file", file.read())
            else:
                tree |= leafs(workspace, f"{path}/") or {path: Leaf("folder")}
    return tree


def put(workspace: str, path: str, leaf: Leaf | None) -> None:
    """Edits as a user does: replaces what is in the way."""
    full = workspace
    for part in path.split("/"):
        full = f"{full}/{part}"
        if os.path.islink(full) or os.path.isfile(full):  # noqa: PTH113, PTH114 - as above
            os.unlink(full)  # noqa: PTH108
    if os.path.isdir(full) and (leaf is None or leaf.mode != "folder"):  # noqa: PTH112
        shutil.rmtree(full)
    if leaf is None:
        return
    os.makedirs(full if leaf.mode == "folder" else os.path.dirname(full), exist_ok=True)  # noqa: PTH103, PTH120
    if leaf.mode == "link":
        os.symlink(leaf.content, os.fsencode(full))  # noqa: PTH211
    elif leaf.mode != "folder":
        with open(full, "wb", opener=_executable if leaf.mode == "executable" else None) as file:
            file.write(leaf.content)


def move(workspace: str, path: str, new: str) -> None:
    """Moves *path* to *new*, as a user does: replaces what is there."""
    old = f"{workspace}/{path}"
    if not os.path.lexists(old) or f"{new}/".startswith(f"{path}/") or f"{path}/".startswith(f"{new}/"):
        return
    put(workspace, new, None)
    put(workspace, new, Leaf("folder"))
    os.rmdir(f"{workspace}/{new}")  # noqa: PTH106
    if os.path.lexists(old):
        os.rename(old, f"{workspace}/{new}")  # noqa: PTH104


def _executable(path: str, flags: int) -> int:
    return os.open(path, flags, 0o755)


@pytest.mark.parametrize("part", range(PARTS))
def test_any_order_of_edits_undos_and_kills_matches_the_model(part: int) -> None:
    run_state_machine_as_test(Undos, settings=_settings(RUNS // PARTS))


def test_any_order_with_the_git_engine_matches_the_model() -> None:
    class WithGit(Undos):
        engine: EngineName = "git"

    run_state_machine_as_test(WithGit, settings=_settings(max(20, RUNS // 100)))


def _settings(runs: int) -> settings:
    return settings(
        max_examples=runs,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=RUNS <= COMMON,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
