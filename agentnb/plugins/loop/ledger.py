"""The ledger of a loop, in the file beside the log that batches have, so that a loop can go on after its kernel."""

from __future__ import annotations

import os
import platform
import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from agentnb.errors import UsageError
from agentnb.ids import new_id
from agentnb.log.writer import alive, started
from agentnb.plugins.loop.limits import LoopLimits
from agentnb.plugins.map.rows_file import RowsFile

if TYPE_CHECKING:
    from collections.abc import Mapping

TryState: TypeAlias = Literal[
    "start", "running", "keeping", "kept", "not better", "unchanged", "failed", "conflict", "stopped", "lost"
]
LONGEST_DIFFERENCE = 20_000
_NOT_KEPT = ("env", "mcp_servers")


class LoopTry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One try of a loop.

    Attributes:
        number: Its number, from 1; 0 for a measurement of the notebook as it is.
        state: ``"kept"``, ``"not better"``, ``"unchanged"`` (nothing was changed), ``"failed"``, ``"conflict"`` (you
            changed the same), ``"stopped"``, ``"lost"`` (the kernel ended), ``"running"``, ``"keeping"``, ``"start"``.
        idea: What it tried, in the agent's words.
        values: What the metric gave; several where a gain was confirmed.
        why: Why it ended so; empty where the state says all.
        changes: How many files, cells and variables it changed.
        tokens: The tokens it used, where the agent says so.
        costs: What it cost, by currency, where the agent says so.
        seconds: How long it took.
        agent: The agent.
    """

    number: int
    state: TryState
    idea: str = ""
    values: tuple[float, ...] = ()
    why: str = ""
    changes: str = ""
    tokens: int | None = None
    costs: dict[str, float] = {}
    seconds: float = 0.0
    agent: str = ""

    @property
    def metric(self) -> float | None:
        """The mean of its values; None where it was not measured."""
        return sum(self.values) / len(self.values) if self.values else None


class LoopSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a loop was asked for.

    ``digests`` are of what was held when it began, ``owner`` is the process that runs it.
    """

    prompt: str
    metric: str
    limits: LoopLimits
    higher_is_better: bool = True
    again: int = 0
    held: tuple[str, ...] | None = None
    metric_timeout: float = 300.0
    timeout: float = 3600.0
    options: dict[str, Any] = {}
    digests: dict[str, str] = {}
    owner: tuple[str, int, str] = ("", 0, "")

    @property
    def is_running_elsewhere(self) -> bool:
        """True if another process runs it."""
        return self.owner[1] != os.getpid() and self.owner[1] > 0 and alive(*self.owner)


def this_process() -> tuple[str, int, str]:
    """This process, as :attr:`LoopSpec.owner` has it."""
    return platform.node(), os.getpid(), started(os.getpid())


class Ledger(RowsFile):
    """The ledger of one loop; safe from any thread."""

    def __init__(self, environ: Mapping[str, str] = os.environ, *, must_exist: bool = False) -> None:
        super().__init__("loop", environ, must_exist=must_exist)
        self.id: str = ""

    def create(self, folder: str, spec: LoopSpec) -> None:
        """Begin a new one."""
        self.id = new_id()
        values = (self.id, time.time(), "running", folder, _kept(spec))
        self._run("INSERT INTO loops VALUES (?, ?, ?, ?, ?)", *values)

    def reopen(self, loop: str | None, folder: str) -> LoopSpec:
        """Take up a loop, or the latest of a folder where none is named.

        Raises:
            UsageError: If there is none.
        """
        where, value = ("id = ?", loop) if loop is not None else ("folder = ? ORDER BY touched DESC LIMIT 1", folder)
        rows = self._run(f"SELECT id, body FROM loops WHERE {where}", value)  # noqa: S608 - conditions of ours
        if not rows:
            what = f"There is no loop {loop!r}." if loop is not None else f"No loop was started in {folder}."
            raise UsageError(what, hint="The id of a loop is loop.id.")
        self.id = rows[0][0]
        return msgspec.json.decode(rows[0][1], type=LoopSpec)

    def update(self, spec: LoopSpec, state: str) -> None:
        """Note what it is asked for now, and whether it runs."""
        values = (_kept(spec), state, time.time(), self.id)
        self._run("UPDATE loops SET body = ?, state = ?, touched = ? WHERE id = ?", *values)

    def put(self, at: int, row: LoopTry, difference: str | None = "") -> None:
        """Write the row at a place; where *difference* is None, that stays as it was."""
        difference = self.difference(at) if difference is None else difference[:LONGEST_DIFFERENCE]
        self._run("INSERT OR REPLACE INTO tries VALUES (?, ?, ?, ?)", self.id, at, _encoded(row), difference)
        self._run("UPDATE loops SET touched = ? WHERE id = ?", time.time(), self.id)

    def rows(self) -> list[LoopTry]:
        """All rows."""
        rows = self._run("SELECT body FROM tries WHERE loop = ? ORDER BY number", self.id)
        return [msgspec.json.decode(each[0], type=LoopTry) for each in rows]

    def difference(self, at: int) -> str:
        """What the try in a row changed, as a diff; empty where nothing is known."""
        rows = self._run("SELECT difference FROM tries WHERE loop = ? AND number = ?", self.id, at)
        return str(rows[0][0]) if rows else ""


def _kept(spec: LoopSpec) -> str:
    """What is kept of it: without what may be a secret.

    Raises:
        UsageError: If an argument of the agent's is no plain value.
    """
    options = {name: value for name, value in spec.options.items() if name not in _NOT_KEPT}
    try:
        return _encoded(msgspec.structs.replace(spec, options=options))
    except TypeError as error:
        raise UsageError(f"A loop takes only plain values as arguments for its agent: {error}.") from error


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()
