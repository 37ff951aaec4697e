"""The latest verification of each notebook, as pages follow it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from agentnb.clock import now_ms
from agentnb.errors import AgentnbError
from agentnb.plugins.verify.notebook_text import UNSAVED_TAG, read_notebook
from agentnb.plugins.verify.result import Finding, Stopped, Verification

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONGEST_WAIT = 25.0
LONGEST_FOLLOWED = 3600.0
"""Seconds after which a waiting page gets an answer even without news."""
MOST_FOLLOWERS = 50
Status: TypeAlias = Literal["none", "running", "ended"]


class VerificationState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state of a verification.

    Attributes:
        status: ``"none"``, ``"running"`` or ``"ended"``.
        revision: A number that grows with each change.
        done: How many cells have run.
        all: How many cells are to be run.
        time: When it ended, in milliseconds since 1970; 0 before.
        is_stale: True if code cells have been changed or run since it began.
        mark: The mark of the code from the page that began it; empty if no page did.
        ok: True if nothing was found.
        findings: The findings.
        summary: The result in one line.
        not_checked: What was not checked.
        task: The prompt for an agent that is to fix the findings; empty if there are none.
        error: Why it failed; empty if it did not.
    """

    status: Status = "none"
    revision: int = 0
    done: int = 0
    all: int = 0
    time: int = 0
    is_stale: bool = False
    mark: str = ""
    ok: bool = False
    findings: tuple[Finding, ...] = ()
    summary: str = ""
    not_checked: tuple[str, ...] = ()
    task: str = ""
    error: str = ""


class VerificationJob:
    """One notebook's verification, on a thread of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state: VerificationState = VerificationState()
        self._digest = ""
        self._mark = ""
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._followers: deque[asyncio.Future[None]] = deque()

    def begin(
        self, text: str, mark: str, check: Callable[[Callable[[int, int], object], threading.Event], Verification]
    ) -> None:
        """Begin to verify *text*, once a stopped verification has ended; one that still runs goes on instead."""
        with self._changed:
            is_over = self._changed.wait_for(
                lambda: self.state.status != "running" or not self._stop.is_set(), LONGEST_WAIT
            )
        if not is_over or self.state.status == "running":
            return
        self._stop = threading.Event()
        before = (self.state, self._digest)
        self._digest, self._mark = code_digest(text), mark
        self._set(VerificationState(status="running"))
        threading.Thread(target=self._run, args=(check, *before), name="agentnb verify", daemon=True).start()

    def _run(self, check: Callable[..., Verification], before: VerificationState, digest: str) -> None:
        try:
            result = check(self._progress, self._stop)
        except Stopped:
            self._digest, self._mark = digest, before.mark
            self._set(before)
        except AgentnbError as error:
            self._set(VerificationState(status="ended", time=now_ms(), error=str(error)))
        except Exception as error:  # noqa: BLE001 - the page must not wait for ever
            self._set(VerificationState(status="ended", time=now_ms(), error=f"The verification failed: {error}."))
        else:
            self._set(_ended(result))

    def _progress(self, done: int, count: int) -> None:
        self._set(msgspec.structs.replace(self.state, done=done, all=count))

    def _set(self, state: VerificationState) -> None:
        with self._changed:
            self.state = msgspec.structs.replace(state, revision=self.state.revision + 1, mark=self._mark)
            self._changed.notify_all()
            while self._followers:
                _wake(self._followers.popleft())

    def stop(self) -> None:
        self._stop.set()

    def take(self, text: str, result: Verification) -> None:
        """Take the result of a verification that no page began; one that runs meanwhile goes on."""
        if self.state.status != "running":
            self._digest, self._mark = code_digest(text), ""
            self._set(_ended(result))

    def is_stale(self, text: str) -> bool:
        """True if *text* has different code, or results of a different run, from what was verified."""
        return self.state.status == "ended" and code_digest(text) != self._digest

    async def wait(self, revision: int) -> None:
        """Wait for a newer revision, so that every page learns of it at once."""
        news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._changed:
            if self.state.revision > revision:
                return
            self._followers.append(news)
            if len(self._followers) > MOST_FOLLOWERS:  # mostly from pages that are gone
                _wake(self._followers.popleft())
        await asyncio.wait([news], timeout=LONGEST_FOLLOWED)


def _wake(news: asyncio.Future[None]) -> None:
    def wake() -> None:
        if not news.done():
            news.set_result(None)

    with suppress(RuntimeError):  # the follower's loop is closed
        news.get_loop().call_soon_threadsafe(wake)


_jobs: dict[Path, VerificationJob] = {}


def job_of(path: Path) -> VerificationJob:
    return _jobs.setdefault(path, VerificationJob(path))


def code_digest(text: str) -> str:
    """The digest of what a verification depends on: the text, the count and the tags of each code cell."""
    try:
        cells = read_notebook(text).code
    except AgentnbError:
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    facts = [[each.source, each.count, sorted(each.tags - {UNSAVED_TAG})] for each in cells]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _ended(result: Verification) -> VerificationState:
    from agentnb.plugins.verify.verify import task_for_agent

    return VerificationState(
        status="ended",
        time=now_ms(),
        ok=result.ok,
        findings=result.findings,
        summary=result.summary,
        not_checked=result.not_checked,
        task="" if result.ok else task_for_agent([result]),
    )
