"""The scripted model server of the reference data, with the arguments that our tools need.

``python -m tests.peers.model PORT LOG WORKSPACE``

A prompt names the tools that the model calls (``[[read shell]]``). A step may have arguments, as a URL does:
``kernel/look_up_code?question=definition&symbol=fit`` (:func:`call`).
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from tests.conftest import ROOT

CODE = 'rows = [3, 1, 2]\nprint("sorted:", sorted(rows))'
"""The code that the model runs in the kernel."""
PATHS = ("filePath", "file_path", "path", "absolute_path")
"""The names of the path argument in agents' tools that read files."""
BY_CODE = "run_typescript"
COMMAND = "AGENTNB_PEERS_COMMAND"
"""The environment variable with the command for the agent's shell; the default is that of the reference data."""
SCRIPT = Path(os.environ.get("AGENTNB_SHARED", ROOT.parent / "shared")) / "peers/fake_llm.py"

START_SECONDS = 30


def call(tool: str, **arguments: str) -> str:
    """Returns a step of a prompt: a call of *tool*, or of the first tool whose name contains it, with *arguments*.

    Args:
        tool: A name; for an MCP server's tool with the server's before it, as some agents call them by code.
        arguments: The arguments.

    Example:
        >>> call("kernel/research", package="json", question="Why? [[text]]")
        'kernel/research?package=json&question=Why%3F+%5B%5Btext%5D%5D'
    """
    return f"{tool}?{urlencode(arguments)}"


def start(log: Path, workspace: Path | str) -> tuple[subprocess.Popen[bytes], int]:
    """Start the server in a separate process.

    Args:
        log: The file that logs its requests.
        workspace: The folder of the files that agents write.

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
    """The address of a server that runs during the block; the arguments are those of :func:`start`."""
    process, port = start(log, workspace)
    try:
        _await_port(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def _await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the server listens: until then its port refuses connections at once."""
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


def _named(step: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a step of :func:`call` for the tool with *schema*."""
    tool, _, words = step.partition("?")
    arguments: dict[str, Any] = dict(parse_qsl(words))
    if tool.endswith("return_response"):
        arguments = {"findings": [{**arguments, "line": int(arguments["line"])}]}
    known = schema.get("properties", {})
    if "code" in known:  # Mistral Vibe's model calls MCP tools with TypeScript code
        called = f"tools.mcp_{tool.replace('/', '.')}({json.dumps(arguments)})"
        return {"code": f"async function main() {{ return await {called}; }}"}
    names = {"path": next((each for each in PATHS if each in known), "path")}
    return {names.get(name, name): value for name, value in arguments.items()}


def main() -> None:
    spec = importlib.util.spec_from_file_location("fake_llm", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    model: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)  # reads this command line's arguments
    filled, arguments, picked = model.val, model.obj, model.pick

    command = os.environ.get(COMMAND)

    def fill(name: str, schema: dict[str, Any], kind: str) -> Any:
        if command is not None and kind == "shell" and name == "command":
            return command
        return CODE if name == "code" else filled(name, schema, kind)

    def fill_all(schema: dict[str, Any], step: str) -> dict[str, Any]:
        return _named(step, schema) if "?" in step else arguments(schema, step)

    def pick(step: str, names: list[str]) -> str | None:
        server, _, tool = step.partition("?")[0].rpartition("/")
        return picked(tool, names) or (BY_CODE if server and BY_CODE in names else None)

    model.val, model.obj, model.pick = fill, fill_all, pick
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), model.H).serve_forever()


if __name__ == "__main__":
    main()
