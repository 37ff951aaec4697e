"""The agents of a batch on a cluster's worker: asks the inputs in tasks, and keeps answers until the batch has them.

The submitter's settings (arguments, variables, policy) come with the plugin, never with a task.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import pickle
import platform
import sqlite3
import tempfile
import threading
import time
from concurrent.futures import CancelledError as Cancelled
from concurrent.futures import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from distributed.diskutils import WorkSpace

from agentnb.api.answers import AnswerUnfit
from agentnb.errors import AgentnbError
from agentnb.folders import config_folder
from agentnb.ids import new_id
from agentnb.log.location import log_location
from agentnb.plugins.map.asking import CANCEL_SECONDS, CLOSE_SECONDS, BatchQuestion, Job
from agentnb.plugins.map.records import Body

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from distributed.diskutils import WorkDir

    from agentnb.plugins.map.asking import Asking

THIS_PROCESS = new_id()
"""Id of this process, by which a worker in the submitter's process recognizes that it already has the settings."""
OWN_FILES = ("policy.toml", "settings.toml", "local.toml", "registry.json")
_CONFIG = "AGENTNB_CONFIG_DIR"
_LOOK_SECONDS = 2.0
_OLDEST_SECONDS = 7 * 86400.0


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True):
    question: BatchQuestion
    files: dict[str, str]
    process: str
    place: str


class WorkerAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a task; the error's type and its text, where it failed."""

    body: Body
    error: tuple[str, str] | None = None


def log_place() -> str:
    """Returns where this process keeps conversations: the machine and the log's file; empty if it keeps none."""
    log = log_location(os.environ)
    return "" if log is None else f"{platform.node()}:{log.absolute()}"


def settings_files() -> dict[str, str]:
    """Returns the user's policy, settings and agents for workers: texts by their path in the settings folder."""
    folder = config_folder()
    agents = sorted((folder / "agents").glob("*.toml"))
    texts = {}
    for path in (*(folder / each for each in OWN_FILES), *agents):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            texts[path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8")
    return texts


def open_agents(batch: str, settings: bytes, scratch: Path) -> tuple[WorkerAgents | None, list[str]]:
    """Returns the agents of a batch on this worker, or None and what the worker lacks."""
    try:
        received: WorkerSettings = pickle.loads(settings)  # noqa: S301 - from the submitter, as each task of Dask
    except Exception as error:  # noqa: BLE001 - the modules of the user's types are the user's code
        return None, [f"what output= or permissions= needs ({error})"]
    own = received.process == THIS_PROCESS
    if not own and not _SETTINGS.take(received.files, scratch):
        return None, ["it runs a batch of another user, or with other settings"]
    try:
        received.question.check()
    except AgentnbError as error:
        if not own:
            _SETTINGS.release()
        return None, [str(error)]
    return WorkerAgents(batch, received, has_settings=not own), []


class WorkerAgents:
    """Asks about as many inputs at once as the worker has threads; their sessions share agent processes."""

    def __init__(self, batch: str, settings: WorkerSettings, *, has_settings: bool) -> None:
        self._question = settings.question
        self._place = log_place() if log_place() != settings.place else ""
        self._has_settings = has_settings
        self._answers = _Answers(batch, is_used=settings.question.keeps_answers)
        self._free: list[Asking] = []
        self._all: list[Asking] = []
        self._running: set[asyncio.Task[WorkerAnswer]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="agentnb-batch-worker", daemon=True)
        self._thread.start()

    def ask(self, question: bytes, is_wanted: Callable[[], bool] = lambda: True) -> bytes | None:
        """Ask about one input, and wait for it while the answer *is_wanted*; from any thread."""
        job = msgspec.json.decode(question, type=Job)
        kept = self._answers.get(job.key, job.copy)
        if kept is not None:
            return kept
        try:
            request = asyncio.run_coroutine_threadsafe(self._started(job), self._loop)
            while not wait([request], timeout=_LOOK_SECONDS).done:
                if not is_wanted():
                    request.cancel()
            answer = request.result()
        except (Cancelled, RuntimeError):
            return None
        encoded = msgspec.json.encode(answer)
        if answer.error is None:
            self._answers.keep(job.key, job.copy, encoded)
        return encoded

    def cancel(self) -> None:
        """Cancel what is being asked; from any thread."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._cancel_running)

    def figures(self) -> list[bytes]:
        """Returns the progress of the inputs that are being asked; from any thread."""
        return [msgspec.json.encode(each.body()) for each in self._all if each not in self._free]

    def forget(self) -> None:
        self._answers.delete()

    def close(self) -> None:
        """End the agents and release what they use; from any thread."""
        with contextlib.suppress(RuntimeError):
            asyncio.run_coroutine_threadsafe(self._closed(), self._loop).result(CLOSE_SECONDS)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(CLOSE_SECONDS)
            self._loop.close()
        self._answers.close()
        if self._has_settings:
            self._has_settings = False
            _SETTINGS.release()

    # ------------------------------------------------------------ on the loop

    async def _started(self, job: Job) -> WorkerAnswer:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - it runs
        self._running.add(task)
        asking = self._free.pop() if self._free else self._made()
        asking.begin()
        try:
            body = await asking.ask(job)
            return WorkerAnswer(body=self._placed(body))
        except (AgentnbError, AnswerUnfit) as error:
            return WorkerAnswer(body=self._placed(asking.body()), error=(type(error).__name__, str(error)))
        except asyncio.CancelledError:
            await asking.close(CANCEL_SECONDS)
            raise
        finally:
            self._running.discard(task)
            self._free.append(asking)

    def _made(self) -> Asking:
        self._all.append(self._question.asking(len(self._all) % self._question.processes))
        return self._all[-1]

    def _placed(self, body: Body) -> Body:
        return msgspec.structs.replace(body, log=self._place) if self._place and body.session else body

    def _cancel_running(self) -> None:
        for each in self._running:
            each.cancel()

    async def _closed(self) -> None:
        running = list(self._running)
        self._cancel_running()
        await asyncio.gather(*running, return_exceptions=True)
        await asyncio.gather(*(each.close(CANCEL_SECONDS) for each in self._all))


class _Answers:
    """Stores a batch's answers on this machine until the batch has them, because a killed worker loses its memory.

    Without a usable file there is no store: the input is asked again.
    """

    def __init__(self, batch: str, *, is_used: bool) -> None:
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._path: Path | None = None
        if not is_used:
            return
        with contextlib.suppress(OSError, sqlite3.Error):
            folder = _private_folder()
            _delete_old(folder)
            self._path = folder / f"{hashlib.sha256(batch.encode()).hexdigest()[:32]}.db"
            self._connection = sqlite3.connect(self._path, timeout=5, isolation_level=None, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = OFF")  # it must outlive only the process, not the machine
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS answers"
                " (key TEXT, copy INTEGER, answer BLOB, PRIMARY KEY (key, copy)) WITHOUT ROWID"
            )

    def get(self, key: str, copy: int) -> bytes | None:
        row = self._run("SELECT answer FROM answers WHERE key = ? AND copy = ?", key, copy)
        return bytes(row[0]) if row else None

    def keep(self, key: str, copy: int, answer: bytes) -> None:
        self._run("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", key, copy, answer)

    def delete(self) -> None:
        self.close()
        if self._path is not None:
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _run(self, statement: str, *values: Any) -> Any:
        with self._lock, contextlib.suppress(sqlite3.Error):
            return None if self._connection is None else self._connection.execute(statement, values).fetchone()
        return None


class _SharedSettings:
    """The submitter's settings in a private folder, which this process uses while a batch runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: Mapping[str, str] = {}
        self._users = 0
        self._before: str | None = None
        self._folder: WorkDir | None = None

    def take(self, files: Mapping[str, str], scratch: Path) -> bool:
        """Use *files*, below *scratch*; False if others are in use."""
        with self._lock:
            if self._users and self._files != files:
                return False
            if not self._users:
                self._folder = WorkSpace(str(scratch)).new_work_dir(prefix="agentnb-settings-")  # type: ignore[no-untyped-call]
                folder = Path(self._folder.dir_path)
                for name, text in files.items():
                    path = folder / name
                    path.parent.mkdir(exist_ok=True)
                    path.write_text(text, encoding="utf-8")
                self._files, self._before = dict(files), os.environ.get(_CONFIG)
                os.environ[_CONFIG] = str(folder)
            self._users += 1
            return True

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users or self._folder is None:
                return
            if self._before is None:
                os.environ.pop(_CONFIG, None)
            else:
                os.environ[_CONFIG] = self._before
            self._folder.release()  # type: ignore[no-untyped-call]
            self._folder = None


_SETTINGS = _SharedSettings()


def _private_folder() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"agentnb-batches-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o077 or folder.is_symlink()):
        raise OSError(f"{folder} belongs to someone else.")
    return folder


def _delete_old(folder: Path) -> None:
    oldest = time.time() - _OLDEST_SECONDS
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()
