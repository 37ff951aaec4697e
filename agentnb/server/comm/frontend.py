"""The front end over comm: pages that connect, come back or go silent.

Jupyter delivers messages on any thread; they go to the host's thread at once.

The answer to a page that comes back includes the host model in the format of ipywidgets, because the page's own request
for the kernel's widgets waits for the running cell.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import comm

from agentnb import __version__
from agentnb.host import current_host
from agentnb.server.comm.lab import lab, skip_execution_events
from agentnb.server.comm.model import HostModel, PanelModel, reference, send_to
from agentnb.server.comm.open_notebooks import OpenNotebooks
from agentnb.server.lab_messages import REJOIN_TARGET
from agentnb.server.service import Service

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.host import Host
    from agentnb.host.loop import HostLoop
    from agentnb.server.service import PageService, Send


ASK_SECONDS = 5.0
PROMPT_SECONDS = 1.0  # answers within this time count as immediate


class BlockedTime:
    """Measures how long the loop that receives messages was blocked: every few seconds it posts a callback to it."""

    def __init__(self, host_loop: HostLoop) -> None:
        self._host_loop = host_loop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asks = False
        self._asked_at: float | None = None
        self._past = 0.0

    def record_message(self) -> None:
        """Note the loop on which a page's message came in; call it on that loop, from any thread."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # no loop to measure: the kernel counts as never blocked
        if loop is not self._loop:
            self._loop = loop
            self._host_loop.post(self._begin)

    def blocked_seconds(self) -> float:
        """Returns the total time, in seconds, for which the loop was blocked."""
        asked_at = self._asked_at
        return self._past + (0.0 if asked_at is None else self._wait_since(asked_at))

    def _wait_since(self, asked_at: float) -> float:
        waited = self._host_loop.time() - asked_at
        return waited if waited > PROMPT_SECONDS else 0.0

    def _begin(self) -> None:
        if not self._asks or self._asked_at is not None:  # the previous loop may never answer
            self._asks = True
            self._ask()

    def _ask(self) -> None:
        loop = self._loop
        self._asked_at = self._host_loop.time()
        try:
            if loop is not None:
                loop.call_soon_threadsafe(self._host_loop.post, self._answered)
        except RuntimeError:  # the loop was closed: the next message sets another one
            self._loop, self._asked_at, self._asks = None, None, False

    def _answered(self) -> None:
        if self._asked_at is not None:
            self._past += self._wait_since(self._asked_at)
            self._asked_at = None
            self._host_loop.later(ASK_SECONDS, self._ask)


ARRIVAL_SECONDS = 10.0
"""Seconds that a question waits for a page in which an output was just shown.

0.2 s is usual; on a machine that was seven times overbooked, it took more than three.
"""


class Frontend:
    """The host model of one kernel and the service behind it."""

    def __init__(self, host: Host) -> None:
        self.model: HostModel = HostModel()
        self._host = host
        self.service: Service = Service(host, partial(self._send, self.model))
        self._context: contextvars.Context | None = None
        self._arrivals: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self.blocked: BlockedTime = BlockedTime(host.loop)
        self._shown_at: float | None = None
        host.environment.connect(
            attached=self.attached, arrival=self._arrival, editors=OpenNotebooks(lab(), attached=self.attached)
        )
        self._listen(self.model, self.service, self._receive)
        comm.get_comm_manager().register_target(REJOIN_TARGET, self._rejoined)

    def attached(self) -> bool:
        """True if a page has reported that it is ready, and has not gone. Usable from any thread."""
        return self.service.delivery.attached

    async def wait_attached(self, timeout: float) -> bool:
        """Wait at most *timeout* seconds until a page is ready; returns True if one is."""
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()

        def arrive() -> None:
            with contextlib.suppress(RuntimeError):  # the caller's loop was closed meanwhile
                loop.call_soon_threadsafe(arrived.set)

        with self._lock:
            if self.attached():
                return True
            self._arrivals.append(arrive)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(arrived.wait(), timeout)
        with self._lock, contextlib.suppress(ValueError):
            self._arrivals.remove(arrive)
        return self.attached()

    def speak_from_here(self) -> None:
        """Send from now on in the context of the running request: pages answer to the shell that it came in on."""
        self._context = contextvars.copy_context()
        self._send(self.model, "", {})  # has no receiver: it moves the comm to this context

    def _rejoined(self, page_comm: Any, message: dict[str, Any]) -> None:
        """Send a page that comes back what it needs to have the host model: its layout, then the model itself."""
        if message.get("header", {}).get("subshell_id"):
            self.speak_from_here()
        model = self.model
        models = [{"id": widget.model_id, "state": widget.get_state()} for widget in (model.layout, model)]
        page_comm.send({"modelId": model.model_id, "version": __version__, "models": models})

    def _send(self, model: HostModel, client_id: str, message: dict[str, Any], /) -> None:
        context = self._context.copy() if self._context is not None else contextvars.copy_context()
        context.run(send_to, model, client_id, message)

    def connect(self, make: Callable[[Send], PageService]) -> tuple[HostModel, PageService]:
        """Returns a second host model with a service of its own behind it, for the chat of another host."""
        model = HostModel()
        service = make(partial(self._send, model))
        self._listen(model, service, service.receive)
        return model, service

    def _listen(self, model: HostModel, service: PageService, receive: Callable[[Any], None]) -> None:
        def received(_model: HostModel, content: Any, _buffers: Any) -> None:
            self.blocked.record_message()
            self._host.loop.post(receive, content)

        service.delivery.blocked_seconds = self.blocked.blocked_seconds
        skip_execution_events(model.comm)
        model.on_msg(received)
        model.comm.on_close(lambda _message: self._host.loop.post(service.delivery.clients.clear))

    def panel(self, what: dict[str, Any], model: HostModel | None = None) -> PanelModel:
        """Returns a small model that shows *what*, of this kernel or of the host whose model is given."""
        self._shown_at = self._host.loop.time()
        return PanelModel(host=reference(self.model if model is None else model), what=what)

    async def _arrival(self) -> bool:
        """If something was just shown, wait for the page to report that it is ready; returns True if a page is."""
        left = 0.0 if self._shown_at is None else self._shown_at + ARRIVAL_SECONDS - self._host.loop.time()
        return self.attached() if left <= 0 else await self.wait_attached(left)

    def _receive(self, content: Any) -> None:
        self.service.receive(content)
        with self._lock:  # a waiter is either in the list or sees the page
            arrivals = self._arrivals if self.attached() else []
            if arrivals:
                self._arrivals = []
        for arrive in arrivals:
            arrive()


_lock = threading.Lock()
_frontends: dict[str, Frontend] = {}


def current_frontend() -> Frontend:
    """Returns this kernel's front end, which the first call creates."""
    host = current_host()
    with _lock:
        if host.host_id not in _frontends:
            _frontends[host.host_id] = Frontend(host)
        return _frontends[host.host_id]


def attached() -> bool:
    """True if a page shows something of ours."""
    return any(frontend.attached() for frontend in tuple(_frontends.values()))


def turn_view(channel: str, turn_id: str) -> PanelModel:
    """A small widget that shows one turn, live."""
    return current_frontend().panel({"kind": "turn", "channel": channel, "turnId": turn_id})


def chat_view(tab: str | None = None) -> PanelModel:
    """A small widget that shows the chat with every tab."""
    return current_frontend().panel({"kind": "chat"} if tab is None else {"kind": "chat", "tab": tab})
