"""Paired kernels: how an agent in a terminal finds one, connects to it, and is served.

Each paired kernel has its own folder (mode 0700) in ``paired`` of agentnb's data folder, with one file (mode 0600)
that contains its socket's name and token. The folder is removed when the pairing ends; if the kernel is killed, by the
watchdog; and if even that fails, by the next search for kernels. A file that belongs to another user is not read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from agentnb.acp.fields import mapping
from agentnb.agent.guard import GUARD
from agentnb.credentials import logger
from agentnb.errors import AgentnbError, UsageError
from agentnb.folders import data_folder
from agentnb.kernel.server import ToolMcpServer
from agentnb.rpc import MCP_CLIENT, Connection
from agentnb.rpc_message import INVALID_REQUEST, RpcError
from agentnb.safe_files import write_atomically
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from logging import Logger
    from pathlib import Path


ENDED = "notifications/agentnb/ended"
"""A kernel sends this before it ends a connection; ``reason`` says why.

The program then closes the connection. If the kernel closed it, a write by the program would discard its unread data.
"""
LINGER_SECONDS = 2.0  # seconds that the program may take to close the connection
KERNEL_GONE = "The kernel has ended or was restarted."
PAIR_AGAIN = (
    "Ask the user to pair it again (`%agents pair` in a cell); then call `paired_notebooks` to see what there is."
)
_LONGEST_LINE = 16 * 1024 * 1024
log: Logger = logger("agentnb.pairing")
DESCRIBE = "agentnb/describe"  # the request that asks a paired kernel what it runs; it opens no conversation
ANSWER_SECONDS = 5.0  # seconds that a kernel may take to report what it runs
NONE_PAIRED = "No notebook is paired."
HOW_TO_PAIR = (
    "Ask the user to run `%agents pair` in a cell of the notebook (after `%load_ext agentnb`), or to choose Pair a"
    " terminal agent in the + menu of agentnb's chat; then call `paired_notebooks`."
)
_FILE = "kernel.json"
_LARGEST_BYTES = 100_000
_LONGEST_WORD = 40


class KernelGone(AgentnbError):
    """The connection has ended."""


class PairedConnection:
    """One connection; made by :meth:`opened`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.on_notification: Callable[[str, dict[str, Any]], object] = lambda _method, _params: None
        self.ended: KernelGone | None = None  # the reason why the connection has ended; None while it is open
        self._writer = writer
        self._connection = Connection(
            writer.write,
            MCP_CLIENT,
            on_notifications=self._notified,
            on_invalid=lambda error: self._end(f"The kernel's answer could not be read: {error}."),
            longest=_LONGEST_LINE,
        )
        self._reading = asyncio.ensure_future(self._read(reader))

    @classmethod
    async def opened(cls, path: str, token: str) -> PairedConnection:
        reader, writer = await asyncio.open_unix_connection(path, limit=_LONGEST_LINE)
        writer.write(token.encode() + b"\n")
        return cls(reader, writer)

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request to the kernel; if this is cancelled, the kernel is notified."""
        return mapping(await self._connection.request(method, params))

    async def close(self) -> None:
        """End the connection; pending requests fail."""
        self._end(KERNEL_GONE)
        self._reading.cancel()
        self._writer.close()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            await self._connection.read(reader)
        except OSError:
            pass  # any error means that the kernel is gone
        finally:
            self._end(KERNEL_GONE)
            self._writer.close()

    def _notified(self, notifications: list[tuple[str, Any]]) -> None:
        for method, params in notifications:
            if method == ENDED:
                self._end(str(mapping(params).get("reason")))
            else:
                self.on_notification(method, mapping(params))

    def _end(self, reason: str) -> None:
        if self.ended is None:
            self.ended = KernelGone(reason, hint=PAIR_AGAIN)
            self._connection.close(self.ended)


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """The file of a paired kernel."""

    machine: str
    pid: int
    socket: str
    token: str


class PairedKernel(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel that is paired, as it describes itself."""

    registration: Registration
    notebook: str = ""
    folder: str = ""
    busy: bool = False
    connected: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        more = "busy with a cell" if self.busy else "idle"
        with_ = f", connected: {', '.join(self.connected)}" if self.connected else ""
        name = self.notebook or "a kernel without a notebook"
        return f"{name} (kernel {self.registration.pid} in {self.folder}; {more}{with_})"


def registrations_folder() -> Path:
    return data_folder() / "paired"


def register(name: str, path: str, token: str) -> Path:
    """Write the registration of this process's kernel; returns its folder."""
    folder = registrations_folder() / name
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    registration = Registration(machine=socket.gethostname(), pid=os.getpid(), socket=path, token=token)
    write_atomically(folder / _FILE, msgspec.json.encode(registration))
    GUARD.sweep(folder)
    return folder


def unregister(folder: Path) -> None:
    """Remove what :func:`register` wrote; no effect if it is already gone."""
    shutil.rmtree(folder, ignore_errors=True)
    GUARD.sweep_no_more(folder)


async def paired_kernels() -> list[PairedKernel]:
    """The paired kernels of this user on this machine that answer; files of kernels that are gone are removed."""
    folders = await asyncio.to_thread(_folders)
    answers = await asyncio.gather(*(_described(folder) for folder in folders))
    return sorted(
        (each for each in answers if each is not None), key=lambda each: (each.notebook, each.registration.pid)
    )


def choose_kernel(kernels: Sequence[PairedKernel], wanted: str) -> PairedKernel:
    """The kernel that *wanted* names, or the only one."""
    listed = "\n".join(f"- {each.line}" for each in kernels)
    if not kernels:
        raise UsageError(NONE_PAIRED, hint=HOW_TO_PAIR)
    fitting = [each for each in kernels if not wanted or _fits(each, wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise UsageError(f"No paired notebook is called {wanted!r}.", hint=f"These are paired:\n{listed}")
    what = f"{len(fitting)} paired notebooks are called {wanted!r}." if wanted else "Several notebooks are paired."
    raise UsageError(what, hint=f"Choose one with `use_notebook`, by its path or its kernel's number:\n{listed}")


def _fits(kernel: PairedKernel, wanted: str) -> bool:
    path = PurePath(kernel.folder, kernel.notebook)
    names = {kernel.notebook, str(path), path.name, path.stem, str(kernel.registration.pid)}
    return wanted in names or (kernel.notebook != "" and str(path).endswith(f"/{wanted}"))


def _folders() -> list[Path]:
    try:
        return sorted(registrations_folder().iterdir())
    except OSError:
        return []


async def _described(folder: Path) -> PairedKernel | None:
    registration = await asyncio.to_thread(_read, folder / _FILE)
    if registration is None or registration.machine != socket.gethostname():
        return None
    try:
        description = await asyncio.wait_for(_describe(registration), ANSWER_SECONDS)
    except (ConnectionRefusedError, FileNotFoundError):  # no process listens anymore
        await asyncio.to_thread(unregister, folder)
        return None
    except (AgentnbError, OSError, asyncio.TimeoutError) as error:
        log.info("the kernel %d does not say what it runs: %s", registration.pid, error)
        return None
    with contextlib.suppress(msgspec.ValidationError):
        return msgspec.convert({**description, "registration": registration}, PairedKernel)
    return None


async def _describe(registration: Registration) -> dict[str, Any]:
    connection = await PairedConnection.opened(registration.socket, registration.token)
    try:
        return await connection.request(DESCRIBE, {})
    finally:
        await connection.close()


def _read(path: Path) -> Registration | None:
    """The registration in *path*, if it is a file of this user's that no other user can write."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
            status = os.fstat(file.fileno())
            if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o077):
                return None
            return read_record(file.read(_LARGEST_BYTES), Registration)
    except (OSError, ValueError):
        return None


class ClientInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The name that a program gives itself (MCP ``clientInfo``), short and on one line; it is not trusted."""

    name: str = ""
    title: str = ""
    version: str = ""

    @classmethod
    def read(cls, value: Any) -> ClientInfo:
        """Read what the client sent, whatever its shape."""
        return cls(**{key: _clean(mapping(value).get(key)) for key in cls.__struct_fields__})


class Program(Protocol):
    """The host's side of the program."""

    end_connection: Callable[[str], object]  # ends the connection; called with the reason

    @property
    def progress_seconds(self) -> float:
        """The seconds between reports to the program of what its call waits for."""

    @property
    def waits_for(self) -> str:
        """The reason why its calls wait."""

    async def describe(self) -> dict[str, Any]:
        """The description of the kernel, from which a program chooses."""

    def introduce(self, info: ClientInfo) -> None:
        """The program says who it is; from now on it calls tools."""

    async def call(self, name: str, arguments: Any) -> dict[str, Any]:
        """Run the tool *name*; the result is an MCP ``CallToolResult``."""

    def leave(self) -> None:
        """The connection has ended; no effect where that is known."""


class PairedServer(ToolMcpServer):
    def __init__(self, program: Program) -> None:
        super().__init__(program)
        program.end_connection = self._end
        self._program = program
        self._connection: Connection | None = None
        self._hang_up: Callable[[], object] = lambda: None
        self._introduced = False
        self._ended: str | None = None

    def opened(self, connection: Connection, hang_up: Callable[[], object]) -> None:
        self._connection, self._hang_up = connection, hang_up

    def closed(self) -> None:
        self._program.leave()

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if self._ended is not None:
            raise RpcError(INVALID_REQUEST, self._ended)
        if method == DESCRIBE:
            return await self._program.describe()
        if method == "initialize":
            if self._introduced:
                raise RpcError(INVALID_REQUEST, "initialize was sent before.")
            self._program.introduce(ClientInfo.read(params.get("clientInfo")))
            self._introduced = True
        if method != "tools/call":
            return await super().request(method, params)
        if not self._introduced:
            raise RpcError(INVALID_REQUEST, "Send initialize first.")
        return await self._with_progress(params)

    async def _with_progress(self, params: dict[str, Any]) -> dict[str, Any]:
        """Run a call and, if the program asked for it, report what it waits for (MCP ``notifications/progress``)."""
        token = mapping(params.get("_meta")).get("progressToken")
        call = asyncio.ensure_future(super().request("tools/call", params))
        times = 0
        try:
            seconds = None if token is None else self._program.progress_seconds
            while not (await asyncio.wait([call], timeout=seconds))[0]:
                times += 1
                if self._connection is not None:
                    progress = {"progressToken": token, "progress": times, "message": self._program.waits_for}
                    self._connection.notify("notifications/progress", progress)
            return call.result()
        except asyncio.CancelledError:
            call.cancel()
            raise

    def _end(self, reason: str) -> None:
        """Report the reason, and end the connection if the program does not."""
        if self._ended is None:
            self._ended = reason
            if self._connection is not None:
                self._connection.notify(ENDED, {"reason": reason})
                asyncio.get_running_loop().call_later(LINGER_SECONDS, self._hang_up)


def _clean(text: Any) -> str:
    if not isinstance(text, str):
        return ""
    return " ".join("".join(each if each.isprintable() else " " for each in text[:_LONGEST_WORD]).split())
