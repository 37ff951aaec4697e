"""`agentnb record [PATH] -- COMMAND`: an agent that passes everything on to another, unchanged, and records it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.acp.fields import objects
from agentnb.acp.peer import CHUNK, ChangedFile
from agentnb.cassette.changed_files import keeps_files, recorded_files
from agentnb.cassette.large_content import belongs_to, notebook_of
from agentnb.cassette.recorder import CassetteRecorder, check_place
from agentnb.cassette.report import say
from agentnb.changes.coverage import SnapshotLimits
from agentnb.changes.file_operations import TemporaryFolder
from agentnb.changes.store import ChangeStore
from agentnb.errors import AgentnbError, CassetteBroken, ChangesError, UsageError
from agentnb.policy.sensitive import secret_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentnb.cassette.recording import RecordedExchange, RecordedFile
    from agentnb.changes.model import FileVersion, PathChange, Snapshot

NOT_FOUND = 127


def record(path: Path, command: Sequence[str], *, name: str) -> int:
    """Run *command*, relay its messages, and record them in the cassette at *path*."""
    recorder, place = CassetteRecorder(path, os.environ), path.absolute()
    try:
        check_place(place)
        files = (
            TurnFiles(lambda file: belongs_to(file, place), lambda file: file == notebook_of(place), say)
            if keeps_files(os.environ)
            else None
        )
        agent = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except UsageError as error:
        say(str(error))
        return 1
    except OSError as error:
        say(f"{command[0]} cannot be started: {error.strerror}. Is it installed, and on the PATH?")
        return NOT_FOUND
    try:
        code = _pass_on(agent, recorder, name, files)
    finally:
        if files is not None:
            files.close()
    try:
        recorder.close()
    except (CassetteBroken, OSError) as error:
        say(f"the cassette was not written: {error}")
        return 1
    if recorder.word is not None:
        say(recorder.word)
    return code


def called(command: Sequence[str]) -> str:
    """Returns the name of an agent: that of its program."""
    return command[0].replace("\\", "/").rstrip("/").rpartition("/")[2].lower()


def _pass_on(agent: subprocess.Popen[bytes], recorder: CassetteRecorder, name: str, files: TurnFiles | None) -> int:
    tap = recorder.tap(name, files=files)
    turn = threading.Lock()

    def in_turn(take: Callable[[bytes], None]) -> Callable[[bytes], None]:
        def take_in_turn(data: bytes) -> None:
            with turn:
                take(data)

        return take_in_turn

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: agent.send_signal(received))
    if agent.stdin is None or agent.stdout is None:
        raise RuntimeError("the agent has no pipes")
    to_agent = (0, agent.stdin.fileno(), in_turn(tap.sent), agent.stdin.close)
    threading.Thread(target=_copy, args=to_agent, daemon=True).start()
    _copy(agent.stdout.fileno(), sys.stdout.fileno(), in_turn(tap.received), lambda: None)
    code = agent.wait()
    with turn:
        tap.ended()
    return code if code >= 0 else 128 - code


def _copy(source: int, sink: int, heard: Callable[[bytes], None], close: Callable[[], None]) -> None:
    """Relay data: first to the tap, which may look at the workspace, then to the other side."""
    try:
        while data := os.read(source, CHUNK):
            heard(data)
            view = memoryview(data)
            while view:
                view = view[os.write(sink, view) :]
    except OSError:
        pass
    finally:
        close()


FIRST_SECONDS = 20.0
"""Seconds that a prompt waits for a workspace's first snapshot; after that, only named files are covered."""
_WRITES = frozenset({"edit", "delete", "move"})


class TurnFiles:
    """Follows the turns of one agent; calls come one after another."""

    def __init__(
        self, owns: Callable[[Path], bool], is_notebook: Callable[[Path], bool], say: Callable[[str], None]
    ) -> None:
        self._owns = owns
        self._is_notebook = is_notebook
        self._say = say
        self._reported: set[str] = set()
        self._folder = TemporaryFolder()
        self._stores: dict[Path, ChangeStore] = {}
        self._begun: list[tuple[RecordedExchange, Path, Snapshot]] = []
        self._is_closed = False

    def begin(self, turn: RecordedExchange, cwd: str | None) -> None:
        """Take a snapshot of the workspace *cwd* before the turn is prompted."""
        if self._is_closed or cwd is None or not os.path.isabs(cwd):  # noqa: PTH117 - as text
            return
        try:
            workspace = Path(cwd).resolve()
            if not workspace.is_dir():
                self._tell(f"the files that turns change in {cwd} are not recorded: there is no such folder.")
                return
            running = (snapshot for _, place, snapshot in self._begun if place == workspace)
            snapshot = next(running, None) or self._store(workspace).take()
        except (AgentnbError, OSError) as error:
            self._tell(f"the files that turns change in {cwd} are not recorded: {error}")
            return
        if snapshot.reason:
            self._tell(snapshot.reason)
        self._begun.append((turn, workspace, snapshot))

    def end(self, turn: RecordedExchange) -> list[RecordedFile]:
        """Returns the files that the turn changed; called when the agent has answered."""
        begun = next((each for each in self._begun if each[0] is turn), None)
        if begun is None:
            return []
        self._begun = [each for each in self._begun if each is not begun]  # by identity: two turns may be equal
        _, workspace, before = begun
        try:
            store = self._store(workspace)
            after = store.take(sorted(_named(turn, workspace)))
            changes = store.changes(before, after)
            files = [_changed_file(store, each) for each in changes if not self._owns(workspace / each.path)]
        except (AgentnbError, OSError) as error:
            self._tell(f"the files that a turn changed in {workspace} are not recorded: {error}")
            return []
        self._begun = [(other, place, after if place == workspace else it) for other, place, it in self._begun]
        return recorded_files(files, lambda path: self._is_notebook(workspace / path))

    def close(self) -> None:
        self._is_closed = True
        self._folder.remove()

    def _store(self, workspace: Path) -> ChangeStore:
        if workspace not in self._stores:
            self._folder.make()
            self._stores[workspace] = ChangeStore(
                self._folder.path / str(len(self._stores)),
                workspace,
                limits=SnapshotLimits(seconds=FIRST_SECONDS),
                is_sensitive=lambda path: secret_pattern(path) is not None,
            )
        return self._stores[workspace]

    def _tell(self, sentence: str) -> None:
        if sentence not in self._reported:
            self._reported.add(sentence)
            self._say(sentence)


def _changed_file(store: ChangeStore, change: PathChange) -> ChangedFile:
    is_sensitive = any(secret_pattern(path) is not None for path in (change.path, change.was) if path)
    return ChangedFile(change, _content(store, change.before), _content(store, change.after), is_sensitive)


def _content(store: ChangeStore, version: FileVersion | None) -> bytes | None:
    try:
        return None if version is None or version.blob is None else store.content(version)
    except ChangesError:
        return None


def _named(turn: RecordedExchange, workspace: Path) -> set[str]:
    """Returns the workspace files that the turn's tool calls say they change: they count even if they are ignored."""
    names = set()
    for path in _paths(turn):
        place = os.path.normpath(workspace / path)
        real = os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))  # noqa: PTH118, PTH119, PTH120
        if Path(real).is_relative_to(workspace):
            names.add(real)
    return names


def _paths(turn: RecordedExchange) -> Iterator[str]:
    for event in turn.before:
        update = event.update
        if update.get("sessionUpdate") not in ("tool_call", "tool_call_update"):
            continue
        named = [each for each in objects(update.get("content")) if each.get("type") == "diff"]
        if update.get("kind") in _WRITES:
            named += objects(update.get("locations"))
        yield from (each["path"] for each in named if isinstance(each.get("path"), str) and "\0" not in each["path"])
