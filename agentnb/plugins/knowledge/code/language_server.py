"""A language server: a program that starts at its first question and ends with this process.

The program is not trusted: its requests to change or show something are refused, and it is ended if it dies, does not
answer in time or sends too much.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import time
from concurrent.futures import TimeoutError as OutOfTime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.acp.fields import mapping
from agentnb.agent.child import Child, inherited
from agentnb.agent.programs import find_on_path
from agentnb.errors import ProtocolError
from agentnb.rpc import LSP, Connection, answer_nothing
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from collections.abc import Coroutine

MOST_BYTES = 64_000_000
"""Bytes that a server may send while one request is open."""
MOST_SERVERS = 4
"""Folders with a server at one time."""
MOST_DOCUMENTS = 100
"""Texts that one server keeps open."""
MOST_FAILURES = 3
"""Failures after which a folder's server is not started again."""
MOST_STDERR = 2_000
EXIT_SECONDS = 2.0
"""Seconds that a server that has closed its output may take to exit."""
_DELETED = 3
_ACTION_KINDS = ("quickfix", "refactor", "source", "source.fixAll", "source.organizeImports")


class ServerProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table of language servers."""

    name: str
    package: str = ""
    command: tuple[str, ...]
    finds_uses: bool = False
    settings: dict[str, Any] = msgspec.field(default_factory=dict)


_PYRIGHT = {"analysis": {"typeCheckingMode": "standard", "diagnosticMode": "openFilesOnly", "autoSearchPaths": True}}
_PYLSP = {
    "pylsp": {
        "plugins": {name: {"enabled": False} for name in ("pycodestyle", "mccabe", "autopep8", "yapf", "preload")}
    }
}
PROGRAMS: dict[str, ServerProgram] = {
    each.name: each
    for each in (
        ServerProgram(
            name="basedpyright",
            command=("basedpyright-langserver", "--stdio"),
            finds_uses=True,
            settings={"python": {"pythonPath": sys.executable}, "basedpyright": _PYRIGHT},
        ),
        ServerProgram(
            name="pyright",
            command=("pyright-langserver", "--stdio"),
            finds_uses=True,
            settings={"python": {"pythonPath": sys.executable, **_PYRIGHT}},
        ),
        # Its definitions and references come from jedi, as ours do, but do not know cells.
        ServerProgram(name="pylsp", package="python-lsp-server", command=("pylsp",), settings=_PYLSP),
        ServerProgram(name="ruff", command=("ruff", "server")),
    )
}
"""The known servers; the one that can answer the most comes first."""
AUTO, OFF = "auto", "off"


class ServerFailure(Exception):
    """Why a server gave no answer, as whole sentences."""


def chosen_program(name: str) -> ServerProgram | None:
    """Returns the program that the setting *name* selects, with its path; None for ``"off"``."""
    rows = [*PROGRAMS.values()] if name == AUTO else [PROGRAMS[name]] if name in PROGRAMS else []
    for row in rows:
        if (path := find_on_path(row.command[0])) is not None and Path(path).is_absolute():
            return msgspec.structs.replace(row, command=(path, *row.command[1:]))
    if not rows:
        return None
    first = rows[0]
    what = "No language server is" if name == AUTO else f"{first.command[0]} is not"
    hint = f"Install it (`pip install {first.package or first.name}`) or set language_server."
    raise ServerFailure(f"{what} installed, so jedi answers. {hint}")


class LanguageServer:
    """One language server for one folder. Any thread may ask; questions are asked one after another."""

    def __init__(self, program: ServerProgram, root: Path) -> None:
        self.program = program
        self.root = root
        self.lock: threading.Lock = threading.Lock()
        self.encoding: str = "utf-16"
        self.pid: int = 0
        self.files: dict[str, tuple[int, int]] = {}
        self.capabilities: dict[str, Any] = {}
        self._failures = 0
        self._failure: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wire: _Wire | None = None
        self._documents: dict[str, tuple[int, str]] = {}

    def request(self, method: str, params: Any, deadline: float) -> Any:
        return self._within(self._running(deadline).request(method, params), deadline)

    def start(self, deadline: float) -> None:
        """Start the server unless it is running, so that :attr:`capabilities` are known."""
        self._running(deadline)

    def show(self, path: Path, text: str, deadline: float) -> int:
        """Give the server *text* as the contents of *path*; returns the text's version."""
        wire, uri = self._running(deadline), path.as_uri()
        version, before = self._documents.pop(uri, (0, None))
        if before is None:
            document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
            self._tell(wire, "textDocument/didOpen", {"textDocument": document})
        elif before != text:
            document = {"uri": uri, "version": version + 1}
            changes = [{"text": text}]
            self._tell(wire, "textDocument/didChange", {"textDocument": document, "contentChanges": changes})
        version += before != text
        self._documents[uri] = version, text
        while len(self._documents) > MOST_DOCUMENTS:
            self._close(wire, next(iter(self._documents)))
        return version

    def hide(self, path: Path, deadline: float) -> None:
        """Have the server forget a file that is gone."""
        wire, uri = self._running(deadline), path.as_uri()
        if uri in self._documents:
            self._close(wire, uri)
        self._tell(wire, "workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": _DELETED}]})

    def _close(self, wire: _Wire, uri: str) -> None:
        del self._documents[uri]
        self._tell(wire, "textDocument/didClose", {"textDocument": {"uri": uri}})

    def published(self, path: Path, version: int, deadline: float) -> list[Any]:
        """Returns the diagnostics that the server pushes for *version* of a document."""
        problems: list[Any] = self._within(self._running(deadline).published(path.as_uri(), version), deadline)
        return problems

    def end(self) -> None:
        """Stop the server; the next request starts a new one."""
        wire, loop = self._wire, self._loop
        self._wire = self._loop = None
        self._documents.clear()
        if wire is not None and loop is not None:
            asyncio.run_coroutine_threadsafe(wire.stop(), loop).add_done_callback(
                lambda _: loop.call_soon_threadsafe(loop.stop)
            )

    def _running(self, deadline: float) -> _Wire:
        """Returns the connection to the running server; starts the server if none is running."""
        if self._wire is not None and self._wire.failure is None:
            return self._wire
        if self._wire is not None:  # it ended between two requests
            self._failed(str(self._wire.failure))
        if self._failures >= MOST_FAILURES:
            raise ServerFailure(f"{self._failure} It has failed {self._failures} times and is not started again.")
        loop = self._loop = asyncio.new_event_loop()
        threading.Thread(target=_serve, args=(loop,), name="agentnb-language-server", daemon=True).start()
        wire = self._wire = _Wire(self.program)
        self.pid = self._within(wire.start(self.root), deadline)
        answer = self._within(wire.request("initialize", _hello(self.root)), deadline)
        self.capabilities = mapping(mapping(answer).get("capabilities"))
        self.encoding = "utf-32" if self.capabilities.get("positionEncoding") == "utf-32" else "utf-16"
        self._tell(wire, "initialized", {})
        self._tell(wire, "workspace/didChangeConfiguration", {"settings": self.program.settings})
        return wire

    def _tell(self, wire: _Wire, method: str, params: Any) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(wire.notify, method, params)

    def _within(self, work: Coroutine[Any, Any, Any], deadline: float) -> Any:
        if self._loop is None:
            work.close()
            raise ServerFailure(f"{self.program.name} was stopped.")
        done = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return done.result(max(0.0, deadline - time.monotonic()))
        except OutOfTime:
            done.cancel()
            failure = f"{self.program.name} did not answer in time and was stopped."
        except ServerFailure as error:
            if self._wire is not None and self._wire.failure is None:
                raise  # the server is alive and refused only this request
            failure = str(error)
        except OSError as error:
            failure = f"{self.program.name} could not be started: {error.strerror or error}."
        self._failed(failure)
        raise ServerFailure(failure)

    def _failed(self, failure: str) -> None:
        self._failure = failure
        self._failures += 1
        self.end()


class _Wire:
    """The connection to one language-server process."""

    def __init__(self, program: ServerProgram) -> None:
        self.failure: str | None = None
        self._program = program
        self._child: Child | None = None
        self._connection = Connection(
            self._write,
            LSP,
            on_request=self._reply,
            on_notifications=self._notified,
            on_invalid=self._break,
            on_closed=self._closed,
            longest=MOST_BYTES,
        )
        self._published: dict[str, tuple[int | None, list[Any]]] = {}
        self._news = asyncio.Event()
        self._received = 0
        self._stderr = b""

    async def start(self, root: Path) -> int:
        """Start the process, and return its id."""
        self._child = await Child.spawn(
            self._program.command, cwd=root, env=inherited({}), on_output=self._output, on_end=self._ended
        )
        return self._child.pid

    async def stop(self) -> None:
        """End the process and what it started."""
        if self._child is not None:
            self._connection.call("shutdown", None, lambda *_: None)
            self._connection.notify("exit", None)
            await self._child.stop(0.5)

    async def request(self, method: str, params: Any) -> Any:
        """Send a request and return its result; responses may arrive in any order."""
        self._received = 0
        try:
            return await self._connection.request(method, params)
        except RpcError as error:
            raise ServerFailure(f"{self._program.name}: {error.message[:300]}") from None
        except ProtocolError:
            raise ServerFailure(str(self.failure)) from None

    async def published(self, uri: str, version: int) -> list[Any]:
        """Returns the diagnostics published for *version*, or published without a version after it was sent."""
        self._received = 0
        while True:
            if self.failure is not None:
                raise ServerFailure(self.failure)
            known, problems = self._published.get(uri, (0, []))
            if known is None or known >= version:
                return problems
            self._news.clear()
            await self._news.wait()

    def notify(self, method: str, params: Any) -> None:
        if method in {"textDocument/didOpen", "textDocument/didChange"}:
            self._published.pop(params["textDocument"]["uri"], None)
        self._connection.notify(method, params)

    def _write(self, data: bytes) -> None:
        if self._child is not None:
            self._child.write(data)

    def _fail(self, why: str) -> None:
        if self.failure is None:
            last = self._stderr.decode(errors="replace").strip().splitlines()[-1:]
            self.failure = f"{self._program.name} {why}." + (f" Last output: {last[0][:300]}" if last else "")
        self._connection.close(ServerFailure(self.failure))
        self._news.set()

    def _ended(self) -> None:
        self._ending = asyncio.ensure_future(self._tell_end())

    async def _tell_end(self) -> None:
        """Report the exit code, which comes shortly after the output closes, or that only the output was closed."""
        status = None
        if self._child is not None:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._child.exited.wait(), EXIT_SECONDS)
            status = self._child.returncode
        self._fail("closed its output" if status is None else f"stopped unexpectedly (exit code {status})")

    def _output(self, descriptor: int, data: bytes) -> None:
        if descriptor != 1:
            self._stderr = (self._stderr + data)[-MOST_STDERR:]
            return
        self._received += len(data)
        if self.failure is not None:
            return
        if self._received > MOST_BYTES:
            self._fail(f"sent more than {MOST_BYTES:,} bytes for one question and was stopped")
            self._end_child()
            return
        self._connection.feed(data)

    def _closed(self, reason: Exception | None) -> None:
        if isinstance(reason, ProtocolError):
            self._break(reason)

    def _break(self, _: Exception) -> None:
        self._fail("sent something that is not a Language Server Protocol message and was stopped")
        self._end_child()

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.pause()
            self._stopping = asyncio.ensure_future(self._child.kill())

    def _notified(self, notifications: list[tuple[str, Any]]) -> None:
        for method, params in notifications:
            if method == "textDocument/publishDiagnostics":
                try:
                    version, uri, problems = params.get("version"), params["uri"], list(params["diagnostics"])
                except (TypeError, LookupError, AttributeError) as error:
                    self._break(error)
                    return
                self._published[uri] = version if isinstance(version, int) else None, problems
                self._news.set()

    def _reply(self, method: str, params: Any) -> Any:
        match method:
            case "workspace/configuration":
                return [self._setting(each.get("section")) for each in params["items"]]
            case (
                "client/registerCapability"
                | "client/unregisterCapability"
                | "window/workDoneProgress/create"
                | "window/showMessageRequest"
                | "workspace/diagnostic/refresh"
            ):
                return None
            case "workspace/applyEdit":
                return {"applied": False}
            case "window/showDocument":
                return {"success": False}
        return answer_nothing(method, params)

    def _setting(self, section: Any) -> Any:
        value: Any = self._program.settings
        for part in section.split(".") if isinstance(section, str) and section else ():
            value = mapping(value).get(part)
        return value


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        for task in (tasks := asyncio.all_tasks(loop)):
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.close()


def _hello(root: Path) -> dict[str, Any]:
    folder = {"uri": root.as_uri(), "name": root.name or "workspace"}
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": "agentnb"},
        "rootUri": folder["uri"],
        "workspaceFolders": [folder],
        "capabilities": {
            "general": {"positionEncodings": ["utf-32", "utf-16"]},
            "textDocument": {
                "synchronization": {},
                "diagnostic": {},
                "publishDiagnostics": {"versionSupport": True},
                "definition": {"linkSupport": False},
                "references": {},
                "implementation": {},
                "typeDefinition": {},
                "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
                "formatting": {},
                "codeAction": {
                    "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", *_ACTION_KINDS]}},
                    "disabledSupport": True,
                    "dataSupport": True,
                    "resolveSupport": {"properties": ["edit"]},
                },
            },
            "workspace": {
                "symbol": {},
                "workspaceEdit": {"documentChanges": True},
                "configuration": True,
                "workspaceFolders": True,
                "didChangeWatchedFiles": {"dynamicRegistration": True},
            },
        },
    }


_servers: dict[Path, LanguageServer] = {}
_lock = threading.Lock()


def server_for(root: Path, program: ServerProgram | None) -> LanguageServer | None:
    """Returns the only server of a folder; one that runs another program is ended."""
    with _lock:
        server = _servers.pop(root, None)
        if server is not None and server.program != program:
            server.end()
            server = None
        if program is None:
            return None
        server = _servers[root] = server or LanguageServer(program, root)
        while len(_servers) > MOST_SERVERS:
            _servers.pop(next(iter(_servers))).end()
        return server
