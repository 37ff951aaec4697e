"""The official MCP client of the Python SDK uses a paired real kernel through ``agentnb mcp``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from tests.conftest import ROOT
from tests.kernel.running_kernel import RunningKernel
from tests.peers.agents import CACHE
from tests.peers.conftest import INSTALL_SECONDS

pytestmark = pytest.mark.peers
SDK = "2.3.0"
"""The version of `mcp` at PyPI."""
ALLOW = """from agentnb.api.session import Session
from agentnb.host import current_host
Session(current_host().pairing.connected[0]).permissions = 'allow'"""


@pytest.fixture
def sdk() -> str:
    """A Python with the official SDK, installed once into the cache."""
    folder = CACHE / "mcp-sdk"
    python, installed = str(folder / "bin/python"), folder / f"installed-{SDK}"
    if not installed.exists():
        pip = [python, "-m", "pip", "install", "--quiet", f"mcp=={SDK}"]
        for command in ([sys.executable, "-m", "venv", str(folder)], pip):
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS)
            if done.returncode != 0:
                pytest.skip(f"mcp {SDK} could not be installed:\n{done.stderr[-2000:]}")
        installed.touch()
    return python


def test_official_mcp_client_uses_a_kernel_under_the_policy(
    sdk: str, kernelspecs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It initialises, lists the tools and looks; code is refused without a user to ask, then allowed."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    command = [sdk, str(ROOT / "tests/agents/mcp_sdk.py"), sys.executable, "-m", "agentnb", "mcp"]
    with RunningKernel.started("ipykernel7", tmp_path) as kernel:
        kernel.run("%load_ext agentnb\nrows = [3, 1, 2]")
        kernel.run("%agents pair")
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
            assert client.stdin is not None
            assert client.stdout is not None
            name, tools = json.loads(client.stdout.readline())
            assert (name, {"paired_notebooks", "variables", "run_code"} - {*tools}) == ("agentnb", set())

            def call(tool: str, **arguments: Any) -> tuple[bool, str]:
                return answer(client.stdin, client.stdout, [tool, arguments])

            failed, text = call("variables")
            assert (failed, "rows: list, length 3" in text) == (False, True)
            failed, text = call("run_code", code="sorted(rows)")
            assert (failed, "no one could be asked" in text) == (True, True)
            assert kernel.run(ALLOW).status == "ok"
            assert call("run_code", code="sorted(rows)") == (False, "[1, 2, 3]")
            assert call("run_code")[0]
            client.stdin.close()
        assert client.returncode == 0


def answer(stdin: IO[str] | None, stdout: IO[str] | None, call: list[Any]) -> tuple[bool, str]:
    """Makes the client call; returns (failed, answer)."""
    assert stdin is not None
    assert stdout is not None
    stdin.write(f"{json.dumps(call)}\n")
    stdin.flush()
    failed, text = json.loads(stdout.readline())
    return failed, text
