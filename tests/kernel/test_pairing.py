"""An MCP client in a terminal uses a paired kernel through ``agentnb mcp``."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.kernel.running_kernel import ONE_KERNEL, RunningKernel
from tests.mcp_client import PATIENCE, McpClient, said

OWN = ["paired_notebooks", "use_notebook"]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder for this test's kernels and programs only."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@ONE_KERNEL
def test_terminal_client_uses_a_kernel_after_pairing(data: Path, kernel: RunningKernel) -> None:
    """Only after pairing: between cells, after a long one, under the policy; its end is reported once."""
    kernel.run("%load_ext agentnb\nxs = [1, 2]")
    with McpClient(cwd=kernel.folder) as client:
        assert client.tools()[:3] == [*OWN, "variables"]
        assert client.call("paired_notebooks").startswith("No notebook is paired. Ask the user to run `%agents pair`")
        assert client.call("variables").startswith("No notebook is paired.")
        assert "Agents in your terminal can now use this kernel" in kernel.run("%agents pair").values[0]
        assert f"(kernel {kernel.pid} in {kernel.folder}; idle)" in client.call("paired_notebooks")
        assert "xs: list, length 2" in client.call("variables")
        assert client.call("paired_notebooks").endswith("idle, connected: Claude Code (terminal)) (in use)")
        assert "the notebook is not open in a page, so no one could be asked" in client.call(
            "run_code", code="xs.append(3)"
        )
        allow = "from agentnb.host import current_host\nhost = current_host()\nfrom agentnb.api.session import Session"
        kernel.run(f"{allow}\nSession(host.pairing.connected[0]).permissions = 'allow'")
        os.mkfifo(kernel.folder / "go")
        busy = kernel.send("open('go').close()")
        waits = client.begin_call("run_code", code="xs.append(3); xs", wait=PATIENCE)
        (kernel.folder / "go").write_bytes(b"")
        assert said(waits.result(PATIENCE)) == "[1, 2, 3]"
        assert kernel.finish(busy).status == "ok"
        calls = "[call.status for turn in Session(host.pairing.connected[0]).turns for call in turn.tool_calls]"
        assert kernel.run(calls).values == ["['completed', 'cancelled', 'completed']"]
        assert [path.name for path in (data / "paired").iterdir()] != []
        os.kill(kernel.pid, signal.SIGKILL)
        assert "The kernel has ended or was restarted. Ask the user to pair it again" in client.call("variables")
        assert client.call("variables").startswith("No notebook is paired.")
    assert list((data / "paired").iterdir()) == []


@ONE_KERNEL
def test_vs_code_kernel_is_paired_under_its_notebook_name(data: Path, kernel_name: str, tmp_path: Path) -> None:
    """VS Code starts kernels without a Jupyter server and names the notebook in a variable."""
    notebook = tmp_path / "fit.ipynb"
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "x = 1", "outputs": [], "execution_count": 1}
    notebook.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    with RunningKernel.started(kernel_name, tmp_path) as kernel:
        kernel.run(f"__vsc_ipynb_file__ = {str(notebook)!r}")
        kernel.run("%load_ext agentnb\nx = 1\n%agents pair")
        with McpClient("--notebook", "fit.ipynb", name="Visual Studio Code", cwd=tmp_path) as client:
            assert client.call("paired_notebooks").startswith(f"- {notebook} (kernel {kernel.pid} in")
            assert "x: int" in client.call("variables")
            assert "x = 1" in client.call("cells")
            assert "Nothing was done." in client.call("insert_cell", source="y = 2")
    assert data.is_dir()
