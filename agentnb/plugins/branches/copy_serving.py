"""The copy's side: it serves the kernel's requests on its main thread, one after another.

An agent's code runs in the copy, so the kernel reads what a copy sends only as data.
"""

from __future__ import annotations

import math
import queue
import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.errors import AgentnbError
from agentnb.host.environment import current_environment
from agentnb.ipython.shell_code_runner import ShellCodeRunner
from agentnb.kernel.code_runner import NotebookCell, Ran, UserVariable
from agentnb.kernel.data_checks import DataChecks, compare_watched, compared
from agentnb.kernel.job_queue import JobQueue
from agentnb.kernel.variables.changes import ChangeSet
from agentnb.plugins.branches import variables
from agentnb.plugins.branches.at_fork import AtFork

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.kernel.job_queue import MainThreadWork
    from agentnb.kernel.variables.changes import NameChange


LARGEST = 256 * 1024 * 1024
"""The largest message, in bytes: code may show 50 pictures."""
_HEAD = struct.Struct("!Q")


class CopyRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request to a copy.

    Attributes:
        kind: ``"run"`` code, list the ``"variables"``, ``"inspect"`` one, evaluate ``"measure"``, ``"save"`` what
            changed; ``"stop"`` interrupts the running code, and has no answer.
        text: The code, the path of a variable, an expression, or the file to save to.
        watch: True if the changes that the code makes count as the branch's.
        names: The wanted variables; all if None.
    """

    number: int
    kind: str
    text: str = ""
    watch: bool = True
    names: tuple[str, ...] | None = None


class CopyAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of a copy to the request with this number; with number 0, a report of its progress.

    Attributes:
        error: Why the request failed; empty if it did not.
        text: The requested text, or the end of what the running code has printed.
        changed: The names that code changed, each with the kind of change.
        value: A number that was measured.
        checks: Possible errors in tables, a line each.
        objects: The keys of saved objects, which are to be changed in place.
    """

    number: int
    error: str = ""
    text: str = ""
    ran: Ran | None = None
    variables: tuple[UserVariable, ...] = ()
    cells: tuple[NotebookCell, ...] = ()
    changed: dict[str, str] = {}
    value: float | None = None
    checks: tuple[str, ...] = ()
    objects: tuple[int | str, ...] = ()


class CopyLink:
    """One end of the socket; sends from any thread, receives on one."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._lock = threading.Lock()

    def send(self, message: CopyRequest | CopyAnswer) -> None:
        """Send *message*; raises an OSError if the other end is gone."""
        data = msgspec.json.encode(message)
        with self._lock:
            self._socket.sendall(_HEAD.pack(len(data)) + data)

    def receive(self, kind: type[Any]) -> Any:
        """Wait for the next message; raises EOFError if the other end is gone, or sends something else."""
        (size,) = _HEAD.unpack(self._read(_HEAD.size))
        if size > LARGEST:
            raise EOFError
        try:
            return msgspec.json.decode(self._read(size), type=kind)
        except (msgspec.DecodeError, RecursionError) as error:
            raise EOFError from error

    def close(self) -> None:
        """Close the link; the other end notices, and so does a thread that is receiving here."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                piece = self._socket.recv(min(size - len(data), 1 << 20))
            except OSError as error:
                raise EOFError from error
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)


PROGRESS_SECONDS = 0.5


class CopyServer:
    """Serves the requests from *end* with the state of *shell*; *evaluate* evaluates what is measured."""

    def __init__(
        self,
        shell: Any,
        end: socket.socket,
        at_fork: AtFork | None = None,
        evaluate: Callable[[str], tuple[Any, str]] | None = None,
    ) -> None:
        self._at_fork = at_fork
        self._evaluate = evaluate or self._expression
        self._shell = shell
        self._link = CopyLink(end)
        self._runner = ShellCodeRunner(shell, JobQueue())
        self._requests: queue.SimpleQueue[CopyRequest | None] = queue.SimpleQueue()
        self._running: MainThreadWork[Any] | None = None
        self._changes = ChangeSet()
        self._checks: DataChecks = DataChecks()
        self._comparison = current_environment().step_comparison(is_fork=True)
        self._answers: dict[str, Callable[[CopyRequest], CopyAnswer]] = {
            "run": self._run,
            "variables": lambda request: CopyAnswer(number=request.number, variables=(*self._runner.variables(),)),
            "inspect": lambda request: CopyAnswer(number=request.number, text=self._runner.inspect(request.text)),
            "executed": lambda request: CopyAnswer(number=request.number, cells=(*self._runner.executed_cells(),)),
            "measure": self._measure,
            "save": self._save,
            "changed": lambda request: CopyAnswer(
                number=request.number, changed=self._changed, checks=self._checks.lines
            ),
        }

    def serve(self) -> None:
        """Serve on this thread until the kernel closes the socket."""
        threading.Thread(target=self._read, name="agentnb branch", daemon=True).start()
        threading.Thread(target=self._tell_progress, name="agentnb branch progress", daemon=True).start()
        while (request := self._requests.get()) is not None:
            try:
                self._answer(request)
            except KeyboardInterrupt:  # the interrupt came before the code began or after it ended
                with suppress(OSError):
                    self._link.send(CopyAnswer(number=request.number, error="It was interrupted."))

    def _read(self) -> None:
        with suppress(EOFError):
            while True:
                request: CopyRequest = self._link.receive(CopyRequest)
                if request.kind != "stop":
                    self._requests.put(request)
                elif (running := self._running) is not None:
                    running.stop("timeout" if request.text == "timeout" else "stopped")
        self._requests.put(None)

    def _tell_progress(self) -> None:
        before = ""
        pause = threading.Event()
        while not pause.wait(PROGRESS_SECONDS):
            text = getattr(self._running, "printed", "")
            if text != before:
                with suppress(OSError):
                    self._link.send(CopyAnswer(number=0, text=text))
            before = text

    def _answer(self, request: CopyRequest) -> None:
        try:
            answer = self._answers[request.kind](request)
        except AgentnbError as error:
            answer = CopyAnswer(number=request.number, error=str(error))
        except Exception as error:  # noqa: BLE001 - a user's object may raise anything when looked at
            answer = CopyAnswer(number=request.number, error=f"{type(error).__name__}: {error}"[:2000])
        with suppress(OSError):
            self._link.send(answer)

    def _run(self, request: CopyRequest) -> CopyAnswer:
        namespace = self._runner.namespace
        if request.watch and self._at_fork is None:  # the first watched run: the notebook's cells have run before
            self._at_fork = AtFork(namespace.variables(), is_fork=False)
        watch = namespace.watch(request.text, self._take) if request.watch else None
        if watch is not None:
            compare_watched(watch, self._comparison, namespace.variables)
        ran: Ran = self._done(self._runner.work(request.text, watch))
        return CopyAnswer(number=request.number, ran=ran)

    def _done(self, work: MainThreadWork[Any]) -> Any:
        """Run *work* and return its outcome; it can be stopped meanwhile."""
        outcomes: list[Any] = []
        self._running = work
        try:
            work.begin(outcomes.append, loop_is_free=True)
        finally:
            self._running = None
        return outcomes[0]

    def _take(self, changes: Sequence[NameChange]) -> None:
        for change in changes:
            self._changes.add(change)
        checks = compared(self._comparison, self._runner.namespace.variables(), [each.name for each in changes])
        if checks is not None:
            self._checks = DataChecks(checks)

    @property
    def _changed(self) -> dict[str, str]:
        return {name: change.status for name, change in self._changes.names.items()}

    def _measure(self, request: CopyRequest) -> CopyAnswer:
        """Evaluate an expression to a number; what the evaluation changes does not count as the branch's changes."""

        def evaluate() -> Any:
            try:
                return self._evaluate(request.text)
            except Exception as error:  # noqa: BLE001 - it is told
                return error

        evaluated = self._done(self._runner.look(evaluate))
        if isinstance(evaluated, Exception):
            raise evaluated
        value, text = evaluated
        number = value.item() if hasattr(value, "item") else value
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise TypeError(f"the measure is {type(value).__name__}, not a number")
        if not math.isfinite(number):
            raise ValueError("the measure is NaN" if math.isnan(number) else "the measure is infinite")
        return CopyAnswer(number=request.number, value=float(number), text=text)

    def _expression(self, text: str) -> tuple[Any, str]:
        return eval(text, self._shell.user_ns), ""  # noqa: S307 - the user's own expression

    def _save(self, request: CopyRequest) -> CopyAnswer:
        at_fork, changed = self._at_fork or AtFork({}), self._changed
        saved = variables.save(Path(request.text), self._shell.user_ns, at_fork, changed, request.names)
        kept = {name: status for name, status in changed.items() if name not in saved.lost}
        lost = "\n".join(f"{name}: {why}" for name, why in saved.lost.items())
        return CopyAnswer(number=request.number, changed=kept, objects=(*saved.objects,), text=lost)
