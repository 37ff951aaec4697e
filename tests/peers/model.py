"""The scripted model server of the reference data, which fills in code of ours where a tool of the kernel wants some.

``python -m tests.peers.model PORT LOG WORKSPACE``
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

CODE = 'rows = [3, 1, 2]\nprint("sorted:", sorted(rows))'
"""What the model has the kernel run."""
SCRIPT = Path(os.environ.get("AGENTNB_SHARED", ROOT.parent / "shared")) / "peers/fake_llm.py"

START_SECONDS = 30


def start(log: Path, workspace: Path | str) -> tuple[subprocess.Popen[bytes], int]:
    """Start the server as a process of its own.

    Args:
        log: Where it notes what it is asked.
        workspace: The folder of the files that it has agents write.

    Returns:
        The process and its port on 127.0.0.1; it listens a moment later.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "tests.peers.model", str(port), str(log), str(workspace)]
    return subprocess.Popen(command, cwd=ROOT), port


@contextmanager
def served(log: Path, workspace: Path | str) -> Iterator[str]:
    """The address of a server that runs as long as the block does; the arguments are those of :func:`start`."""
    process, port = start(log, workspace)
    try:
        _await_port(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def _await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the server listens: its port refuses until then, and refusing takes no time to answer."""
    for _ in range(START_SECONDS * 10):
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
        else:
            return
    raise RuntimeError("the scripted model server did not start")


def main() -> None:
    """Serve until the process is ended."""
    spec = importlib.util.spec_from_file_location("fake_llm", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    model: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)  # reads the words of this command line
    filled = model.val

    def fill(name: str, schema: dict[str, Any], kind: str) -> Any:
        return CODE if name == "code" else filled(name, schema, kind)

    model.val = fill
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), model.H).serve_forever()


if __name__ == "__main__":
    main()
