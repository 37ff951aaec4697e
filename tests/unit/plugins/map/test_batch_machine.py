"""Failures in any order: agents, workers and kernels die, users interrupt; each input ends with exactly one result."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
from distributed import LocalCluster
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import agentnb
from tests.unit.plugins.map.conftest import MOODY

RUNS = int(os.environ.get("AGENTNB_BATCHES", "2"))
STEPS = 5
WORDS = ("say", "fail", "busy", "die-once")
KERNEL = """
import sys
import agentnb
command, batch, folder = sys.argv[3:], sys.argv[1], sys.argv[2]
inputs = sys.stdin.read().splitlines()
found = agentnb.map("{input}", inputs, command=command, resume=batch, cwd=folder, on_error="keep", progress=False)
print("begun", flush=True)
for each in found.as_completed():
    print(each.number, flush=True)
"""


class Failures(RuleBasedStateMachine):
    """One batch and its failures."""

    def __init__(self) -> None:
        super().__init__()
        self.open = contextlib.ExitStack()
        self.folder = Path(tempfile.mkdtemp())
        self.open.callback(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "workspace").mkdir()
        self.log = self.folder / "asked.txt"
        self.log.touch()
        self.cluster: Any = None
        self.batch: Any = None
        self.done: dict[str, int] = {}

    @initialize(words=st.lists(st.sampled_from(WORDS), min_size=3, max_size=8), on_cluster=st.booleans())
    def begin(self, words: list[str], on_cluster: bool) -> None:
        """Each input has different words, so the log shows how often each was asked."""
        self.inputs = [f"{word} {self.folder / str(number)} 1" for number, word in enumerate(words)]
        self.command = [sys.executable, str(MOODY), f"log={self.log}"]
        if on_cluster:
            options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
            self.cluster = self.open.enter_context(LocalCluster(**options))
        self._ask(None)

    @rule(number=st.integers(0, 3))
    def some_end(self, number: int) -> None:
        """Waits for some results."""
        for _, _ in zip(range(number), self.batch.as_completed(), strict=False):
            pass

    @rule()
    def an_agent_dies(self) -> None:
        for each in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if str(MOODY) in each.cmdline():
                    each.kill()
                    return

    @rule()
    def the_user_interrupts_and_goes_on(self) -> None:
        """The inputs stay the same."""
        self._end()
        self._ask(self.batch.id)

    @rule()
    def what_failed_is_asked_again(self) -> None:
        """It waits for the batch's end first."""
        self.batch.wait(check=False)
        self._remember()
        self.batch.retry()

    @precondition(lambda self: self.cluster is not None)
    @rule()
    def a_worker_ends(self) -> None:
        """Another one joins."""
        self.cluster.scale(1)
        self.cluster.scale(2)

    @rule()
    def the_kernel_dies(self) -> None:
        """A kernel resumes the batch, and is killed after its first result."""
        self._end()
        words = [sys.executable, "-c", KERNEL, self.batch.id, str(self.folder / "workspace"), *self.command]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as kernel:
            assert kernel.stdin is not None
            assert kernel.stdout is not None
            kernel.stdin.write("\n".join(self.inputs))
            kernel.stdin.close()
            assert kernel.stdout.readline() == "begun\n"
            kernel.stdout.readline()
            kernel.send_signal(signal.SIGKILL)
        self._ask(self.batch.id)

    def teardown(self) -> None:
        """Each input has one result, the right one; finished inputs were not asked again."""
        try:
            if self.batch is not None:
                self._check()
        finally:
            if self.batch is not None:
                self.batch.cancel()
                self.batch.wait(check=False)
            self.open.close()

    def _check(self) -> None:
        for _ in range(2):  # an input's agent may have been killed twice
            self.batch.wait(check=False)
            self._remember()
            self.batch.retry()
        self.batch.wait(check=False)
        results = list(self.batch.results)
        assert [each.number for each in results] == list(range(len(self.inputs)))
        for each, prompt in zip(results, self.inputs, strict=True):
            expected = ("failed", "") if prompt.startswith("fail") else ("done", f"said {prompt}")
            assert (each.state, each.text) == expected, each
        assert sum(self.batch.counts.values()) == len(self.inputs)
        self._remember()

    def _ask(self, batch: str | None) -> None:
        self.batch = agentnb.map(
            "{input}",
            self.inputs,
            command=self.command,
            cwd=self.folder / "workspace",
            resume=batch,
            executor=self.cluster,
            concurrency=2,
            on_error="keep",
            retries=2,
            backoff=0.01,
            progress=False,
        )

    def _end(self) -> None:
        self.batch.cancel()
        self.batch.wait(check=False)
        self._remember()

    def _remember(self) -> None:
        """Checks that finished inputs were not asked again since."""
        logged_inputs = self.log.read_text().splitlines()
        for text, number in self.done.items():
            assert logged_inputs.count(text) == number, text
        done = {each.prompt for each in self.batch.results if each.state == "done"}
        self.done.update({text: logged_inputs.count(text) for text in done})


TestFailures = Failures.TestCase
TestFailures.settings = settings(max_examples=RUNS, stateful_step_count=STEPS, deadline=None, derandomize=RUNS < 10)
