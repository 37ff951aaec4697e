"""The messages on the comms of the JupyterLab extension.

The extension opens ``agentnb.lab`` once for each notebook that its sidebar shows, with ``{"v": 1, "clientId": …}``. The
page sends ``notebook`` when the notebook's cells, active cell, selection or saved state have changed (a quarter of a
second after the last change), or when the user comes back to the page. The kernel sends ``notebookAgain`` if it cannot
follow and needs the whole notebook. The kernel sends ``edit`` when an agent may change or run a cell, and the page
answers with ``edited``. The page sends ``failed`` when the user wants the error of a cell fixed or explained, and the
kernel answers with ``failedPrompt``: the prompt for the agent. The kernel sends ``outputs`` to a page that can send the
outputs of cells (it says so when it opens the comm: ``"outputs": true``), and the page answers with ``cellOutputs``.
The page sends ``quote`` when the user adds selected code to a message, and the kernel answers with ``quoted``: the
mention for the message.

The page sends ``saved`` when a file was saved, created, renamed or deleted through it, in any editor, so that the
kernel can distinguish this change from an agent's.

``agentnb.sidebar`` is a comm that the kernel opens to ask every page to show its sidebar. A page that can do so answers
``{"shown": true}``; one without the extension closes it, as Jupyter requires for unknown targets.

A reloaded page opens ``agentnb.rejoin``; the kernel answers with its host model
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


class _Envelope(msgspec.Struct, frozen=True, kw_only=True, tag_field="method"):
    """The envelope of a page's message: the protocol's version, and in subclasses the message's parameters."""

    v: Literal[1]


class CellParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One cell of a notebook.

    Attributes:
        id: Its id in the notebook (nbformat 4.5).
        kind: ``"code"``, ``"markdown"`` or ``"raw"``.
        count: Its execution count, once it has run.
        source: Its text, at most 20,000 characters; absent if it was sent before and has not changed.
        cut: True if *source* is incomplete: a long cell, or one far from the active one in a long notebook.
        tags: Its tags; absent if it has none, or too many or too long ones.
        editable: True if it may be edited (nbformat's metadata of that name).
        deletable: True if it may be deleted, likewise.
    """

    id: _CellId
    kind: str
    count: int | None = None
    source: _Bounded | None = None
    cut: bool = False
    tags: _Tags = ()
    editable: bool = True
    deletable: bool = True


class NotebookParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``notebook``, on the comm ``agentnb.lab``: the current state of the page's notebook.

    At most 1,000 cells, those around the active one, and 200,000 characters of sources in total.

    Attributes:
        path: Its path on the Jupyter server.
        active: The active cell's id.
        active_at: The active cell's place among *cells*; absent if no other cell has its id.
        selection: The selected text in the active cell's editor.
        selected: The ids of the selected cells, if there are several.
        unsaved: True if it has changes that are not in its file.
        read_only: True if its file cannot be written.
        first: The number of cells before those.
        cells: Its cells in their order; absent if nothing about them has changed.
        idle: Milliseconds since the user was active in the page: of several pages, the one last used changes the
            notebook.
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
    """``edit``, on the comm ``agentnb.lab``, from the kernel: an operation on the page's notebook.

    The user can undo the change as one step. The user has allowed it (``run``: the text exactly as it is here).

    ``change`` changes several cells, and carries out undo and redo of a turn's changes. It does all its steps or none:
    if a cell has neither the text that a step expects nor the step's result, the answer names the conflicts.

    Attributes:
        id: The id for the answer.
        action: ``insert`` a cell, ``replace`` a cell's text, ``run`` a code cell, ``change`` several cells, ``restart``
            the kernel; ``read`` all of a cell's text changes nothing.
        cell_id: The cell to replace, run or read, or below which to insert one; absent: at the end.
        source: The new text; for ``run`` the text that the cell must have.
        expected: For ``replace``: the text that the cell must have; absent: any.
        expected_is_cut: True if *expected* is only the beginning of that text.
        kind: The new cell's kind.
        wait: True if the answer to ``run`` comes after the cell's end, with its outputs.
        steps: The steps of ``change``, in this order.
        exact: True if a step that is already done is a conflict; else it is skipped.
        file_hashes: For ``change``: the SHA-256 of the notebook's file as the page loaded or saved it, and as it is
            now, if the page has all of its content after the steps. It may then save over it without a question.
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
    """A cell that differs from what a step expects.

    Attributes:
        cell_id: The cell.
        current: The cell's text; absent if the cell does not exist, or the text is too long.
    """

    cell_id: _CellId
    current: Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)] | None = None


class EditedParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``edited``, on the comm ``agentnb.lab``, from the page: the result of an ``edit``.

    Attributes:
        id: The id of the ``edit``.
        number: The cell's place in the notebook, from 1.
        cell_id: The cell's id.
        outputs: The outputs of a cell that was run (nbformat's outputs; of pictures only their types).
        before: The text that ``replace`` replaced or ``read`` read, if it has at most 1,000,000 characters.
        conflicts: The cells that differ from what was expected; if there is one, nothing was done.
        error: A sentence that says why it was not done.
    """

    id: _CellId
    number: int = 0
    cell_id: _CellId = ""
    outputs: Annotated[list[dict[str, Any]], msgspec.Meta(max_length=MOST_CELLS)] | None = None
    before: Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)] | None = None
    conflicts: Annotated[tuple[CellConflict, ...], msgspec.Meta(max_length=MOST_CELLS)] | None = None
    error: Annotated[str, msgspec.Meta(max_length=LONGEST_CELL)] | None = None


class OutputsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``outputs``, on the comm ``agentnb.lab``, from the kernel: a request for the outputs of cells as shown.

    Attributes:
        id: The id for the answer.
        cell_ids: The cells; if empty, the cell that shows a figure and has the highest execution count.
    """

    id: str
    cell_ids: tuple[str, ...] = ()


class CellOutputsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The outputs of one cell.

    Attributes:
        cell_id: The cell.
        outputs: The cell's outputs, as in a notebook's file: long texts cut, pictures as PNG, JPEG, GIF or WebP, SVGs
            and charts with the PNG that the page has drawn; a number in place of a picture is the size in bytes of a
            picture that is too large.
    """

    cell_id: _CellId
    outputs: Annotated[list[dict[str, Any]], msgspec.Meta(max_length=MOST_CELLS)]


class CellsOutputsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``cellOutputs``, on the comm ``agentnb.lab``, from the page: the answer to ``outputs``.

    Attributes:
        id: The id of the ``outputs``.
        cells: The outputs of each cell that the notebook has.
    """

    id: _CellId
    cells: Annotated[tuple[CellOutputsParams, ...], msgspec.Meta(max_length=MOST_CELLS)] = ()


class QuoteParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``quote``, on the comm ``agentnb.lab``, from the page: the user adds selected code to a message.

    Attributes:
        id: The id for the answer.
        cell_id: The cell that contains the code.
        text: The selected code.
    """

    id: _CellId
    cell_id: _CellId
    text: _Bounded


class QuotedParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``quoted``, on the comm ``agentnb.lab``, from the kernel: the kernel has stored the code of a ``quote``.

    Attributes:
        id: The id of the ``quote``.
        mention: The text to write into the message.
    """

    id: str
    mention: str


class CellOutputsMessage(_Envelope, frozen=True, kw_only=True, tag="cellOutputs"):
    params: CellsOutputsParams


class QuoteMessage(_Envelope, frozen=True, kw_only=True, tag="quote"):
    params: QuoteParams


class FailedParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``failed``, on the comm ``agentnb.lab``, from the page: the user wants the error of a cell fixed or explained.

    Attributes:
        id: The id for the answer.
        action: The action that the user wants.
        cell_id: The cell.
        count: The cell's execution count.
        name: The error's class, as in the cell's output.
        message: The error's message.
        traceback: The traceback in the output; only the end of a long one.
    """

    id: _CellId
    action: Literal["fix", "explain"]
    cell_id: _CellId
    count: int | None = None
    name: _Bounded = ""
    message: _Bounded = ""
    traceback: _Bounded = ""


class FailedPromptParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``failedPrompt``, on the comm ``agentnb.lab``, from the kernel: the prompt for a ``failed``.

    Attributes:
        id: The id of the ``failed``.
        text: The prompt for the agent; it mentions the error.
    """

    id: str
    text: str


class FailedMessage(_Envelope, frozen=True, kw_only=True, tag="failed"):
    params: FailedParams


class EditedMessage(_Envelope, frozen=True, kw_only=True, tag="edited"):
    params: EditedParams


class NotebookMessage(_Envelope, frozen=True, kw_only=True, tag="notebook"):
    params: NotebookParams


class SavedParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``saved``, on the comm ``agentnb.lab``, from the page: the user changed a file through Jupyter.

    Attributes:
        path: The file's path on the Jupyter server.
        type: The kind of change (``IChangedArgs`` of JupyterLab's contents).
        was: The file's path before it was renamed.
        is_automatic: True if JupyterLab saved it automatically.
    """

    path: Annotated[str, msgspec.Meta(max_length=4_096)]
    type: Literal["save", "new", "rename", "delete"]
    was: Annotated[str, msgspec.Meta(max_length=4_096)] | None = None
    is_automatic: bool = False


class SavedMessage(_Envelope, frozen=True, kw_only=True, tag="saved"):
    params: SavedParams
