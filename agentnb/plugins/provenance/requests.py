"""The page's requests: who wrote the cells, and when the turns that run have ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec.structs import replace

from agentnb.plugins.provenance.cell_metadata import MOST_CELLS, SavedCell
from agentnb.plugins.provenance.result import CellProvenance
from agentnb.plugins.provenance.turns import ProvenanceTurn
from agentnb.ports import Request

if TYPE_CHECKING:
    from agentnb.api.history_rows import ThisLog
    from agentnb.host.conversation import Conversation
    from agentnb.host.host import Host

LONGEST_CODE = 1_000_000
"""Characters of one cell's code that is noted."""
MOST_PLACED = 1_000
"""The most code records of one conversation that are kept: the latest."""
LONGEST_WAIT = 25.0
"""Seconds that the page waits for one answer."""


class CellsParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Returns which lines of a notebook agents wrote.

    Attributes:
        path: The notebook's file, absolute, or its path on the Jupyter server; empty for the kernel's own notebook.
        cells: The cells as the page has them; empty for the saved ones, with the changes that the kernel knows.
    """

    path: str = ""
    cells: Annotated[tuple[SavedCell, ...], msgspec.Meta(max_length=MOST_CELLS)] = ()


class MarkedCell(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A cell that contains lines by an agent.

    Attributes:
        cell: The cell.
        saved: The authors to save in its metadata; None to leave the metadata as it is.
    """

    cell: CellProvenance
    saved: str | None = None


class CellsResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The cells that contain lines by agents.

    Attributes:
        cells: These cells, in the notebook's order.
        turns: The turns that wrote them.
        titles: The agents' names for people, by their names.
        is_saved: True if the notebook saves the authors, too, in the metadata of its cells.
    """

    cells: tuple[MarkedCell, ...]
    turns: tuple[ProvenanceTurn, ...]
    titles: dict[str, str]
    is_saved: bool


class SettledParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Waits until no turn of this kernel runs, and it is known what they changed; 25 s at most."""


class SettledResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of the wait.

    Attributes:
        is_settled: True if no turn runs.
    """

    is_settled: bool


class PlacedParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Notes that the user put code of an agent's answer into a cell, so that the agent counts as its author.

    Attributes:
        channel: The conversation.
        turn_id: The turn that gave the answer.
        cell_id: The cell.
        notebook: The notebook's path on the Jupyter server.
        before: The cell's text before; None if it is new.
        after: The cell's text after.
    """

    channel: str
    turn_id: str
    cell_id: str
    notebook: str
    before: Annotated[str, msgspec.Meta(max_length=LONGEST_CODE)] | None = None
    after: Annotated[str, msgspec.Meta(max_length=LONGEST_CODE)]


class PlacedResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """It is noted."""


def cells_of_page(params: CellsParams, log: ThisLog | None, *, is_saved: bool) -> CellsResult:
    """Which lines of the page's cells agents wrote, by *log*; *is_saved*: with what the cells' metadata should say."""
    from agentnb.agent.catalog import catalogue
    from agentnb.plugins.provenance.cell_metadata import to_metadata
    from agentnb.plugins.provenance.provenance import current_cells, provenance_of
    from agentnb.server.comm.open_notebooks import path_of_notebook

    path = path_of_notebook(params.path)
    cells = params.cells or current_cells(path)
    result = provenance_of(cells, path, log)
    known = catalogue()
    marked = []
    for each in result:
        by_notebook = any(result.turns[turn].from_notebook for turn in each.turns)
        saved = None if by_notebook or not is_saved else to_metadata(cells[each.index].source, each.lines, result.turns)
        marked.append(MarkedCell(cell=each, saved=saved))
    titles = {each.agent: known[each.agent].title for each in result.turns if each.agent in known}
    return CellsResult(cells=tuple(marked), turns=result.turns, titles=titles, is_saved=is_saved)


async def cells(params: CellsParams) -> CellsResult:
    """Which lines agents wrote."""
    from agentnb.api.history_rows import kernel_log
    from agentnb.host.environment import current_environment

    is_saved = bool(current_environment().sources()["provenance_in_notebook"].value)
    return await asyncio.to_thread(lambda: cells_of_page(params, kernel_log(), is_saved=is_saved))


async def placed(params: PlacedParams) -> PlacedResult:
    """Note it with what the turn's changes are."""
    from agentnb.host import current_host

    await note_placed(current_host(), params)
    return PlacedResult()


async def note_placed(host: Host, params: PlacedParams) -> None:
    """Remember, with the changes of the conversation, that code of one of its answers is in a cell."""
    from agentnb.clock import now_ms
    from agentnb.errors import UsageError
    from agentnb.host.changes.records import PlacedCode
    from agentnb.state import find_turn

    conversation = host.find(params.channel)
    chat, changes = conversation.chat.state, conversation.changes
    if find_turn(chat, params.turn_id) is None:
        raise UsageError(f"The conversation has no turn {params.turn_id!r}.", hint="It may have been cut or cleared.")
    code = PlacedCode(
        turn_id=params.turn_id,
        cell_id=params.cell_id,
        notebook=params.notebook,
        before=params.before,
        after=params.after,
        time=now_ms(),
    )
    await changes.save(replace(changes.record, placed=(*changes.record.placed, code)[-MOST_PLACED:]))


async def settled(_params: SettledParams) -> SettledResult:
    """Wait for the turns that run."""
    from agentnb.host import current_host

    conversations = tuple(current_host().conversations.values())
    changed = asyncio.Event()
    endings = [each.channels.watch(changed.set) for each in conversations]
    try:
        await asyncio.wait_for(_settled(conversations, changed), LONGEST_WAIT)
    except asyncio.TimeoutError:
        return SettledResult(is_settled=False)
    finally:
        for end in endings:
            end()
    return SettledResult(is_settled=True)


async def _settled(conversations: tuple[Conversation, ...], changed: asyncio.Event) -> None:
    while any(each.channels.chat.state.active_turn is not None for each in conversations):
        changed.clear()
        await changed.wait()
    for each in conversations:
        await each.changes.compared()


REQUESTS = (
    Request("provenance/cells", CellsParams, CellsResult, cells),
    Request("provenance/placed", PlacedParams, PlacedResult, placed),
    Request("provenance/settled", SettledParams, SettledResult, settled),
)
