"""The sockets of paired kernels, and the files that name them: who may connect, and which kernel is meant.

The inside: other users' processes, hostile files and sockets.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentnb.errors import UsageError
from agentnb.kernel.paired_kernels import (
    KernelGone,
    PairedConnection,
    PairedKernel,
    Registration,
    choose_kernel,
    paired_kernels,
    register,
    registrations_folder,
)
from agentnb.rpc_message import RpcError
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.kernels import Kernel
from tests.unit.host.terminal import paired
from tests.unit.kernel.conftest import tools
from tests.unit.running import run

__all__ = ["paired", "tools"]  # the fixtures


def test_a_kernel_is_reachable_only_while_it_is_paired(paired: Kernel, tmp_path: Path) -> None:
    """Only this user can open its socket and its file; both are removed when the pairing ends."""
    (kernel,) = run(paired_kernels())
    (folder,) = registrations_folder().iterdir()
    place = Path(kernel.registration.socket)
    modes = [each.stat().st_mode & 0o777 for each in (folder, folder / "kernel.json", place.parent, place)]
    assert [oct(mode) for mode in modes] == ["0o700", "0o600", "0o700", "0o600"]
    assert (kernel.folder, kernel.busy, kernel.connected) == (str(tmp_path), False, ())
    paired.unpair()
    assert (run(paired_kernels()), folder.exists(), place.exists()) == ([], False, False)


def test_connection_needs_the_token_and_initialize(paired: Kernel) -> None:
    """A wrong token ends it; a call before `initialize` is refused."""
    (kernel,) = run(paired_kernels())

    async def say(token: str, method: str) -> Any:
        connection = await PairedConnection.opened(kernel.registration.socket, token)
        try:
            return await connection.request(method, {"name": "variables"})
        except (KernelGone, RpcError) as error:
            return type(error)
        finally:
            await connection.close()

    assert run(say("wrong", "tools/list")) is KernelGone
    assert run(say(kernel.registration.token, "tools/call")) is RpcError
    assert paired.programs == []


STRANGER = """
import os, socket, sys
place, token, user = sys.argv[1:]
os.setuid(int(user))
connection = socket.socket(socket.AF_UNIX)
connection.connect(place)
try:
    connection.sendall(token.encode() + b'\\n{"jsonrpc": "2.0", "id": 1, "method": "ping"}\\n')
    print(connection.recv(9))
except ConnectionError:
    print(b"")
"""


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can become another user")
def test_another_users_process_is_refused_even_with_the_token(paired: Kernel) -> None:
    """Even if folder and socket are open to all users; this user's process gets an answer."""
    (kernel,) = run(paired_kernels())
    place = Path(kernel.registration.socket)
    place.parent.chmod(0o777)
    place.chmod(0o777)

    def answer(user: int) -> str:
        command = [sys.executable, "-S", "-c", STRANGER, str(place), kernel.registration.token, str(user)]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout

    assert [answer(os.getuid()), answer(65_534)] == ["b'{\"jsonrpc'\n", "b''\n"]


def test_registrations_of_dead_or_foreign_kernels_are_ignored(paired: Kernel, tmp_path: Path) -> None:
    """A file whose socket nobody listens on is removed; another machine's file stays."""
    dead = register("dead", str(tmp_path / "nothing"), "t")
    left = tmp_path / "left"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(left))
    refused = register("refused", str(left), "t")
    broken, readable, elsewhere = (register(name, "/s", "t") for name in ("broken", "readable", "elsewhere"))
    (broken / "kernel.json").write_text("{", encoding="utf-8")
    (readable / "kernel.json").chmod(0o644)
    other = Registration(machine="another machine", pid=1, socket="/s", token="t")
    (elsewhere / "kernel.json").write_bytes(msgspec.json.encode(other))
    (kernel,) = run(paired_kernels())
    assert kernel.registration.pid == os.getpid()
    assert [each.exists() for each in (dead, refused, broken, readable, elsewhere)] == [False, False, True, True, True]
    paired.unpair()


def found(notebook: str, pid: int, folder: str = "/home/ada") -> PairedKernel:
    registration = Registration(machine="m", pid=pid, socket=f"/s/{pid}", token="t")
    return PairedKernel(registration=registration, notebook=notebook, folder=folder)


KERNELS = (found("fit.ipynb", 1), found("work/fit.ipynb", 2), found("plot.ipynb", 3), found("", 4))


@pytest.mark.parametrize(
    ("wanted", "pid"),
    [
        ("plot", 3),
        ("plot.ipynb", 3),
        ("/home/ada/plot.ipynb", 3),
        ("work/fit.ipynb", 2),
        ("fit.ipynb", "2 paired notebooks are called 'fit.ipynb'"),
        ("", "Several notebooks are paired"),
        ("4", 4),
        ("other.ipynb", "No paired notebook is called 'other.ipynb'. These are paired:\n- fit.ipynb"),
    ],
)
def test_a_kernel_is_chosen_by_its_notebook(wanted: str, pid: int | str) -> None:
    """By its name, path or kernel number; an ambiguous choice lists the kernels."""
    if isinstance(pid, int):
        assert choose_kernel(KERNELS, wanted).registration.pid == pid
    else:
        with pytest.raises(UsageError, match=pid):
            choose_kernel(KERNELS, wanted)


def test_only_kernel_is_chosen_by_default() -> None:
    """Without any, the error says how to pair one."""
    assert choose_kernel(KERNELS[:1], "").registration.pid == 1
    with pytest.raises(UsageError, match="No notebook is paired"):
        choose_kernel((), "")


def test_a_kernel_that_does_not_answer_is_left_out(paired: Kernel, tmp_path: Path) -> None:
    """Its program sends nonsense and closes the connection."""
    place = tmp_path / "odd"

    async def odd() -> list[PairedKernel]:
        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"nonsense\n")
            writer.close()

        listening = await asyncio.start_unix_server(answer, str(place))
        try:
            return await paired_kernels()
        finally:
            listening.close()

    register("odd", str(place), "t")
    assert [each.registration.pid for each in run(odd())] == [os.getpid()]
    paired.unpair()
