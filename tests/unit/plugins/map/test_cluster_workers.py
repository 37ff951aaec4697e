"""Workers in processes: missing requirements, the policy that decides there, and leftovers."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster
from distributed.security import Security

import agentnb
from agentnb.errors import UsageError
from tests.unit.plugins.map.clusters import until, worker_of
from tests.unit.plugins.map.conftest import Asks

OTHER_VERSION = "import agentnb; agentnb.__version__ = '0.0.1'"
EMPTY: dict[str, Any] = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
RULE = """
[trust]
folders = ["{folder}"]

[[rule]]
action = "{action}"
tool = "edit"
path = "fit.py"
note = "my secret note"
"""


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Starts without workers."""
    with LocalCluster(protocol="tcp://", **EMPTY) as local_cluster:
        yield local_cluster


def rules(folder: Path, workspace: Path, action: str) -> Path:
    """Makes a settings folder with one rule."""
    folder.mkdir(exist_ok=True)
    (folder / "policy.toml").write_text(RULE.format(folder=workspace, action=action))
    return folder


def test_batch_names_workers_with_wrong_version_or_no_agent(
    ask: Asks, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Any
) -> None:
    """Each is named with its faults; nothing is asked."""
    programs = tmp_path / "programs"
    programs.mkdir()
    agent = programs / "agent-of-mine"
    agent.write_text("#!/bin/sh\n")
    agent.chmod(0o755)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{path}")
    with worker_of(cluster, "--preload", OTHER_VERSION), worker_of(cluster, PATH=path), worker_of(cluster):
        with Client(cluster, set_as_default=False) as client:
            client.wait_for_workers(3)
        with pytest.raises(UsageError) as refused:
            ask(["a"], command=["agent-of-mine"], executor=cluster)
    lacking = [line.split("  ")[-1].strip() for line in str(refused.value).splitlines() if line.startswith("tcp://")]
    assert len(lacking) == 2
    assert any(each == f"agentnb is 0.0.1, here it is {agentnb.__version__}" for each in lacking), lacking
    assert any("agent-of-mine" in each for each in lacking), lacking
    assert not log.exists()


@pytest.mark.parametrize(("action", "answer"), [("allow", "I would go on."), ("deny", "I leave it.")])
def test_policy_of_the_submitter_decides_on_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Any, action: str, answer: str
) -> None:
    """The policy of the worker's user is ignored, which says the opposite here."""
    permissions = {"allow": "ask", "deny": "allow"}[action]  # no user can be asked
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    opposite = rules(tmp_path / "workers", workspace, {"allow": "deny", "deny": "allow"}[action])
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(rules(tmp_path / "mine", workspace, action)))
    with worker_of(cluster, AGENTNB_CONFIG_DIR=str(opposite)):
        options: dict[str, Any] = {"permissions": permissions, "cwd": workspace, "progress": False}
        batch = agentnb.map("/ask {input}", ["edit"], agent="eliza", executor=cluster, **options)
        assert batch[0].endswith(answer), batch[0]


def test_next_worker_removes_settings_of_a_killed_worker(
    ask: Asks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Any
) -> None:
    """They are in Dask's folder for workers' files, and nobody else can read them."""
    mine, scratch, running = tmp_path / "mine", tmp_path / "scratch", tmp_path / "running"
    mine.mkdir()
    (mine / "settings.toml").write_text("# mine\n")
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(mine))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    at = ("--local-directory", str(scratch))

    def settings() -> list[Path]:
        return sorted(each.parent for each in tmp_path.rglob("settings.toml") if each.parent != mine)

    with worker_of(cluster, *at) as first:
        batch = ask(["a", f"wait-once {running}"], executor=cluster, concurrency=2)
        until(running.exists)
        (kept,) = settings()
        assert (scratch in kept.parents, kept.stat().st_mode & 0o077) == (True, 0)
        first.kill()
        with worker_of(cluster, *at):
            assert batch[1] == f"said wait-once {running}"
            assert kept not in settings()
            batch.wait()
            until(lambda: not settings())


def test_adaptive_cluster_starts_and_ends_without_workers(ask: Asks) -> None:
    """The batch waits for the first worker."""
    with LocalCluster(threads_per_worker=2, **EMPTY) as cluster:
        cluster.adapt(minimum=0, maximum=2, interval="50ms", wait_count=1)
        inputs = [f"n{each}" for each in range(8)]
        assert list(ask(inputs, executor=cluster, concurrency=8)) == [f"said {each}" for each in inputs]
        until(lambda: not cluster.scheduler.workers)
        assert list(ask(["a"], executor=cluster)) == ["said a"]


def test_batch_uses_the_tls_settings_of_client_and_cluster(ask: Asks, tmp_path: Path) -> None:
    """The client or cluster is given; a user without certificate gets an error."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl on PATH to make a certificate with")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    words = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate]
    subprocess.run([*words, "-days", "2", "-subj", "/CN=localhost"], check=True, capture_output=True)
    pairs = {
        f"tls_{who}_{what}": path
        for who in ("client", "worker", "scheduler")
        for what, path in (("key", key), ("cert", certificate))
    }
    security = Security(tls_ca_file=certificate, require_encryption=True, **pairs)
    secret = {"MY_API_KEY": "open-sesame-a1B2c3D4e5F6"}
    with contextlib.ExitStack() as stack:
        options = {**EMPTY, "n_workers": 1}
        cluster = stack.enter_context(LocalCluster(protocol="tls://", security=security, **options))
        client = stack.enter_context(Client(cluster, set_as_default=False))
        assert cluster.scheduler_address.startswith("tls://")
        assert list(ask(["a"], executor=client, env=secret)) == ["said a"]
        assert list(ask(["b"], executor=cluster)) == ["said b"]
        with pytest.raises(UsageError, match="requires a certificate"):
            ask(["c"], executor=cluster.scheduler_address)


def test_batches_on_the_same_worker_have_separate_answers(ask: Asks, cluster: Any) -> None:
    """They share the copy of the submitter's settings."""
    with worker_of(cluster):
        batches = [ask(["a", "b"], f"{name} {{input}}", executor=cluster) for name in ("one", "two")]
        assert [list(each) for each in batches] == [["said one a", "said one b"], ["said two a", "said two b"]]
