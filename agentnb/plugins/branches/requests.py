"""The page's requests: the tries that there are, new ones, and what becomes of them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import msgspec

from agentnb.ports import Request

LONGEST_PROMPT = 100_000


class _Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Camel case on the wire."""


class TryFile(_Wire, frozen=True, kw_only=True):
    """A file that a try changed.

    Attributes:
        path: Its path in the workspace.
        status: The kind of change.
        diff: The difference, like ``diff -u``; empty if it is not text, too large, or secret.
    """

    path: str
    status: Literal["added", "modified", "deleted"]
    diff: str


class TryCell(_Wire, frozen=True, kw_only=True):
    """A change of a cell.

    Attributes:
        id: The cell's id.
        action: ``"insert"``, ``"replace"``, ``"delete"`` or ``"move"``.
        kind: The cell's type.
        before: Its text before; empty if it is new.
        after: Its text after; empty if it is deleted.
    """

    id: str
    action: str
    kind: str
    before: str
    after: str


class Try(_Wire, frozen=True, kw_only=True):
    """One try.

    Attributes:
        number: Its number, from 1.
        agent: The agent's name.
        state: ``"running"``, ``"done"``, ``"failed"``, ``"kept"`` or ``"discarded"``.
        way: How the kernel was copied: ``"fork"`` or ``"replay"``.
        session: The conversation's channel.
        says: The end of its agent's message text.
        measure: The measure; absent if there is none.
        error: Why it failed, or could not be measured.
        verified: True if its notebook runs from the top; absent if that was not checked.
        findings: The findings of its verification, in one line.
        files: The files that it changed.
        cells: The changes of cells.
        variables: The variables that it changed, each with the kind of change.
        checks: Possible errors in tables, a line each.
        pictures: The number of pictures it showed.
        tokens: The tokens that it used; 0 if the agent does not report them.
        seconds: How long it took; 0 while it runs.
        kept: The channel of the conversation with the turn that kept it, or parts of it; empty before.
    """

    number: int
    agent: str
    state: str
    way: str
    session: str
    says: str = ""
    measure: float | None = None
    error: str = ""
    verified: bool | None = None
    findings: str = ""
    files: tuple[TryFile, ...] = ()
    cells: tuple[TryCell, ...] = ()
    variables: dict[str, str] = {}
    checks: tuple[str, ...] = ()
    pictures: int = 0
    tokens: int = 0
    seconds: float = 0.0
    kept: str = ""


class TrySet(_Wire, frozen=True, kw_only=True):
    """Tries at one task.

    Attributes:
        id: Their id.
        prompt: The task.
        note: A note about all of them.
        best: The number of the best one; 0 if none was measured.
        tries: The tries.
    """

    id: str
    prompt: str
    note: str
    best: int
    tries: tuple[Try, ...]


class LookParams(_Wire, frozen=True, kw_only=True):
    """Returns the existing tries.

    Attributes:
        id: Only the tries with this id; if empty, all, the newest first.
    """

    id: str = ""


class LookResult(_Wire, frozen=True, kw_only=True):
    """The tries.

    Attributes:
        sets: The tries, grouped by task.
    """

    sets: tuple[TrySet, ...]


class BeginParams(_Wire, frozen=True, kw_only=True):
    """Begin several tries at a task.

    Attributes:
        prompt: The task.
        n: The number of tries.
        session: The conversation whose agent tries; the default agent if empty.
    """

    prompt: Annotated[str, msgspec.Meta(max_length=LONGEST_PROMPT)]
    n: int = 3
    session: str = ""


class BeginResult(_Wire, frozen=True, kw_only=True):
    """The tries have begun.

    Attributes:
        id: Their id.
    """

    id: str


class KeepParams(_Wire, frozen=True, kw_only=True):
    """Bring a try's changes into the notebook.

    Attributes:
        id: The id of the tries.
        number: The try.
        only: Paths of files, ids of cells and names of variables; if absent, all, and the other tries are discarded.
    """

    id: str
    number: int
    only: tuple[str, ...] | None = None


class KeepResult(_Wire, frozen=True, kw_only=True):
    """The try was kept.

    Attributes:
        session: The channel of the conversation with the turn, which can be undone.
        said: A sentence on what was kept.
    """

    session: str
    said: str


class DiscardParams(_Wire, frozen=True, kw_only=True):
    """Discard tries.

    Attributes:
        id: The id of the tries.
        numbers: The tries; all if empty.
    """

    id: str
    numbers: tuple[int, ...] = ()


class StopParams(_Wire, frozen=True, kw_only=True):
    """Stop a try; what it did so far can be kept.

    Attributes:
        id: The id of the tries.
        number: The try.
    """

    id: str
    number: int


class PicturesParams(_Wire, frozen=True, kw_only=True):
    """Returns the last pictures of a try.

    Attributes:
        id: The id of the tries.
        number: The try.
    """

    id: str
    number: int


class PicturesResult(_Wire, frozen=True, kw_only=True):
    """The pictures.

    Attributes:
        pictures: PNG in base64.
    """

    pictures: tuple[str, ...]


class DoneResult(_Wire, frozen=True, kw_only=True):
    """It is done."""


async def look(params: LookParams) -> LookResult:
    """The tries that there are."""
    from agentnb.plugins.branches import page

    return await asyncio.to_thread(page.look, params.id)


async def begin(params: BeginParams) -> BeginResult:
    """Begin tries."""
    from agentnb.plugins.branches import page

    return await asyncio.to_thread(page.begin, params)


async def keep(params: KeepParams) -> KeepResult:
    """Keep a try."""
    from agentnb.plugins.branches import page

    return await asyncio.to_thread(page.keep, params)


async def discard(params: DiscardParams) -> DoneResult:
    """Discard tries."""
    from agentnb.plugins.branches import page

    await asyncio.to_thread(page.discard, params.id, params.numbers)
    return DoneResult()


async def stop(params: StopParams) -> DoneResult:
    """Stop a try."""
    from agentnb.plugins.branches import page

    await asyncio.to_thread(page.stop, params.id, params.number)
    return DoneResult()


async def pictures(params: PicturesParams) -> PicturesResult:
    """The pictures of a try."""
    from agentnb.plugins.branches import page

    return await asyncio.to_thread(page.pictures, params.id, params.number)


REQUESTS = (
    Request("branches/look", LookParams, LookResult, look),
    Request("branches/begin", BeginParams, BeginResult, begin),
    Request("branches/keep", KeepParams, KeepResult, keep),
    Request("branches/discard", DiscardParams, DoneResult, discard),
    Request("branches/stop", StopParams, DoneResult, stop),
    Request("branches/pictures", PicturesParams, PicturesResult, pictures),
)
