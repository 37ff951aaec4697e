"""The Agent Host Protocol's own TypeScript client in its own process, and the comparison of its mirror."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.unit.server.websocket.client import Client

HERE = ROOT / "tests/ahp_client"
VSCODE = os.environ.get("AGENTNB_VSCODE")
TIMES = {"modifiedAt", "createdAt"}
"""Times that a client takes from its own clock or from the turns when it reduces."""


class Peer:
    """The client, in its own process."""

    def __init__(self, bundle: Path) -> None:
        node = shutil.which("node") or ""
        command = [node, "--no-warnings", "--experimental-websocket", str(bundle)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, what: str, **fields: Any) -> Any:
        """Sends it a command; returns the result."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": what, **fields}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer
        return answer["result"]

    def dispatch(self, uri: str, kind: str, **fields: Any) -> None:
        """Makes it dispatch an action."""
        self.do("dispatch", uri=uri, action={"type": kind, **fields})

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def make_bundle(shared: Path, into: Path, reducers: Path | None = None) -> Path:
    """Builds the test's driver with the client and, if given, other *reducers*."""
    folder = shared / "peers/ahp/clients/typescript"
    if not folder.is_dir():
        pytest.skip(f"no client of the Agent Host Protocol at {folder}")
    if not (ROOT / "js/node_modules/esbuild").is_dir():
        pytest.skip("js/node_modules is not installed")
    bundle = into / "drive.mjs"
    run_node(HERE / "bundle.mjs", folder, bundle, *(() if reducers is None else (reducers,)))
    return bundle


def vscode_folder(shared: Path) -> Path:
    """Returns a built VS Code that speaks version 0.9 or later."""
    folder = Path(VSCODE or shared / "peers/code-server/lib/vscode")
    if not (folder / "out/vs/code/browser/workbench/workbench.js").is_file():
        pytest.skip(f"no built VS Code at {folder} (AGENTNB_VSCODE)")
    return folder


def make_reducers_of_vscode(shared: Path, into: Path) -> Path:
    """Builds a module with the reducers of a built VS Code."""
    folder = vscode_folder(shared)
    if not (ROOT / "js/node_modules/acorn").is_dir():
        pytest.skip("js/node_modules is not installed")
    reducers = into / "reducers.mjs"
    run_node(HERE / "vscode_reducers.mjs", folder, reducers)
    return reducers


def run_node(*command: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    made = subprocess.run([node, *map(str, command)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr


def settled(value: Any, *without: str) -> str:
    """Returns JSON without absent values and times of the client's clock."""

    def keep(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                name: keep(item) for name, item in value.items() if name not in {*TIMES, *without} and item is not None
            }
        return [keep(item) for item in value] if isinstance(value, list) else value

    return json.dumps(keep(value), sort_keys=True, ensure_ascii=False)


def states(
    peer: Peer, host: Client, *uris: str, without: tuple[str, ...] = ()
) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the states of the client's mirror and of the host, as text, once nothing changes."""
    truth: dict[str, str] = {}
    mirrored: dict[str, str] = {}
    while truth != (truth := {uri: settled(host.snapshot(uri), *without) for uri in uris}):
        peer.do("request", method="ping", params={"channel": "ahp-root://"})  # answered after all earlier messages
        mirrored = {uri: settled(peer.do("state", uri=uri), *without) for uri in uris}
    return mirrored, truth
