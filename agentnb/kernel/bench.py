"""The bench: what the tools work on. Named here, known by who knows the shell and the notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import msgspec

from agentnb.kernel.desk import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.kernel.desk import Work

T = TypeVar("T")


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """One of the user's names.

    Args:
        name: What it is called.
        detail: Its type, and shape or length.
        size: Its own size in bytes, where it says; for frames and arrays that of their data.
    """

    name: str
    detail: str
    size: int | None = None


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """What code raised.

    Args:
        name: The exception's class.
        message: What it says.
        traceback: Where, as IPython shows it, without colours.
    """

    name: str
    message: str
    traceback: str


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What came of running code.

    Args:
        printed: What went to stdout and stderr, in order.
        result: The last expression's value, as text.
        shown: What was displayed, the result last where it is more than text: mime bundles.
        failure: What it raised.
        stopped: Who stopped it.
    """

    printed: str = ""
    result: str | None = None
    shown: tuple[dict[str, Any], ...] = ()
    failure: Failure | None = None
    stopped: Stop | None = None


class CellView(msgspec.Struct, frozen=True, kw_only=True):
    """A cell as an agent is told of it.

    Args:
        cell_id: Its id in the notebook; empty where that has none.
        kind: ``"code"``, ``"markdown"`` or ``"raw"``.
        source: Its text.
        count: Its execution count, once it has run.
        output: What it gave, as text.
        cut: Whether *source* is not all of it.
    """

    cell_id: str
    kind: str
    source: str
    count: int | None = None
    output: str = ""
    cut: bool = False


class NotebookView(msgspec.Struct, frozen=True, kw_only=True):
    """A notebook as an agent is told of it.

    Args:
        name: Its path, as far as that is known.
        path: Where its file is, absolute; None where that is not known.
        live: Whether this is what a page has open, not only what is in the file.
        cells: Its cells.
    """

    name: str
    path: str | None
    live: bool
    cells: tuple[CellView, ...]


class Edit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a page is asked to do with its notebook.

    Args:
        action: What.
        cell_id: The cell that is replaced or run, or below which one is put; None: at the end.
        source: The new text; for ``run`` the text that was allowed: another is not run.
        kind: The new cell's kind.
    """

    action: Literal["insert", "replace", "run"]
    cell_id: str | None = None
    source: str = ""
    kind: Literal["code", "markdown"] = "code"


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an :class:`Edit`.

    Args:
        text: What the agent is told.
        raised: Whether the cell that was run raised.
    """

    text: str
    raised: bool = False


class Bench(Protocol):
    """What is there to work on.

    ``variables`` and ``inspect`` are called on the main thread (:meth:`look`), ``notebook`` on a thread of its own.
    """

    def variables(self) -> Sequence[Variable]:
        """The user's variables, by name."""
        ...

    def inspect(self, path: str) -> str:
        """What *path*, as in ``df.columns`` or ``runs[0]["loss"]``, leads to.

        Raises:
            UsageError: If it is no path, or leads nowhere.
        """
        ...

    def notebook(self, *, outputs: bool) -> NotebookView:
        """The notebook: as a page has it open, else its file.

        Raises:
            UsageError: If neither is known.
        """
        ...

    def work(self, code: str) -> Work[Ran]:
        """*code*, ready to be run on the main thread as a cell is."""
        ...

    def look(self, look: Callable[[], T]) -> Work[T]:
        """*look*, ready to be done on the main thread: it looks at the user's objects, whose own code runs then."""
        ...

    async def edit(self, edit: Edit) -> Edited:
        """Let the page change or run a cell.

        Raises:
            UsageError: If no page is there that can.
        """
        ...
