"""The kernel's side of the JupyterLab extension: the pages' notebooks, and the request to show the sidebar.

Jupyter calls comm handlers on any thread; they only record what they receive.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections import deque
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any, NamedTuple

import comm
import msgspec

from agentnb.credentials import logger
from agentnb.errors import UsageError
from agentnb.ids import new_id
from agentnb.rpc_message import notification
from agentnb.server import lab_messages as m
from agentnb.server.comm.notebook import PageNotebook, Unfollowable, follow
from agentnb.server.messages import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from logging import Logger

log: Logger = logger("agentnb.comm")

MOST_SAVED = 1_000  # files that users saved; the oldest are dropped
MOST_PAGES = 16  # closed pages send no message; the oldest are dropped


_PageMessage = (
    m.NotebookMessage | m.EditedMessage | m.SavedMessage | m.FailedMessage | m.CellOutputsMessage | m.QuoteMessage
)


class _Page(NamedTuple):
    """One notebook in one page."""

    comm: Any
    context: contextvars.Context  # ipykernel sends to the page that opened the comm only in this context
    notebook: PageNotebook | None = None
    since: float = 0.0  # seconds since 1970
    acted_at: float = 0.0  # the user's last action, by the monotonic clock
    tells_outputs: bool = False

    def say(self, method: str, params: Any) -> None:
        message = notification(method, msgspec.to_builtins(params))
        self.context.copy().run(self.comm.send, {**message, "v": VERSION})


class Lab:
    """The messages of the pages with the extension. Usable from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: dict[str, _Page] = {}  # the page that the user used last is last
        self._edit_answers: dict[str, Future[m.EditedParams]] = {}
        self._wanted: dict[str, Future[m.CellsOutputsParams]] = {}
        self._saved: deque[tuple[m.SavedParams, float]] = deque(maxlen=MOST_SAVED)
        self.prompt_for: Callable[[m.FailedParams], str] | None = None
        """Returns the prompt for a failed cell, once a shell is connected."""
        self.quote: Callable[[m.QuoteParams], str] | None = None
        """Keeps selected code and returns its mention, once a shell is connected."""

    @property
    def notebook(self) -> PageNotebook | None:
        """The notebook of the page where the user was last active; None if no page has reported one."""
        with self._lock:
            return next((page.notebook for page in reversed(self._pages.values()) if page.notebook), None)

    @property
    def notebooks(self) -> list[tuple[PageNotebook, float]]:
        """Returns the pages' notebooks, last used first, and when each last changed (seconds since 1970)."""
        with self._lock:
            return [(page.notebook, page.since) for page in reversed(self._pages.values()) if page.notebook]

    @property
    def saved(self) -> list[tuple[m.SavedParams, float]]:
        """Returns what users did to files through Jupyter, oldest first, and when each was reported (Unix time)."""
        with self._lock:
            return list(self._saved)

    def register(self) -> None:
        comm.get_comm_manager().register_target(m.LAB_TARGET, self.opened)

    def opened(self, opened: Any, message: dict[str, Any]) -> None:
        """Handle a page opening the comm, for one notebook."""
        data = message.get("content", {}).get("data")
        tells_outputs = isinstance(data, dict) and data.get("outputs") is True
        skip_execution_events(opened)
        opened.on_msg(lambda message: self.heard(opened.comm_id, message))
        opened.on_close(lambda _: self._forget(opened.comm_id))
        with self._lock:
            context = contextvars.copy_context()
            self._pages[opened.comm_id] = _Page(opened, context, acted_at=time.monotonic(), tells_outputs=tells_outputs)
            for comm_id in [*self._pages][:-MOST_PAGES]:
                del self._pages[comm_id]

    def heard(self, comm_id: str, message: dict[str, Any]) -> None:
        with self._lock:
            page = self._pages.get(comm_id)
        if page is None:
            return
        try:
            match msgspec.convert(message["content"]["data"], _PageMessage):
                case m.NotebookMessage(params=params):
                    self._follow(comm_id, page, params)
                case m.EditedMessage(params=params):
                    self._settle(self._edit_answers, params)
                case m.CellOutputsMessage(params=params):
                    self._settle(self._wanted, params)
                case m.FailedMessage(params=params) if self.prompt_for is not None:
                    page.say("failedPrompt", m.FailedPromptParams(id=params.id, text=self.prompt_for(params)))
                case m.QuoteMessage(params=params) if self.quote is not None:
                    page.say("quoted", m.QuotedParams(id=params.id, mention=self.quote(params)))
                case m.SavedMessage(params=params):
                    with self._lock:
                        self._saved.append((params, time.time()))
        except Unfollowable:
            page.say("notebookAgain", {})
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            log.warning("A page sent a notebook that is not of the protocol: %s", error)

    def _follow(self, comm_id: str, page: _Page, params: m.NotebookParams) -> None:
        notebook = follow(page.notebook, params)
        with self._lock:
            if self._pages.pop(comm_id, None) is not None:
                since = page.since if _is_as_it_was(page.notebook, notebook) else time.time()
                acted_at = time.monotonic() - params.idle / 1000
                self._pages[comm_id] = page._replace(notebook=notebook, since=since, acted_at=acted_at)
                self._pages = dict(sorted(self._pages.items(), key=lambda each: each[1].acted_at))

    async def edit(
        self, edit: m.EditParams, timeout: float, *, notebook: Callable[[PageNotebook], int] = lambda _: 1
    ) -> m.EditedParams:
        """Have the page whose notebook fits best, by default the last used, change or run a cell of it."""
        request = msgspec.structs.replace(edit, id=new_id())
        answer: Future[m.EditedParams] = Future()
        with self._lock:
            page = self._fitting(notebook)
            self._edit_answers[request.id] = answer
        try:
            if page is None:
                raise UsageError("No browser page shows the notebook.", hint="Open agentnb's sidebar beside it.")
            page.say("edit", request)
            return await asyncio.wait_for(asyncio.wrap_future(answer), timeout)
        except asyncio.TimeoutError:
            hint = (
                "A cell may be blocking the kernel, or the page may be closed or older than this agentnb. "
                "Reload the page."
            )
            raise UsageError(f"The notebook's page did not answer within {timeout:g} s.", hint=hint) from None
        finally:
            with self._lock:
                self._edit_answers.pop(request.id, None)

    def _fitting(self, notebook: Callable[[PageNotebook], int]) -> _Page | None:
        """Returns the page whose notebook fits best, of equals the last used; None if none fits."""
        fits = [(notebook(page.notebook), page) for page in reversed(self._pages.values()) if page.notebook]
        fit, page = max(fits, key=lambda each: each[0], default=(0, None))
        return page if fit else None

    def _settle(self, waiting: dict[str, Future[Any]], params: m.EditedParams | m.CellsOutputsParams) -> None:
        with self._lock:
            answer = waiting.pop(params.id, None)
        if answer is not None and answer.set_running_or_notify_cancel():
            answer.set_result(params)

    def outputs(
        self, cell_ids: Sequence[str], timeout: float, *, notebook: Callable[[PageNotebook], int] = lambda _: 1
    ) -> tuple[m.CellOutputsParams, ...]:
        """Returns the outputs of cells, as shown where the user was last active; empty if no page sends them in time.

        Blocks: do not call it on a thread that receives the answer.
        """
        request = m.OutputsParams(id=new_id(), cell_ids=tuple(cell_ids))
        answer: Future[m.CellsOutputsParams] = Future()
        with self._lock:
            page = self._fitting(notebook)
            if page is None or not page.tells_outputs:
                return ()
            self._wanted[request.id] = answer
        try:
            page.say("outputs", request)
            return answer.result(timeout).cells
        except FutureTimeout:
            log.info("The notebook's page did not tell the outputs of cells within %g s.", timeout)
            return ()
        finally:
            with self._lock:
                self._wanted.pop(request.id, None)

    def _forget(self, comm_id: str) -> None:
        with self._lock:
            self._pages.pop(comm_id, None)


def _is_as_it_was(before: PageNotebook | None, now: PageNotebook) -> bool:
    """True if at most the path, the active cell and the selection have changed."""
    return before is not None and (before.cells, before.unsaved) == (now.cells, now.unsaved)


_lab = Lab()


def lab() -> Lab:
    return _lab


def current_notebook() -> PageNotebook | None:
    """The notebook of the page where the user was last active; None if no page has the extension's sidebar open."""
    return _lab.notebook


def ask_for_sidebar(answered: Callable[[bool], None]) -> None:
    sidebar_comm = comm.create_comm(target_name=m.SIDEBAR_TARGET, data={"v": VERSION})
    skip_execution_events(sidebar_comm)
    sidebar_comm.on_msg(lambda _: answered(True))
    sidebar_comm.on_close(lambda _: answered(False))


def skip_execution_events(comm: Any) -> None:
    """Keep a page's messages on *comm* from triggering IPython's ``pre_execute`` and ``post_execute`` events."""

    def handle_msg(message: dict[str, Any]) -> None:
        callback = getattr(comm, "_msg_callback", None)
        if callback is not None:
            callback(message)

    if hasattr(comm, "_msg_callback"):
        comm.handle_msg = handle_msg
