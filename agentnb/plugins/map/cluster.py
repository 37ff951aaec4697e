"""Runs a batch on a Dask cluster (https://distributed.dask.org): tasks carry inputs, small answers come back.

A plugin brings everything that the agents need, also to workers that join later; tasks never carry it.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import platform
import time
from concurrent.futures import CancelledError as FutureCancelled
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import cloudpickle
import msgspec
from distributed import Client, KilledWorker

from agentnb import __version__, errors
from agentnb.api.answers import AnswerUnfit
from agentnb.api.columns import lines
from agentnb.credentials import is_ordinary, is_secret_name, shapes
from agentnb.errors import AgentnbError, UsageError
from agentnb.plugins.map import worker_plugin
from agentnb.plugins.map.asking import CANCEL_SECONDS, ClusterLost, WorkerLost
from agentnb.plugins.map.records import Body
from agentnb.plugins.map.worker_agents import THIS_PROCESS, WorkerAnswer, WorkerSettings, log_place, settings_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentnb.plugins.map.asking import BatchQuestion, Job

cloudpickle.register_pickle_by_value(worker_plugin)
_CLOSE_SECONDS = 5.0
_LOOK_SECONDS = 1.0
_LISTED = 20
_LOCAL = {"localhost", "127.0.0.1", "::1", ""}
_ERRORS = {kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type)}


class _ByValue:
    """A function that a worker can load without agentnb: a task that it cannot load ends a worker."""

    def __init__(self, function: Any) -> None:
        self._pickled = cloudpickle.dumps(function)

    def __reduce__(self) -> tuple[Any, ...]:
        return pickle.loads, (self._pickled,)

    def __call__(self, *args: Any) -> Any:
        return pickle.loads(self._pickled)(*args)  # noqa: S301 - as above


_ASK = _ByValue(worker_plugin.ask)


class Cluster:
    """A batch's agents on the workers of a cluster."""

    def __init__(self, executor: Any, question: BatchQuestion, batch: str) -> None:
        self.address, self._security = _scheduler_of(executor)
        self._question = question
        self._batch = batch
        self._plugin = f"agentnb-{batch}"
        self._settings = self._pickled()
        self._client: Any = None
        self._times = 0  # number of times that this batch connected to a scheduler
        self._sent = 0
        self._unfit: dict[str, tuple[str, list[str]]] = {}
        self._meeting = asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None
        self._busy: list[str] = []
        self.workers: int | None = None

    @property
    def is_private(self) -> bool:
        """True if nobody else can read what is sent to the scheduler: TLS, this process, this machine."""
        parts = urlsplit(self.address if "://" in self.address else f"tcp://{self.address}")
        return parts.scheme in {"tls", "wss", "inproc"} or (parts.hostname or "") in _LOCAL

    # All that follows runs on the batch's loop.

    async def open(self) -> None:
        """Connect, and raise UsageError if workers lack something."""
        await self._connect()
        await self._begin()
        machines: dict[str, tuple[str, list[str]]] = await self._client.run(worker_plugin.lacks, self._plugin)
        unfit = {address: machine for address, machine in machines.items() if machine[1]}
        if unfit:
            raise UsageError(
                f"Workers cannot run this batch; nothing was sent to agents.\n{_table(unfit)}\n",
                hint="Install what they lack, or use a cluster without them.",
            )
        self._looking = asyncio.create_task(self._look())

    async def ask(self, job: Job) -> WorkerAnswer:
        """Ask about one input on some worker, and again on another one if the worker lacks something."""
        encoded = msgspec.json.encode(job)
        while True:
            times = self._times
            self._sent += 1
            future = self._client.submit(
                _ASK,
                self._plugin,
                encoded,
                key=f"agentnb-{self._batch}-{job.number}-{self._sent}",
                pure=False,
                **await self._placed(),
            )
            try:
                kind, result = await future
            except KilledWorker as error:
                deaths = getattr(error, "allowed_failures", 0) + 1
                message = f"The workers that processed this input died, {deaths} of them."
                raise WorkerLost(message, hint="See their logs: `client.get_worker_logs()`.") from error
            except FutureCancelled:
                await self._meet_again(times)
                continue
            finally:
                future.release()
            if kind == "answer" and result is None:  # the worker ended meanwhile
                continue
            if kind == "answer":
                return msgspec.json.decode(result, type=WorkerAnswer)
            address, lacking = result
            self._unfit[address] = ("", lacking)

    async def cancel(self) -> None:
        await self._on_workers(worker_plugin.cancel, CANCEL_SECONDS)

    async def figures(self) -> list[Body]:
        """Returns the progress of the inputs that are being asked."""
        busy, self._busy = self._busy or None, []
        figures: dict[str, list[bytes]] = await self._client.run(
            worker_plugin.figures, self._plugin, workers=busy, on_error="ignore"
        )
        self._busy = [address for address, bodies in figures.items() if bodies]
        return [msgspec.json.decode(each, type=Body) for bodies in figures.values() for each in bodies]

    async def close(self) -> None:
        """End the agents on the workers, and leave the scheduler."""
        if self._looking is not None:
            self._looking.cancel()
        if self._client is None:
            return
        if self._client.status == "running":
            await self._on_workers(worker_plugin.forget, _CLOSE_SECONDS)
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._client.unregister_worker_plugin(self._plugin), _CLOSE_SECONDS)
        await _leave(self._client)
        self._client = None

    async def _connect(self) -> None:
        client: Any = Client(  # type: ignore[no-untyped-call]
            self.address, security=self._security, asynchronous=True, set_as_default=False, name="agentnb"
        )
        try:
            self._client = await client
        except (OSError, ValueError) as error:
            await _leave(client)
            message = f"The scheduler at {self.address} does not answer: {error}."
            raise ClusterLost(message, hint="Start it, or give the address of another one.") from error
        except TypeError as error:  # Dask raises it if a certificate is missing
            await _leave(client)
            raise UsageError(
                f"The scheduler at {self.address} requires a certificate, but executor= has none.",
                hint="Give the distributed.Client that is connected to it.",
            ) from error

    async def _begin(self) -> None:
        """Give each worker its agents; those that join later get them from the scheduler."""
        pythons = await self._client.run(platform.python_version_tuple)
        here = platform.python_version_tuple()[:2]
        other = {
            address: ("", [f"Python is {'.'.join(version[:2])}, here it is {'.'.join(here)}"])
            for address, version in pythons.items()
            if tuple(version[:2]) != here
        }
        if other:
            raise UsageError(
                f"Workers have a different Python version; nothing was sent to agents.\n{_table(other)}\n",
                hint="Both need the same one.",
            )
        plugin = worker_plugin.BatchAgents(self._batch, __version__, self._settings)
        await self._client.register_plugin(plugin, name=self._plugin)
        self._times += 1
        self._unfit.clear()

    async def _placed(self) -> dict[str, Any]:
        """Returns where a task may run: anywhere, or, once a worker lacked something, on those that lack nothing."""
        if not self._unfit:
            return {}
        there = await self._addresses()
        fit = sorted(there - self._unfit.keys())
        if not fit:
            unfit = {address: machine for address, machine in self._unfit.items() if address in there}
            raise UsageError(
                f"No worker can run this batch.\n{_table(unfit)}\n", hint="Install what they lack, then batch.retry()."
            )
        return {"workers": fit, "allow_other_workers": True}

    async def _addresses(self) -> set[str]:
        identity = await self._client.scheduler.identity(n_workers=-1)
        return set(identity["workers"])

    async def _meet_again(self, times: int) -> None:
        """Wait for the scheduler that was lost, and begin again if another one came back."""
        while self._client.status == "connecting":  # noqa: ASYNC110 - the client tells nobody
            await asyncio.sleep(_LOOK_SECONDS / 10)
        if self._client.status != "running":
            message = f"The scheduler at {self.address} was lost and did not come back."
            raise ClusterLost(message, hint="Start it, then batch.retry().")
        async with self._meeting:
            if self._times == times:
                await self._begin()

    async def _look(self) -> None:
        """Keep counting the workers, so that one can say that there are none."""
        while True:
            with contextlib.suppress(OSError):
                self.workers = len(await self._addresses()) if self._client.status == "running" else None
            await asyncio.sleep(_LOOK_SECONDS)

    async def _on_workers(self, function: Any, seconds: float) -> None:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._client.run(function, self._plugin, on_error="ignore"), seconds)

    def _pickled(self) -> bytes:
        files = settings_files()
        secret = next(_credentials(self._question.options, files), None)
        if secret is not None and not self.is_private:
            raise UsageError(
                f"{secret} looks like a credential, and {self.address} is not encrypted.",
                hint="Use a scheduler with TLS (tls://…), or set it in the workers' own environment and leave it out.",
            )
        settings = WorkerSettings(question=self._question, files=files, process=THIS_PROCESS, place=log_place())
        try:
            return cloudpickle.dumps(settings)  # type: ignore[no-any-return]
        except Exception as error:
            message = f"output= or permissions= cannot be sent to workers: {error}"
            raise UsageError(message, hint="Use only values that can be pickled.") from error


class ClusterWorker:
    """As :class:`agentnb.plugins.map.asking.SessionWorker`, on a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._last = Body()
        self._began = 0.0

    def begin(self) -> None:
        self._last, self._began = Body(), time.monotonic()

    async def ask(self, job: Job) -> Body:
        answer = await self._cluster.ask(job)
        self._last = answer.body
        if answer.error is not None:
            raise _error_of(*answer.error)
        return answer.body

    def body(self, *, error: str = "", reason: str = "") -> Body:
        seconds = self._last.seconds or round(time.monotonic() - self._began, 3)
        return msgspec.structs.replace(self._last, error=error, reason=reason, seconds=seconds)

    async def close(self, seconds: float) -> None:
        """Nothing is open here."""


async def _leave(client: Any) -> None:
    with contextlib.suppress(Exception):
        await asyncio.wait_for(client.close(), _CLOSE_SECONDS)


def _scheduler_of(executor: Any) -> tuple[str, Any]:
    """Returns a scheduler's address, and its security settings."""
    if isinstance(executor, str) and ":" in executor:
        return executor, None
    scheduler = getattr(executor, "scheduler", None)
    address = getattr(executor, "scheduler_address", None) or getattr(scheduler, "address", None)
    if not isinstance(address, str) or not address:
        raise UsageError(
            f"executor={executor!r} is not a running Dask cluster.",
            hint='Give a distributed.Client, or the address of a scheduler, "tcp://host:8786".',
        )
    return address, getattr(executor, "security", None) or None


def _credentials(options: Mapping[str, Any], files: Mapping[str, str]) -> Iterator[str]:
    """Yields names for whatever looks like a credential and would go to workers."""
    for name, value in (options.get("env") or {}).items():
        if is_secret_name(name) and not is_ordinary(value):
            yield f"The variable {name}"
    for server in options.get("mcp_servers") or ():
        if shapes(msgspec.json.encode(server, enc_hook=str).decode()):
            yield "A variable or header of an MCP server"
    for name, text in files.items():
        if shapes(text):
            yield f"Something in your {name}"


def _table(workers: Mapping[str, tuple[str, list[str]]]) -> str:
    rows = [(address, host, "; ".join(lacking)) for address, (host, lacking) in sorted(workers.items())]
    more = [] if len(rows) <= _LISTED else [(f"and {len(rows) - _LISTED} more", "", "")]
    return "\n".join(lines([("worker", "machine", "lacks"), *rows[:_LISTED], *more]))


def _error_of(name: str, text: str) -> Exception:
    if name == AnswerUnfit.__name__:
        return AnswerUnfit(text)
    kind = _ERRORS.get(name, AgentnbError)
    return kind(text) if issubclass(kind, AgentnbError) else AgentnbError(text)
