"""Batches on a Dask cluster: each input has one result, whatever agents, workers and scheduler do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import pandas as pd
import psutil
import pytest
from dask import bag as dask_bag
from dask import dataframe as dask_frame
from distributed import Client, LocalCluster, SchedulerPlugin

from agentnb.errors import UsageError
from tests.unit.plugins.map.clusters import until, worker_of
from tests.unit.plugins.map.conftest import Asks

HIDES_AGENTNB = "import sys; sys.modules['agentnb'] = None"
SECRET = "open-sesame-a1B2c3D4e5F6"


@dataclass
class Label:
    label: str
    score: int


class SeesTasks(SchedulerPlugin):
    """Keeps the scheduler's data of each task."""

    def __init__(self, scheduler: Any) -> None:
        self.name = "sees-tasks"
        self.seen: list[bytes] = []
        self._scheduler = scheduler

    def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
        if finish == "processing":
            task = self._scheduler.tasks[key]
            self.seen.append(cloudpickle.dumps((key, task.run_spec, task.annotations)))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Runs two workers with two threads each, in this process."""
    with LocalCluster(n_workers=2, threads_per_worker=2, processes=False, dashboard_address=":0") as local_cluster:
        yield local_cluster


def test_cluster_batch_returns_answers_in_input_order(ask: Asks, log: Path, cluster: Any) -> None:
    """Failures and corrected answers too; the agents end with the batch, and no task holds a credential."""
    sees = SeesTasks(cluster.scheduler)
    cluster.scheduler.add_plugin(sees)
    inputs = ["a", "b", "fail", "a", "busy one 1"]
    batch = ask(inputs, executor=cluster, on_error="keep", concurrency=5, env={"MY_API_KEY": SECRET})
    assert list(batch) == ["said a", "said b", None, "said a", "said busy one 1"]
    assert [each.attempts for each in batch.results] == [1, 1, 2, 1, 2]
    assert "It did not work." in batch.failed[0].error
    assert sorted(log.read_text().splitlines()) == sorted([*inputs, "fail", "busy one 1"])
    assert (len(sees.seen), SECRET.encode() in b"".join(sees.seen)) == (7, False)
    assert max(map(len, sees.seen)) < 5_000
    cluster.scheduler.remove_plugin(sees.name)
    assert list(ask(["json-late"], executor=cluster.scheduler_address, output=Label)) == [Label("good", 3)]
    never = ask(["fits never"], executor=cluster, output=list[int], on_error="keep").wait()
    assert never.failures == {"answer does not fit": 1}
    assert not any(each.startswith("agentnb-") for each in cluster.scheduler.worker_plugins)


def test_batch_accepts_dask_collections_as_inputs(ask: Asks, cluster: Any) -> None:
    """The labels stay."""
    table = pd.DataFrame({"text": list("abcd")}, index=list("wxyz"))
    frame = ask(dask_frame.from_pandas(table, npartitions=2), "{text}", executor=cluster).wait().to_frame()
    assert (list(frame.index), list(frame["text"])) == (list("wxyz"), ["said a", "said b", "said c", "said d"])
    assert list(ask(dask_bag.from_sequence(["a", "b", "c"], npartitions=2), executor=cluster)) == [
        "said a",
        "said b",
        "said c",
    ]


def test_batch_names_workers_that_cannot_run_the_agent(ask: Asks, cluster: Any) -> None:
    """Each is named with its faults; credentials are sent only encrypted, and the cluster must exist."""
    with pytest.raises(
        UsageError, match=r"(?s)nothing was sent to agents.*worker +machine +lacks\n(inproc.*no-such-agent.*){2}"
    ):
        ask(["a"], command=["no-such-agent"], executor=cluster)
    with pytest.raises(UsageError, match="MY_API_KEY looks like a credential"):
        ask(["a"], env={"MY_API_KEY": SECRET}, executor="tcp://192.0.2.1:8786")
    with pytest.raises(UsageError, match="is not a running Dask cluster"):
        ask(["a"], executor=5)


def test_cancelled_batch_ends_its_turns_on_workers(ask: Asks, log: Path, cluster: Any) -> None:
    """The resumed batch asks the rest."""
    batch = ask(["a", "wait"], executor=cluster, concurrency=2)
    assert batch[0] == "said a"
    until(lambda: "wait" in log.read_text())
    batch.cancel()
    batch.wait(check=False)
    assert batch.counts["cancelled"] == 1
    assert list(ask(["a", "b"], executor=cluster, resume=batch.id)) == ["said a", "said b"]
    assert log.read_text().split().count("a") == 1


def test_batch_continues_only_if_the_scheduler_returns(ask: Asks, tmp_path: Path) -> None:
    """Finished inputs stay finished."""
    options = {"n_workers": 1, "processes": False, "protocol": "tcp://", "dashboard_address": ":0"}
    once, twice = tmp_path / "once", tmp_path / "twice"
    first = LocalCluster(**options)
    port = int(first.scheduler_address.rpartition(":")[2])
    batch = ask(["a", f"wait-once {once}", "b"], executor=first, concurrency=1)
    until(once.exists)
    first.close()
    second = LocalCluster(scheduler_port=port, **options)
    assert list(batch) == ["said a", f"said wait-once {once}", "said b"]
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        lost = ask(["a", f"wait-once {twice}", "b"], executor=second, concurrency=1)
    until(twice.exists)
    second.close()
    lost.wait(check=False)
    assert "was lost and did not come back" in lost.stopped
    assert [each.state for each in lost.results] == ["done", "cancelled"]


def test_killed_worker_leaves_no_agent_and_loses_no_result(ask: Asks, log: Path, tmp_path: Path) -> None:
    """Finished inputs are not asked again; a worker without agentnb is skipped, and named later."""
    running = tmp_path / "running"
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(
            LocalCluster(n_workers=0, processes=False, protocol="tcp://", dashboard_address=":0")
        )
        client = stack.enter_context(Client(cluster, set_as_default=False))
        first = stack.enter_context(worker_of(cluster))
        client.wait_for_workers(1)
        batch = ask(["a", "b", f"wait-once {running}", "c"], executor=client, concurrency=4)
        assert [batch[0], batch[1], batch[3]] == ["said a", "said b", "said c"]
        until(running.exists)
        agent = psutil.Process(int(running.read_text()))
        stack.enter_context(worker_of(cluster, "--preload", HIDES_AGENTNB))
        stack.enter_context(worker_of(cluster))
        client.wait_for_workers(3)
        first.kill()
        assert batch[2] == f"said wait-once {running}"
        assert psutil.wait_procs([agent], timeout=30)[1] == []
        assert sorted(log.read_text().splitlines()) == sorted(["a", "b", "c", *2 * [f"wait-once {running}"]])
        assert batch.counts == {"running": 0, "done": 4, "failed": 0, "cancelled": 0}
        with pytest.raises(UsageError, match="agentnb is not installed"):
            ask(["a"], executor=client)
