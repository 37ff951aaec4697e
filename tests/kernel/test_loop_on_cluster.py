"""A loop with tries on a Dask cluster: kept like local ones, and nothing stays on a worker."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from distributed import LocalCluster

from tests.kernel import loops
from tests.kernel.loops import AGENTS, is_watchdog, loop, run_of, started
from tests.rehearsal_here import HERE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kernel.running_kernel import RunningKernel

pytestmark = pytest.mark.skipif(not HERE.available, reason=HERE.reason)

FIRST = "import numpy as np, os, threading\nlock = threading.Lock()"
SECOND = """
class Model:
    def __init__(self, x): self.x = x
y_test = np.array([1, 2, 3])
noise = np.random.default_rng().random((400, 400))
open("log.txt", "a").write("a run\\n")
def score():
    return model.x * np.size(y_test) / 3
model = Model(1)
"""


class Workers:
    """A cluster of one worker process."""

    def __init__(self, folder: Path) -> None:
        self.temporary = folder / "worker-temporary"
        self.temporary.mkdir()
        env = {"TMPDIR": str(self.temporary), "MARK": "a worker"}
        self._cluster = LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=True,
            dashboard_address=":0",
            local_directory=str(folder / "dask"),
            env=env,
        )
        self.address: str = self._cluster.scheduler_address

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(next(iter(self._cluster.workers.values())).pid)

    @property
    def below(self) -> list[psutil.Process]:
        """The processes that the worker started."""
        return [each for each in self.process.children(recursive=True) if not is_watchdog(each)]

    @property
    def files(self) -> list[Path]:
        """The contents of its temporary folder."""
        return sorted(self.temporary.rglob("*"))

    def close(self) -> None:
        self._cluster.close()


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """A worker in its own process."""
    made = Workers(tmp_path_factory.mktemp("workers"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def kernel(kernelspecs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningKernel]:
    """A kernel in which the notebook's cells have run."""
    with started(tmp_path_factory.mktemp("loop")) as made:
        value(made, FIRST)
        yield made


@pytest.fixture
def loaded(kernel: RunningKernel) -> RunningKernel:
    value(kernel, SECOND)
    return kernel


def value(kernel: RunningKernel, code: str, **options: Any) -> Any:
    """Returns the value of the last line of *code*; allows for the slow start of a try's kernel and agent."""
    return loops.value(kernel, code, timeout=900, **options)


def on(workers: Workers, *steps: dict[str, Any], **options: Any) -> str:
    """Returns code that runs a loop on the cluster."""
    return loop(*steps, executor=workers.address, **options)


def test_tries_on_a_worker_are_kept_and_leave_nothing_there(loaded: RunningKernel, workers: Workers) -> None:
    """The worker's cells make the lock, the random table is sent, a kept object changes in place."""
    value(loaded, "alias, loose = [model], float(noise.sum())")
    below = {each.pid for each in workers.below}
    steps = (
        {"run": "with lock: model.x = 2\nwhere = os.environ['MARK']; same = float(noise.sum()) == loose"},
        {"run": "model.x = 1.5; other = 1", "write": ["worse.txt", "1"]},
        {"run": "noise = noise[:300]; model.x += 5", "write": ["kept.txt", "7"], "say": "Idea: **add five**"},
        {"run": "y_test[:] = 9; model.x = 99"},
        {"run": "model.x += len(noise)"},
    )
    states = ["start", "kept", "not better", "kept", "failed", "kept"]
    assert value(loaded, on(workers, *steps, tries=5)) == (states, 307.0, "5 tries are done.")
    assert value(loaded, "(alias[0] is model, model.x, where, same, 'other' in globals(), noise.shape)") == (
        True,
        307,
        "a worker",
        True,
        False,
        (300, 400),
    )
    assert value(loaded, "sorted(os.listdir()), open('kept.txt').read()") == (["kept.txt", "log.txt"], "7")
    assert value(loaded, "made.tries[3].idea, made.tries[3].changes") == ("add five", "1 file, 2 variables")
    assert "y_test" in value(loaded, "made.tries[4].why")
    assert psutil.wait_procs([each for each in workers.below if each.pid not in below], timeout=20)[1] == []
    assert workers.files == []
    value(loaded, "os.remove('log.txt'); os.remove('kept.txt')")


def test_limit_and_cancel_stop_a_try_on_a_worker(loaded: RunningKernel, workers: Workers) -> None:
    """The agent's text so far stays, and nothing else of the try."""
    below = {each.pid for each in workers.below}
    waits = {"run": "model.x = 9", "wait": True}
    states, best, why = value(loaded, on(workers, {**waits, "cost": 6}, budget=5))
    assert (states, best, why) == (["start", "stopped"], 1.0, "The loop's budget of $5.00 is used up ($6.00).")
    assert value(loaded, "made.tries[1].costs, made.tries[1].idea") == ({"USD": 6.0}, "step 1")
    value(loaded, f"made = loop({waits!r}, tries=3, executor={workers.address!r})", clickable=True)
    _until(lambda: any(_is_agent(each) for each in workers.below))
    value(loaded, "made.cancel(); made.wait()", clickable=True)
    assert value(loaded, "made.why, model.x") == ("It was stopped.", 1)
    assert psutil.wait_procs([each for each in workers.below if each.pid not in below], timeout=20)[1] == []
    assert workers.files == []


def test_try_is_repeated_when_its_worker_is_killed(loaded: RunningKernel, workers: Workers, tmp_path: Path) -> None:
    once = tmp_path / "once"
    step = {"run": f"import os\nif not os.path.exists({str(once)!r}): threading.Event().wait()\nmodel.x = 4"}
    value(loaded, f"made = loop({step!r}, tries=1, executor={workers.address!r})", clickable=True)
    _until(lambda: any(_is_agent(each) for each in workers.below))
    once.write_text("")
    below, process = workers.below, workers.process
    process.kill()
    assert value(loaded, "made.wait(); outcome(made)[:2]", clickable=True) == (["start", "kept"], 4.0)
    assert psutil.wait_procs(below, timeout=30)[1] == []


def test_variable_that_cannot_be_sent_fails_the_try(loaded: RunningKernel, workers: Workers) -> None:
    value(loaded, "gone = threading.Lock()  # agentnb: such a cell is not run on a worker")
    value(loaded, on(workers, run_of(2), tries=1))
    whys = value(loaded, "[each.why for each in made.tries]")
    assert whys[1].startswith("gone cannot be sent to a worker, and running the notebook's cells there does not make")
    value(loaded, "del gone")


def test_unusable_cluster_or_agent_is_reported_at_the_start(loaded: RunningKernel, workers: Workers) -> None:
    missing = {"command": ["no-such-agent"]}
    assert "no-such-agent" in loaded.run(on(workers, run_of(2), tries=1, agent=missing)).error
    secret = {"command": ["x"], "env": {"MY_API_KEY": "open-sesame-a1B2c3D4e5F6"}}
    away = loop(run_of(2), tries=1, agent=secret, executor="tcp://192.0.2.1:8786")
    assert "MY_API_KEY looks like a credential" in loaded.run(away).error
    assert "is not a running Dask cluster" in loaded.run(loop(run_of(2), tries=1, executor=5)).error


def test_killed_loop_on_a_cluster_resumes_there(kernelspecs: Path, workers: Workers, tmp_path: Path) -> None:
    """The try that ran on a worker ends, too."""
    waits = {"run": "model.x = 9", "wait": True}
    with started(tmp_path) as kernel:
        value(kernel, f"{FIRST}\n{SECOND}")
        value(kernel, f"made = loop({run_of(2)!r}, {waits!r}, tries=9, executor={workers.address!r})", clickable=True)
        _until(lambda: any(_is_agent(each) for each in workers.below) and _count(kernel) == 2)
        below = [each for each in workers.below if _is_agent(each)]
        kernel.manager.provisioner.process.kill()  # type: ignore[union-attr]
        assert psutil.wait_procs(below, timeout=60)[1] == []
    with started(tmp_path) as kernel:
        value(kernel, f"{FIRST}\n{SECOND}")
        made = f"made = agentnb.loop.resume(tries=3, executor={workers.address!r}).wait(); outcome(made)[0]"
        assert value(kernel, made) == ["start", "kept", "lost", "start", "kept"]


def _count(kernel: RunningKernel) -> int:
    count: int = value(kernel, "made.spent.turns", clickable=True)
    return count


def _is_agent(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return any(str(AGENTS / "improves.py") == word for word in process.cmdline())
    return False


def _until(is_so: Any) -> None:
    for _ in range(1200):
        if is_so():
            return
        threading.Event().wait(0.05)
    pytest.fail("it did not happen")
