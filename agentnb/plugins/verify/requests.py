"""The page's requests: begin a verification, follow it, see whether it is stale."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from agentnb.errors import AgentnbError, UsageError
from agentnb.plugins.verify.result import SECONDS, Finding, Verification
from agentnb.ports import Request

if TYPE_CHECKING:
    from agentnb.plugins.verify.static_check import LiveKernel

LONGEST_WAIT = 25.0
Status: TypeAlias = Literal["none", "running", "ended"]


class BeginParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Begin to verify a notebook; where it is being verified, that goes on.

    Attributes:
        path: The notebook's file, absolute, or its path on the Jupyter server; the kernel's own notebook where empty.
        fast: Whether only the names in the cells are looked at, and nothing is run.
        seconds: How long the cells may take in all.
    """

    path: str = ""
    fast: bool = False
    seconds: float = SECONDS


class StateParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Returns how a verification stands; waits for news.

    Attributes:
        path: The notebook's file, as in ``verify/begin``.
        revision: The last revision that the page knows: the answer waits until there is a newer one, 25 s at most.
    """

    path: str = ""
    revision: int = -1


class VerificationState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How a verification stands.

    Attributes:
        status: ``"none"``, ``"running"`` or ``"ended"``.
        revision: Grows with each change.
        done: How many cells have run.
        all: How many are to be run.
        time: When it ended, in milliseconds since 1970; 0 before.
        is_stale: Whether the notebook has been changed since it began.
        ok: Whether nothing was found.
        findings: What was found.
        summary: It in a line.
        not_checked: What was not looked at.
        error: Why it could not be done; empty where it could.
    """

    status: Status = "none"
    revision: int = 0
    done: int = 0
    all: int = 0
    time: int = 0
    is_stale: bool = False
    ok: bool = False
    findings: tuple[Finding, ...] = ()
    summary: str = ""
    not_checked: tuple[str, ...] = ()
    error: str = ""


class _Job:
    """One notebook's verification, on a thread of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.digest = ""
        self.state = VerificationState()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def begin(self, params: BeginParams) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        from agentnb.plugins.verify.verifying import digest_of

        text, live = _text(self.path)
        self.digest = digest_of(text)
        self._set(status="running", done=0, all=0, time=0, ok=False, findings=(), summary="", not_checked=(), error="")
        self._thread = threading.Thread(target=self._run, args=(params, text, live), name="agentnb verify", daemon=True)
        self._thread.start()

    def _run(self, params: BeginParams, text: str, live: LiveKernel | None) -> None:
        from agentnb.plugins.verify.verifying import check_notebook

        try:
            result = check_notebook(
                text,
                self.path.parent,
                path=self.path,
                run=not params.fast,
                seconds=params.seconds,
                live=live,
                progress=lambda done, count: self._set(done=done, all=count),
            )
        except AgentnbError as error:
            self._set(status="ended", time=_now(), error=str(error))
        except Exception as error:  # noqa: BLE001 - the page must not wait for ever
            self._set(status="ended", time=_now(), error=f"The verification failed: {error}.")
        else:
            self._set(status="ended", time=_now(), **_fields(result))

    def _set(self, **fields: object) -> None:
        with self._changed:
            self.state = msgspec.structs.replace(self.state, revision=self.state.revision + 1, **fields)
            self._changed.notify_all()

    def wait(self, revision: int) -> None:
        """Wait until there is a newer revision."""
        with self._changed:
            self._changed.wait_for(lambda: self.state.revision > revision, LONGEST_WAIT)


def _now() -> int:
    return int(time.time() * 1000)


def _fields(result: Verification) -> dict[str, object]:
    names = ("ok", "findings", "summary", "not_checked")
    return {name: getattr(result, name) for name in names}


_jobs: dict[Path, _Job] = {}


def _text(path: Path) -> tuple[str, LiveKernel | None]:
    from agentnb.plugins.verify.own_notebook import current_text, own_notebook

    own = own_notebook(path)
    return (current_text(path), None) if own is None else (own.text, own.live)


def _path(named: str) -> Path:
    from agentnb.host.environment import current_environment

    if Path(named).is_absolute():
        return Path(named).resolve()
    runner = current_environment().code_runner()
    path = None if runner is None else runner.notebook(outputs=False, named=named or None).path
    if path is None:
        raise UsageError("It is not known which notebook this is.", hint="Save it under a name first.")
    return Path(path)


async def begin(params: BeginParams) -> VerificationState:
    """Begin a verification."""
    path = await asyncio.to_thread(_path, params.path)
    job = _jobs.setdefault(path, _Job(path))
    job.begin(params)
    return job.state


async def state(params: StateParams) -> VerificationState:
    """How a verification stands."""
    from agentnb.plugins.verify.verifying import digest_of

    path = await asyncio.to_thread(_path, params.path)
    job = _jobs.get(path)
    if job is None:
        return VerificationState()
    if params.revision >= 0:
        await asyncio.to_thread(job.wait, params.revision)
    stale = job.state.status == "ended" and digest_of(_text(path)[0]) != job.digest
    return msgspec.structs.replace(job.state, is_stale=stale)


REQUESTS = (
    Request("verify/begin", BeginParams, VerificationState, begin),
    Request("verify/state", StateParams, VerificationState, state),
)
