"""The scripted model server of the reference data, which fills in code of ours where a tool of the kernel wants some.

``python -m tests.peers.model PORT LOG WORKSPACE``
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

CODE = 'rows = [3, 1, 2]\nprint("sorted:", sorted(rows))'
"""What the model has the kernel run."""
SCRIPT = Path(os.environ.get("AGENTNB_SHARED", ROOT.parent / "shared")) / "peers/fake_llm.py"


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
