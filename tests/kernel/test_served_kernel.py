"""A kernel served from a terminal and by its magic, and clients that survive its restart."""

from __future__ import annotations

import contextlib
import stat
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from websockets.exceptions import ConnectionClosed

from agentnb.cli import main
from agentnb.server.websocket.access import ServedKernel, served_kernels
from tests.kernel.running_kernel import ONE_KERNEL, WAIT_S
from tests.unit.server.websocket.client import Client, Failed

if TYPE_CHECKING:
    from tests.kernel.running_kernel import RunningKernel


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime folder for this test's kernels and programs only."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    return tmp_path / "runtime"


def listed() -> dict[str, ServedKernel]:
    """Returns the served kernels by the names of their clients."""
    return {" ".join(kernel.clients): kernel for kernel in served_kernels()}


@ONE_KERNEL
def test_served_kernel_accepts_clients_again_after_a_restart(
    runtime: Path, kernel: RunningKernel, capsys: pytest.CaptureFixture[str]
) -> None:
    """Jupyter's protocol carries the request; after a restart a client must initialize again."""
    connection_file = kernel.manager.connection_file
    assert [main(["serve", *words]) for words in ([], ["--list"], ["--kernel", "none"])] == [1, 1, 1]
    assert "No running kernel begins with 'none'" in capsys.readouterr().err
    assert main(["serve", "--kernel", connection_file]) == 0
    assert f"(kernel {kernel.pid} in {kernel.folder})" in capsys.readouterr().out
    (file,) = runtime.glob("agentnb-serve-*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    entry = listed()["client"]
    client = Client(entry.url, entry.clients["client"].token)
    client.initialize("me", "ahp-root://")
    channel = f"ahp-session:/{uuid.uuid4()}"
    client.ask("createSession", {"channel": channel, "provider": "eliza"})
    assert "connected: client" in kernel.run("%agents serve").values[0]
    assert "may connect (watch, approve)" in kernel.run("%agents serve phone watch approve").values[0]
    assert [*listed()] == ["client phone"]
    seen = client.ask("subscribe", {"channel": channel})["snapshot"]["fromSeq"]

    kernel.manager.restart_kernel(now=True)
    with contextlib.suppress(ConnectionClosed, OSError):  # the client's error depends on the messages in transit
        client.hear(lambda _message: False)
    client.close()
    kernel.client.wait_for_ready(timeout=WAIT_S)
    assert listed() == {}
    assert main(["serve", "--kernel", connection_file]) == 0
    again = listed()["client"]
    client = Client(again.url, again.clients["client"].token)
    params = {"clientId": "me", "lastSeenServerSeq": seen, "subscriptions": ["ahp-root://", channel]}
    with pytest.raises(Failed, match="Send initialize"):
        client.ask("reconnect", params)
    answer = client.initialize("me", "ahp-root://", channel)
    assert [each["resource"] for each in answer["snapshots"]] == ["ahp-root://"]
    with pytest.raises(Failed):
        client.ask("subscribe", {"channel": channel})
    client.close()
    kernel.run("%load_ext agentnb")
    assert "no longer served" in kernel.run("%agents serve stop").values[0]
    assert listed() == {}
