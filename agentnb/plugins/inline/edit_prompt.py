"""The message that asks an agent to edit one cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.kernel.bounded_text import fenced
from agentnb.state import Message, MessageOrigin

if TYPE_CHECKING:
    from agentnb.plugins.inline.edit_requests import CellEditParams

LONGEST_SHOWN = 20_000
"""Characters of a cell's text in the message; the agent reads a longer one with its tool."""


def edit_message(params: CellEditParams) -> Message:
    """The message: the user's words, and behind an empty line what the chat folds away."""
    name = f"[{params.count}]" if params.count else ""
    words = f"{name} {params.prompt.strip()}".strip()
    text = f"{words}\n\n{_instructions(params, name)}"
    return Message(text=text, origin=MessageOrigin(kind="user"), meta={"agentnb": {"words": len(words)}})


def _instructions(params: CellEditParams, name: str) -> str:
    number = f", In {name}" if name else ""
    where = f"This is about one {params.kind} cell of the notebook {params.path}: cell id {params.cell_id}{number}."
    if not params.source.strip():
        task = "The cell is empty: write what it is to have."
    elif len(params.source) > LONGEST_SHOWN:
        task = "Change this cell as asked. It is long: read it with the tool `cells` first."
    else:
        task = f"Change this cell as asked. Its text is now:\n\n{fenced(params.source)}"
    return (
        f"{where} {task}\n\n"
        "Call the tool `replace_cell` once, with this cell's id and the cell's whole new text. Change no other cell, "
        "no file and no variable, and do not run the cell. If you do not have that tool, answer with the cell's whole "
        "new text in one fenced code block."
    )
