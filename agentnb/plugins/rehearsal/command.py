"""Rehearsing a command: it runs for real, on a copy of the file system that is thrown away."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.kernel.rehearsal_result import SECONDS, Rehearsal, unavailable
from agentnb.plugins.rehearsal import command_program
from agentnb.plugins.rehearsal.running import begin
from agentnb.plugins.sandbox.network_proxy import NetworkProxy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_REFUSED = "This system does not let users create namespaces, so the command's writes were refused and are not shown."


@contextmanager
def proxy_to(hosts: tuple[str, ...], env: Mapping[str, str]) -> Iterator[NetworkProxy | None]:
    """Open a proxy that leads to *hosts*; None if there are none."""
    if not hosts:
        yield None
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="agentnb rehearsal proxy", daemon=True)
    thread.start()
    try:
        proxy = NetworkProxy(hosts, env, "what is tried in a copy")
        asyncio.run_coroutine_threadsafe(proxy.open(), loop).result()
        try:
            yield proxy
        finally:
            asyncio.run_coroutine_threadsafe(_closed(proxy), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _closed(proxy: NetworkProxy) -> None:
    proxy.close()
    await proxy.wait_closed()


def rehearse_command(
    command: str,
    cwd: str | os.PathLike[str],
    *,
    env: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    ways: Sequence[str] | None = None,
    descriptors: Sequence[int] = (),
    hosts: tuple[str, ...] = (),
    shared: Sequence[tuple[str, str]] = (),
    hidden: Sequence[str] = (),
) -> Rehearsal:
    """Returns what a shell command would do; it really acts in *shared* folders, and *hidden* ones are empty."""
    if sys.platform != "linux":
        return unavailable("Commands can be rehearsed on Linux only.")
    # Python's bytecode files are not changes of the command; those that the command writes explicitly are shown.
    environ = {**(os.environ if env is None else env), "PYTHONDONTWRITEBYTECODE": "1"}

    def start(scene: dict[str, Any], printing: int, reporting: int) -> int:
        address = "" if proxy is None else proxy.address
        more = {"proxy": address, "shared": [*shared], "hidden": [*scene["hidden"], *map(os.path.realpath, hidden)]}
        request = json.dumps({**scene, "report": reporting, "command": command, **more})
        started = subprocess.Popen(
            [sys.executable, "-I", "-S", command_program.__file__, request],
            stdin=subprocess.DEVNULL,
            stdout=printing,
            stderr=subprocess.STDOUT,
            env=environ,
            pass_fds=(reporting, *descriptors),
            start_new_session=True,
        )
        started.returncode = 0  # the caller waits for it by its id
        return started.pid

    with proxy_to(hosts, environ) as proxy:
        try:
            running = begin(start, cwd, environ, seconds=seconds, ways=ways)
        except (OSError, ValueError) as error:
            return unavailable(f"The command could not be started: {error}.")
        report, rehearsal = running.wait()
        connections = (*rehearsal.connections, *(proxy.refused if proxy is not None else ()))
    if not rehearsal.available:
        return rehearsal
    reason = "" if rehearsal.way == "namespaces" else _REFUSED
    return replace(rehearsal, exit_code=report.status, reason=reason, connections=connections)
