"""The files of served kernels in Jupyter's runtime folder: how programs of the same user find them."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

import msgspec

from agentnb.atomic_write import write_atomically
from agentnb.folders import data_folder
from agentnb.log.location import log_place
from agentnb.safe_json import read_record

LARGEST = 10_000


class ServedClient(msgspec.Struct, frozen=True, kw_only=True):
    """A client that may connect."""

    doing: str
    token: str


class ServedKernel(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of the file of a served kernel."""

    machine: str
    pid: int
    url: str
    clients: dict[str, ServedClient]
    folder: str
    place: str = ""

    @property
    def lines(self) -> list[str]:
        """The kernel and the addresses of its clients, which have their tokens in them."""
        what = self.place or "a kernel without a notebook"
        texts = [f"{what} (kernel {self.pid} in {self.folder})"]
        return texts + [f"  {each.doing}: {self.url}?token={each.token}" for each in self.clients.values()]

    @property
    def is_here(self) -> bool:
        """True if its process runs on this machine."""
        if self.machine != socket.gethostname() or self.pid <= 0:
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True


def runtime_folder() -> Path:
    """Jupyter's runtime folder, where servers and kernels have their files (``jupyter --runtime-dir``)."""
    runtime_dir = os.environ.get("JUPYTER_RUNTIME_DIR")
    return Path(runtime_dir) if runtime_dir else data_folder().parent / "runtime"


def write(host_id: str, url: str, clients: dict[str, ServedClient]) -> Path:
    """Write the file of this process's kernel; returns it."""
    folder = runtime_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    record = ServedKernel(
        machine=socket.gethostname(),
        pid=os.getpid(),
        url=url,
        clients=clients,
        folder=str(Path.cwd()),
        place=log_place(),
    )
    path = folder / f"agentnb-serve-{host_id}.json"
    write_atomically(path, msgspec.json.encode(record), mode=0o600)
    return path


def remove(path: Path) -> None:
    """Remove the file of a kernel that is served no more."""
    with contextlib.suppress(OSError):
        path.unlink()


def served_kernels() -> list[ServedKernel]:
    """The kernels of this user that are served on this machine."""
    kernels = []
    for path in sorted(runtime_folder().glob("agentnb-serve-*.json")):
        with contextlib.suppress(OSError, ValueError):
            if path.stat().st_size > LARGEST:
                continue
            kernel = read_record(path.read_bytes(), ServedKernel)
            if kernel.is_here:
                kernels.append(kernel)
            elif kernel.machine == socket.gethostname():
                remove(path)
    return kernels
