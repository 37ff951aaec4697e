"""Tries as pages see them; a page fetches them again whenever the host's number of changes grows."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from agentnb.clock import now_ms
from agentnb.errors import UsageError
from agentnb.host import current_host
from agentnb.host.channels import BRANCHES
from agentnb.plugins.branches.branches import branches
from agentnb.plugins.branches.requests import (
    BeginResult,
    KeepResult,
    LookResult,
    PicturesResult,
    Try,
    TryCell,
    TryFile,
    TrySet,
)
from agentnb.plugins.branches.tables import LARGEST_PICTURE
from agentnb.state import RootConfigChanged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.api.session import Session
    from agentnb.host import Host
    from agentnb.kernel.code_runner import CellStep, NotebookCell
    from agentnb.plugins.branches.branch import Branch
    from agentnb.plugins.branches.branches import Branches
    from agentnb.plugins.branches.requests import BeginParams, KeepParams

MOST_DECIDED = 8
"""Sets of tries that are remembered after everything in them has been decided."""
LONGEST_SAYING = 600
LONGEST_TEXT = 20_000
"""Characters of a diff or a cell that are sent to a page."""
MOST_PARTS = 200
MOST_PICTURES = 2
_sets: dict[str, Branches] = {}
_changes = itertools.count(1)


def add(made: Branches, host: Host) -> None:
    decided = [name for name, each in _sets.items() if each.decided]
    for name in decided[:-MOST_DECIDED]:
        del _sets[name]
    _sets[made.id] = made
    made.listen(lambda: host.loop.post(_tell, host))
    host.loop.post(_tell, host)


def _tell(host: Host) -> None:
    host.root.accept(RootConfigChanged(config={BRANCHES: next(_changes)}, time=now_ms()))


def _set(name: str) -> Branches:
    if name not in _sets:
        raise UsageError("These tries no longer exist.", hint="Start again with Try 3 ways, or agentnb.branches().")
    return _sets[name]


def look(name: str) -> LookResult:
    """Returns the tries with the id *name*, or all tries, newest first, if it is empty."""
    wanted = [_set(name)] if name else [*reversed(_sets.values())]
    return LookResult(sets=tuple(_set_of(each) for each in wanted))


def begin(params: BeginParams) -> BeginResult:
    agents = [_agent_of(params.session)] if params.session else None
    return BeginResult(id=branches(params.prompt, params.n, agents=agents).id)


def keep(params: KeepParams) -> KeepResult:
    turn = _set(params.id).keep(params.number, params.only)
    return KeepResult(session=_channel(turn.session), said=turn.text)


def discard(name: str, numbers: tuple[int, ...]) -> None:
    """Discard tries; all if *numbers* is empty."""
    _set(name).discard(*numbers)


def stop(name: str, number: int) -> None:
    _set(name).cancel(number)


def pictures(name: str, number: int) -> PicturesResult:
    """Returns the last pictures of a try; those that are too large for a table are left out."""
    images = _set(name)[number - 1].pictures[-MOST_PICTURES:]
    return PicturesResult(pictures=tuple(each for each in images if len(each) <= LARGEST_PICTURE))


def _agent_of(channel: str) -> dict[str, object]:
    """Returns the arguments of :func:`agentnb.start` that start the agent of the conversation *channel* again."""
    host = current_host()
    configuration = host.loop.call(host.find, channel).configuration
    spec = configuration.spec
    options: dict[str, object] = {
        "agent": spec.name,
        "env": configuration.env,
        "directories": configuration.directories,
    }
    if spec.origin != "command":
        return options
    return {**options, "command": [*spec.command], "env": {**spec.env, **configuration.env}}


def _channel(session: Session) -> str:
    return session.chat.resource.removesuffix("/chat")


def _set_of(made: Branches) -> TrySet:
    best = made.best
    return TrySet(
        id=made.id,
        prompt=made.prompt,
        note=made.note,
        best=0 if best is None else best.number,
        tries=tuple(map(_try_of, made)),
    )


def _try_of(branch: Branch) -> Try:
    before = {} if branch.notebook is None else {each.id: each for each in branch.notebook.before.cells}
    return Try(
        number=branch.number,
        agent=branch.agent,
        state=branch.state,
        way=branch.way,
        session=_channel(branch.session),
        says=branch.text[-LONGEST_SAYING:].lstrip(),
        measure=branch.measure,
        error=branch.error,
        verified=None if branch.verification is None else branch.verification.ok,
        findings="" if branch.verification is None or branch.verification.ok else branch.verification.summary,
        files=tuple(
            TryFile(path=each.path, status=each.status, diff=each.diff[:LONGEST_TEXT])
            for each in branch.files[:MOST_PARTS]
        ),
        cells=tuple(_cell_of(each, before) for each in branch.cells[:MOST_PARTS]),
        variables=dict([*branch.variables.items()][:MOST_PARTS]),
        checks=branch.data_checks,
        pictures=len(branch.pictures),
        tokens=branch.tokens or 0,
        seconds=branch.seconds,
        kept="" if branch.kept_turn is None else _channel(branch.kept_turn.session),
    )


def _cell_of(step: CellStep, before: Mapping[str, NotebookCell]) -> TryCell:
    was = before.get(step.cell_id)
    source = was.source if step.action == "move" and was is not None else step.source
    return TryCell(
        id=step.cell_id,
        action=step.action,
        kind=step.new_kind or step.kind,
        before="" if was is None else was.source[:LONGEST_TEXT],
        after=source[:LONGEST_TEXT],
    )
