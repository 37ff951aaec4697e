"""The kernels that are paired: how a program of the same user on the same machine finds them, and asks what they run.

Each paired kernel has a folder of its own (mode 0700) in ``paired`` of agentnb's data folder, with one file (mode 0600)
that names its socket and the socket's token. The folder is removed when the pairing ends, by the watchdog where the
kernel is killed, and by the next look where even that did not happen. A file of another user's is not read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.agent.guard import GUARD
from agentnb.atomic_write import write_atomically
from agentnb.credentials import logger
from agentnb.errors import AgentnbError, UsageError
from agentnb.folders import data_folder
from agentnb.kernel.paired_connection import PairedConnection
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from logging import Logger
    from pathlib import Path

log: Logger = logger("agentnb.pairing")

DESCRIBE = "agentnb/describe"
"""The request by which a paired kernel says what it runs; it opens no conversation."""
ANSWER_SECONDS = 5.0
"""How long a kernel may take to say what it runs."""
NONE_PAIRED = "No notebook is paired."
HOW_TO_PAIR = (
    "Ask the user to run `%agents pair` in a cell of the notebook (after `%load_ext agentnb`), or to choose Pair a"
    " terminal agent in the + menu of agentnb's chat; then call `paired_notebooks`."
)
_FILE = "kernel.json"
_LARGEST_BYTES = 100_000


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
    """The folder that holds one folder for each paired kernel."""
    return data_folder() / "paired"


def register(name: str, path: str, token: str) -> Path:
    """Write the file of this process's kernel."""
    folder = registrations_folder() / name
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    registration = Registration(machine=socket.gethostname(), pid=os.getpid(), socket=path, token=token)
    write_atomically(folder / _FILE, msgspec.json.encode(registration))
    GUARD.sweep(folder)
    return folder


def unregister(folder: Path) -> None:
    """Remove what :func:`register` wrote; no effect where it is gone."""
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
    except (ConnectionRefusedError, FileNotFoundError):  # nobody listens any more
        await asyncio.to_thread(unregister, folder)
        return None
    except (AgentnbError, OSError, asyncio.TimeoutError) as error:
        log.info("the kernel %d does not say what it runs: %s", registration.pid, error)
        return None
    return _kernel(registration, description)


async def _describe(registration: Registration) -> dict[str, Any]:
    connection = await PairedConnection.opened(registration.socket, registration.token)
    try:
        return await connection.request(DESCRIBE, {})
    finally:
        await connection.close()


def _kernel(registration: Registration, description: dict[str, Any]) -> PairedKernel | None:
    with contextlib.suppress(msgspec.ValidationError):
        return msgspec.convert({**description, "registration": registration}, PairedKernel)
    return None


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
