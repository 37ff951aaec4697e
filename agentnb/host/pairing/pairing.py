"""Pairing: whether programs in a terminal may use this kernel, and which of them are connected.

A kernel is reachable only while it is paired. Then it listens on a Unix socket that only its user can open
(:mod:`agentnb.kernel.socket_server`), and a file tells that user's programs where
(:mod:`agentnb.kernel.paired_kernels`).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.errors import AgentnbError, NotOffered
from agentnb.host.channels import PAIRED, PAIRING
from agentnb.host.pairing.paired_client import (
    IDLE_SECONDS,
    PROGRESS_SECONDS,
    PairedClient,
    PairedConversation,
    read_only,
)
from agentnb.host.session_options import SessionOptions
from agentnb.ids import new_id
from agentnb.kernel.paired_connection import LINGER_SECONDS
from agentnb.kernel.paired_kernels import register, unregister
from agentnb.kernel.paired_server import PairedServer
from agentnb.kernel.socket_server import SocketServer
from agentnb.log.location import log_place
from agentnb.state import RootConfigChanged

if TYPE_CHECKING:
    from agentnb.agent.catalog import AgentSpec
    from agentnb.host.host import Host
    from agentnb.state import ActionOrigin


UNPAIRED = "The user ended the pairing of this kernel."
KERNEL_ENDED = "The kernel has ended or was restarted."
_NOTEBOOK_SECONDS = 2.0


class Pairing:
    """The pairing of one host. Everything here runs on the host's thread."""

    def __init__(self, host: Host) -> None:
        self.idle_seconds = IDLE_SECONDS
        self.progress_seconds = PROGRESS_SECONDS
        self._host = host
        self._server: SocketServer | None = None
        self._folder: Path | None = None
        self._clients: dict[PairedClient, PairedConversation] = {}
        self._starting = asyncio.Lock()

    @property
    def on(self) -> bool:
        """Whether this kernel is paired."""
        return self._server is not None

    @property
    def connected(self) -> tuple[PairedConversation, ...]:
        """The conversations of the programs that are connected, in the order in which they came."""
        return tuple(self._clients.values())

    @property
    def is_kernel_busy(self) -> bool:
        """Whether the main thread runs a cell that does not wait for a turn."""
        job_queue = self._host.environment.job_queue
        return job_queue.is_main_thread_busy() and not job_queue.has_waiter

    async def start(self, origin: ActionOrigin | None = None) -> None:
        """Let programs connect; no effect where they may already."""
        async with self._starting:
            if self._server is not None:
                self._tell(origin)
                return
            if self._host.environment.code_runner() is None:
                raise NotOffered("There is no IPython kernel here.", hint="Pairing works in IPython and in notebooks.")
            server = await SocketServer.started(lambda: PairedServer(PairedClient(self)))
            try:
                self._folder = register(new_id(), *server.address)
            except OSError as error:
                server.close()
                message = f"The kernel cannot be paired: its file cannot be written ({error})."
                raise NotOffered(message, hint="Set AGENTNB_DATA_DIR to a folder that you can write.") from None
            self._server = server
            self._tell(origin)

    def stop(self, reason: str = UNPAIRED, origin: ActionOrigin | None = None) -> None:
        """End the pairing and all its connections; no effect where there is none."""
        server, self._server = self._server, None
        folder, self._folder = self._folder, None
        if folder is not None:
            unregister(folder)
        for client in [*self._clients]:
            client.end(reason)
        if server is not None:
            server.close(LINGER_SECONDS)
        self._tell(origin)

    def joined(self, client: PairedClient, spec: AgentSpec) -> PairedConversation:
        """*client* has introduced itself as *spec*: its conversation, the one it had where that is free."""
        taken = {each.tab_id for each in self._clients.values()}
        same = [
            each
            for each in self._host.conversations.values()
            if isinstance(each, PairedConversation) and each.spec.name == spec.name and each.closing is None
        ]
        free = [each for each in same if each.tab_id not in taken]
        conversation = free[0] if free else self._opened(spec, len(same) + 1)
        self._clients[client] = conversation
        self._tell()
        return conversation

    def left(self, client: PairedClient) -> None:
        """*client* is not connected any more."""
        if self._clients.pop(client, None) is not None:
            self._tell()

    def _tell(self, origin: ActionOrigin | None = None) -> None:
        """Show in the host's settings how it stands."""
        values = {PAIRING: self.on, PAIRED: [each.session.uri for each in self.connected]}
        self._host.root.accept(RootConfigChanged(config=values), origin)

    async def describe(self) -> dict[str, Any]:
        """What a program is told of this kernel before it chooses it."""
        return {
            "notebook": await self._notebook(),
            "folder": str(Path.cwd()),
            "busy": self.is_kernel_busy,
            "connected": [each.channels.title for each in self.connected],
        }

    def _opened(self, spec: AgentSpec, number: int) -> PairedConversation:
        options = SessionOptions(spec=spec, cwd=Path.cwd(), kernel_tools=True)
        title = spec.title if number == 1 else f"{spec.title} {number}"
        configured = options.configuration(self._host.environment.cassette.apart())
        conversation = PairedConversation(self._host, configured, tab_id=new_id(), title=title)
        self._host.adopt(conversation)
        conversation.restored(None, read_only(spec.title))
        return conversation

    async def _notebook(self) -> str:
        runner = self._host.environment.code_runner()
        if runner is None:
            return log_place()
        try:
            read = asyncio.to_thread(runner.notebook, outputs=False)
            return (await asyncio.wait_for(read, _NOTEBOOK_SECONDS)).name
        except (AgentnbError, OSError, asyncio.TimeoutError):
            return log_place()
