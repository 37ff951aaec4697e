"""The messages on the comms of the JupyterLab extension.

``agentnb.lab`` is opened by the extension, once for each notebook that its sidebar shows, with ``{"v": 1, "clientId":
…}``. The page says ``notebook`` there when the notebook's cells, the active one, the selection or whether it is saved
have changed (a quarter of a second after the last change), or the user comes back to the page, and the kernel
``notebookAgain`` where it cannot follow and wants to hear all of it. The kernel says ``edit`` where an agent may change
or run a cell, and the page answers with ``edited``. The page says ``failed`` when the user wants the error of a cell
fixed or explained, and the kernel answers with ``failedPrompt``: what to send to the agent. The kernel says ``outputs``
to a page that can tell the outputs of cells (it says so when it opens the comm: ``"outputs": true``), and the page
answers with ``cellOutputs``. The page says ``quote`` when the user adds selected code to a message, and the kernel
answers with ``quoted``: what to mention.

The page says ``saved`` when a file was saved, made, renamed or deleted through it, in whatever editor: so that this
change can be told apart from an agent's.

``agentnb.sidebar`` is a comm that the kernel opens to ask every page to show its sidebar. A page that can answers
``{"shown": true}``; one without the extension closes it, as Jupyter wants for unknown targets.

``agentnb.rejoin`` is opened by a page that was loaded again; the kernel answers with its host model
(:mod:`agentnb.server.comm.frontend`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from agentnb.kernel.cell_changes import LONGEST_TAG, MOST_TAGS
from agentnb.kernel.code_runner import CellStep

LAB_TARGET = "agentnb.lab"
SIDEBAR_TARGET = "agentnb.sidebar"
REJOIN_TARGET = "agentnb.rejoin"
MOST_CELLS = 1_000
LONGEST_CELL = 20_000  # characters of one cell's source, and of the selection
LONGEST_TEXT = 1_000_000  # characters of a cell's text that undo needs

_Bounded = Annotated[str, msgspec.Meta(max_length=LONGEST_CELL)]
_CellId = Annotated[str, msgspec.Meta(max_length=256)]
_Tag = Annotated[str, msgspec.Meta(max_length=LONGEST_TAG)]
_Tags = Annotated[tuple[_Tag, ...], msgspec.Meta(max_length=MOST_TAGS)]


class CellParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One cell of a notebook.

    Attributes:
        id: Its id in the notebook (nbformat 4.5).
        kind: ``"code"``, ``"markdown"`` or ``"raw"``.
        count: Its execution count, once it has run.
        source: Its text, at most 20,000 characters; absent where it was sent before and has not changed.
        cut: Whether *source* is not all of it: a long cell, or one far from the active one in a long notebook.
        tags: Its tags; absent where it has none, or more than can be told.
        editable: Whether it may be edited (nbformat's metadata of that name).
        deletable: Whether it may be deleted, likewise.
    """

    id: Annotated[str, msgspec.Meta(max_length=256)]
    kind: str
    count: int | None = None
    source: _Bounded | None = None
    cut: bool = False
    tags: _Tags = ()
    editable: bool = True
    deletable: bool = True


class NotebookParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``notebook``, on the comm ``agentnb.lab``: what the page's notebook is now.

    At most 1,000 cells, those round the active one, and 200,000 characters of sources in all.

    Attributes:
        path: Its path on the Jupyter server.
        active: The active cell's id.
        active_at: The active cell's place among *cells*; absent where no other cell has its id.
        selection: What is selected in the active cell's editor.
        selected: The ids of the selected cells, where they are several.
        unsaved: Whether it has changes that are not in its file.
        read_only: Whether its file can't be written.
        first: How many cells come before those.
        cells: Its cells in their order; absent where nothing about them has changed.
        idle: Milliseconds since the user did something in the page: of several pages, what is to be done in the
            notebook is done where the user was last.
    """

    path: Annotated[str, msgspec.Meta(max_length=4_096)]
    active: str | None = None
    active_at: Annotated[int, msgspec.Meta(ge=0)] | None = None
    selection: _Bounded | None = None
    selected: Annotated[tuple[_CellId, ...], msgspec.Meta(max_length=MOST_CELLS)] = ()
    unsaved: bool = False
    read_only: bool = False
    first: int = 0
    cells: Annotated[tuple[CellParams, ...], msgspec.Meta(max_length=MOST_CELLS)] | None = None
    idle: Annotated[int, msgspec.Meta(ge=0)] = 0


class EditParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``edit``, on the comm ``agentnb.lab``, from the kernel: what the page shall do with its notebook.

    The change is one step that the user can undo. The user has allowed it (``run``: the text as it is here).

    ``change`` changes several cells, and is undo and redo of what a turn changed. All its steps are done, or none:
    where a cell is neither what a step expects nor what it would make of it, the answer names the conflicts.

    Attributes:
        id: What the answer names.
        action: ``insert`` a cell, ``replace`` a cell's text, ``run`` a code cell, ``change`` several cells, ``restart``
            the kernel; ``read`` all of a cell's text changes nothing.
        cell_id: The cell that is replaced, run or read, or below which one is put; absent: at the end.
        source: The new text; for ``run`` the text that the cell must have.
        expected: For ``replace``: the text that the cell must have; absent: any.
        expected_is_cut: Whether *expected* is only the beginning of that text.
        kind: The new cell's kind.
        wait: Whether the answer to ``run`` comes behind the cell's end, with its outputs.
        steps: What ``change`` does, in this order.
        exact: Whether a step that is done already is a conflict; else it is left out.
        file_hashes: For ``change``: the SHA-256 of the notebook's file as the page loaded or saved it, and as it is,
            where the page has all that is in it after the steps. It may then save over it without a question.
    """

    id: str
    action: Literal["insert", "replace", "run", "change", "read", "restart"]
    cell_id: str | None = None
    source: str = ""
    expected: str | None = None
    expected_is_cut: bool = False
    kind: Literal["code", "markdown"] = "code"
    wait: bool = True
    steps: tuple[CellStep, ...] = ()
    exact: bool = False
    file_hashes: tuple[str, str] | None = None


class CellConflict(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A cell that is other than a step expects.

    Attributes:
        cell_id: The cell.
        current: Its text; absent where there is no such cell, or the text is too long.
    """

    cell_id: Annotated[str, msgspec.Meta(max_length=256)]
    current: Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)] | None = None


class EditedParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``edited``, on the comm ``agentnb.lab``, from the page: what came of an ``edit``.

    Attributes:
        id: The ``edit``'s.
        number: The cell's place in the notebook, from 1.
        cell_id: The cell's id.
        outputs: What a cell that was run gave (nbformat's outputs; of pictures only their types).
        before: The text that ``replace`` replaced or ``read`` read, where it has at most 1,000,000 characters.
        conflicts: The cells that are other than expected; nothing was done where there is one.
        error: Why it was not done, a sentence.
    """

    id: Annotated[str, msgspec.Meta(max_length=256)]
    number: int = 0
    cell_id: Annotated[str, msgspec.Meta(max_length=256)] = ""
    outputs: Annotated[list[dict[str, Any]], msgspec.Meta(max_length=MOST_CELLS)] | None = None
    before: Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)] | None = None
    conflicts: Annotated[tuple[CellConflict, ...], msgspec.Meta(max_length=MOST_CELLS)] | None = None
    error: Annotated[str, msgspec.Meta(max_length=LONGEST_CELL)] | None = None


class OutputsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``outputs``, on the comm ``agentnb.lab``, from the kernel: the outputs of cells are wanted, as they are shown.

    Attributes:
        id: What the answer names.
        cell_ids: The cells; none: the cell that shows a figure and has the highest execution count.
    """

    id: str
    cell_ids: tuple[str, ...] = ()


class CellOutputsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The outputs of one cell.

    Attributes:
        cell_id: The cell.
        outputs: Its outputs, as in a notebook's file: long texts cut, pictures as PNG, JPEG, GIF or WebP, SVGs and
            charts with the PNG that the page has drawn; a number in the place of a picture is the size in bytes of one
            that is too large.
    """

    cell_id: _CellId
    outputs: Annotated[list[dict[str, Any]], msgspec.Meta(max_length=MOST_CELLS)]


class CellsOutputsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``cellOutputs``, on the comm ``agentnb.lab``, from the page: the answer to ``outputs``.

    Attributes:
        id: The ``outputs``'s.
        cells: The outputs of each cell that the notebook has.
    """

    id: _CellId
    cells: Annotated[tuple[CellOutputsParams, ...], msgspec.Meta(max_length=MOST_CELLS)] = ()


class QuoteParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``quote``, on the comm ``agentnb.lab``, from the page: the user adds selected code to a message.

    Attributes:
        id: What the answer names.
        cell_id: The cell that it is selected in.
        text: What is selected.
    """

    id: _CellId
    cell_id: _CellId
    text: _Bounded


class QuotedParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``quoted``, on the comm ``agentnb.lab``, from the kernel: the kernel has kept what a ``quote`` says.

    Attributes:
        id: The ``quote``'s.
        mention: What to write into the message.
    """

    id: str
    mention: str


class CellOutputsMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="method", tag="cellOutputs"):
    """The envelope of ``cellOutputs``.

    Attributes:
        v: The protocol's version.
        params: The outputs.
    """

    v: Literal[1]
    params: CellsOutputsParams


class QuoteMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="method", tag="quote"):
    """The envelope of ``quote``.

    Attributes:
        v: The protocol's version.
        params: What is selected.
    """

    v: Literal[1]
    params: QuoteParams


class FailedParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``failed``, on the comm ``agentnb.lab``, from the page: the user wants the error of a cell fixed or explained.

    Attributes:
        id: What the answer names.
        action: What the user wants.
        cell_id: The cell.
        count: Its execution count.
        name: The error's class, as the cell's output has it.
        message: The error's message.
        traceback: The traceback in the output; of a long one its end.
    """

    id: Annotated[str, msgspec.Meta(max_length=256)]
    action: Literal["fix", "explain"]
    cell_id: Annotated[str, msgspec.Meta(max_length=256)]
    count: int | None = None
    name: _Bounded = ""
    message: _Bounded = ""
    traceback: _Bounded = ""


class FailedPromptParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``failedPrompt``, on the comm ``agentnb.lab``, from the kernel: the prompt for a ``failed``.

    Attributes:
        id: The ``failed``'s.
        text: What to send to the agent; it mentions the error.
    """

    id: str
    text: str


class FailedMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="method", tag="failed"):
    """The envelope of ``failed``.

    Attributes:
        v: The protocol's version.
        params: Which cell's error, and what the user wants.
    """

    v: Literal[1]
    params: FailedParams


class EditedMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="method", tag="edited"):
    """The envelope of ``edited``.

    Attributes:
        v: The protocol's version.
        params: What came of it.
    """

    v: Literal[1]
    params: EditedParams


class NotebookMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="method", tag="notebook"):
    """The envelope of ``notebook``.

    Attributes:
        v: The protocol's version.
        params: What the notebook is now.
    """

    v: Literal[1]
    params: NotebookParams


class SavedParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``saved``, on the comm ``agentnb.lab``, from the page: what the user did to a file through Jupyter.

    Attributes:
        path: The file's path on the Jupyter server.
        type: What happened (``IChangedArgs`` of JupyterLab's contents).
        was: Its path before it was renamed.
        is_automatic: Whether JupyterLab saved it by itself.
    """

    path: Annotated[str, msgspec.Meta(max_length=4_096)]
    type: Literal["save", "new", "rename", "delete"]
    was: Annotated[str, msgspec.Meta(max_length=4_096)] | None = None
    is_automatic: bool = False


class SavedMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="method", tag="saved"):
    """The envelope of ``saved``.

    Attributes:
        v: The protocol's version.
        params: What was done to which file.
    """

    v: Literal[1]
    params: SavedParams
