"""A kernel without an agent, its pages, and the wires between them, all controlled by the test."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from agentnb.agent.catalog import find
from agentnb.host import Host
from agentnb.host.channels import Channel
from agentnb.host.host import ROOT
from agentnb.log.record import ChannelLog
from agentnb.server.client import ACTIONS, MAX_TEXTS, MAX_UNACKNOWLEDGED, SILENT_SECONDS, TEXT
from agentnb.server.service import Service
from agentnb.state import Envelope, encode
from tests.unit.server.manual_loop import ManualLoop
from tests.unit.server.page import Page

TAB = "11111111-2222-4333-8444-555555555555"
ROUNDS = 120  # of half a second; by then everything must have settled


class World:
    """One kernel at a time, and its pages."""

    def __init__(self, *, pages: int = 2, log_entries: int = 5_000, turns: int = 30) -> None:
        self.loop = ManualLoop()
        self.all_pages: list[Page] = []
        self.flushed: dict[str, list[dict[str, Any]]] = {}
        self.history: dict[tuple[str, str], list[Any]] = {}
        self._log_entries = log_entries
        self._turns = turns
        self.pages: list[Page] = []
        self.start_kernel()
        self.pages = [self._open_page() for _ in range(pages)]

    # --- the kernel ---

    def start_kernel(self) -> None:
        """Starts a kernel with one tab, in place of the kernel before."""
        self.host = host = Host(self.loop)
        self.service = Service(host, partial(self._send, host), turns=self._turns)
        self.conversation = host.open(find("eliza"), cwd=Path.cwd(), tab_id=TAB)
        self.session, self.chat = self.conversation.session.uri, self.conversation.chat.uri
        self.uris = (ROOT, self.session, self.chat)
        for uri in self.uris:
            channel = host.channel(uri)
            channel.log = ChannelLog(max_entries=self._log_entries, begins_after=channel.index)
            self.history[host.host_id, uri] = [None] * channel.index + [channel.state]
        host.listen(self._keep)

    def restart_kernel(self) -> None:
        """Starts another kernel; the unsent messages of the one before are lost."""
        self.start_kernel()
        for page in self.pages:
            page.incoming.clear()

    def forget(self, page: Page) -> None:
        """Makes the kernel forget *page*, as after a long silence."""
        self.service.delivery.clients.pop(page.client_id, None)

    def _keep(self, channel: Channel[Any], envelope: Envelope) -> None:
        if envelope.rejection_reason is None:
            self.history[self.host.host_id, channel.uri].append(channel.state)

    def _send(self, host: Host, client_id: str, message: dict[str, Any]) -> None:
        if host is not self.host:
            return  # the kernel is gone
        if message.get("method") in {ACTIONS, TEXT}:
            self._must_not_press(client_id)
        for page in self.pages:
            if page.client_id == client_id:
                page.incoming.append(message)

    def _must_not_press(self, client_id: str) -> None:
        """Checks that only so many flushes are unacknowledged, unless the kernel hears no page at all."""
        delivery = self.service.delivery
        client = delivery.clients[client_id]
        few = client.unacknowledged_whole <= MAX_UNACKNOWLEDGED and client.unacknowledged <= MAX_TEXTS
        due, silent = client.due(), self.loop.time() - delivery.last_message_at >= SILENT_SECONDS
        assert few or silent or (due is not None and delivery.last_message_at <= due)

    # --- the pages ---

    def _open_page(self) -> Page:
        page = Page(f"page-{len(self.all_pages)}", self.loop)
        self.all_pages.append(page)
        for uri in (self.session, self.chat):
            page.follow(uri)
        page.show(visible=True)
        return page

    def reload(self, at: int) -> None:
        """Reloads the page: a new client replaces the old one."""
        self.flow(self.pages[at], hears=False)
        self.pages[at].close()
        self.pages[at] = self._open_page()

    # --- the wires ---

    def flow(self, page: Page, *, hears: bool = True) -> None:
        """Delivers all messages on the page's wire, in order."""
        for _ in range(len(page.outgoing)):
            self.service.receive(page.outgoing.popleft())
        if hears:
            self.listen(page)

    def listen(self, page: Page) -> None:
        """Delivers all messages to the page."""
        for _ in range(len(page.incoming)):
            page.hear(page.incoming.popleft())

    def settle(self) -> None:
        """Delivers everything and lets time pass, until nothing changes."""
        for _ in range(ROUNDS):
            for page in self.pages:
                self.flow(page)
            if all(self.settled(page) for page in self.pages):
                return
            self.loop.advance(500)

    def settled(self, page: Page) -> bool:
        """True if the page is where the kernel is, and nothing is in transit."""
        uris = self.uris if page.visible else (ROOT,)
        quiet = not page.incoming and not page.outgoing and page.host_id == self.host.host_id
        return quiet and all(
            uri in page.channels
            and page.channels[uri].confirmed is not None
            and page.channels[uri].index == self.host.channel(uri).index
            and not page.channels[uri].pending
            for uri in uris
        )

    # --- what must hold ---

    def truth(self, page: Page, uri: str) -> Any:
        """Returns the state of the page's kernel at the index that *page* has reached."""
        return self._without_earlier_turns(page, uri, self.history[page.host_id or "", uri][page.channels[uri].index])

    def seen(self, page: Page) -> dict[str, str]:
        """Returns what *page* shows, as JSON."""
        return {uri: encode(page.channels[uri].shown).decode() for uri in (self.uris if page.visible else (ROOT,))}

    def expected(self, page: Page) -> dict[str, str]:
        """Returns what *page* should show, as JSON."""
        return {
            uri: encode(self._without_earlier_turns(page, uri, self.host.channel(uri).state)).decode()
            for uri in self.seen(page)
        }

    def _without_earlier_turns(self, page: Page, uri: str, state: Any) -> Any:
        """Returns *state* without the turns that *page* does not get."""
        earlier = page.channels[uri].earlier
        return replace(state, turns=state.turns[earlier:]) if earlier else state
