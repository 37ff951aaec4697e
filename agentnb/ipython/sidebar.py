"""``agentnb.sidebar()``: the chat in JupyterLab's right area, or the next best thing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle, display

from agentnb.errors import UsageError
from agentnb.ipython.turn_display import Audience, audience_of, in_notebook
from agentnb.server.comm.lab import ask_for_sidebar

if TYPE_CHECKING:
    from agentnb.api.session import Session

ANSWER_SECONDS = 3.0
"""Seconds that a page may take to report that it shows its sidebar (0.2 s is usual)."""

_WHY = (
    "This page doesn't have agentnb's JupyterLab extension (it did not answer). The extension comes with "
    "agentnb: install agentnb where the Jupyter server runs, too, and reload the page."
)


def sidebar(session: Session | None = None) -> None:
    """Show the chat in the sidebar of JupyterLab 4 or Notebook 7.

    The page answers within a moment. If it does not have agentnb's extension, the ``sidecar`` package is used if it is
    installed; otherwise the chat is shown under the cell. The output says what was done and why.

    Args:
        session: The session whose tab comes first, if the sidebar is not agentnb's own; the newest by default.

    Raises:
        UsageError: If there is no notebook page: in a terminal or a console.

    Example:
        >>> agentnb.sidebar()  # doctest: +SKIP
    """
    audience = audience_of(shell := get_ipython())
    if audience is Audience.NOBODY:
        display(_words("The sidebar needs a notebook that is open in a browser."), raw=True)
        return
    if audience is Audience.TERMINAL or not in_notebook(shell):
        raise UsageError("There is no sidebar here.", hint="It belongs to a notebook: JupyterLab 4 or Notebook 7.")
    _Asking(session).begin()


class _Asking:
    """One call's wait for a page."""

    def __init__(self, session: Session | None) -> None:
        self._session = session
        self._handle = DisplayHandle()
        self._lock = threading.Lock()
        self._is_open = self._fell_back = False
        self._timer = threading.Timer(ANSWER_SECONDS, self._fall_back)
        self._timer.daemon = True

    def begin(self) -> None:
        """Ask the page for the sidebar; the cell ends meanwhile."""
        self._handle.display(_words("Opening the sidebar…"), raw=True)
        self._timer.start()
        ask_for_sidebar(self._answered)

    def _answered(self, is_shown: bool) -> None:
        self._timer.cancel()
        if not is_shown:
            self._fall_back()
            return
        with self._lock:
            self._is_open = True
        self._handle.update(_words("The chat is in the sidebar on the right."), raw=True)

    def _fall_back(self) -> None:
        with self._lock:
            if self._is_open or self._fell_back:
                return
            self._fell_back = True
        self._handle.update(_instead(self._session), raw=True)


def _instead(session: Session | None) -> dict[str, Any]:
    """The output if no page has the extension: the chat, or a note after opening it in a sidecar panel."""
    from ipywidgets import HTML, VBox

    from agentnb.server.comm import frontend

    panel = frontend.chat_view(session.tab_id if session is not None else None)
    if _in_sidecar(panel):
        return _words(f"The chat is in a sidecar panel. {_WHY}")
    box = VBox([HTML(f"The chat is shown here and not in the sidebar. {_WHY}"), panel])
    bundle: dict[str, Any] = box._repr_mimebundle_()
    return bundle


def _in_sidecar(panel: Any) -> bool:
    try:
        from sidecar import Sidecar
    except ImportError:
        return False
    output = {"output_type": "display_data", "data": panel._repr_mimebundle_()[0], "metadata": {}}
    Sidecar(title="Agents", anchor="right", outputs=(output,))
    return True


def _words(text: str) -> dict[str, str]:
    return {"text/plain": text}
