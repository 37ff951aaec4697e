"""`agentnb record [PATH] -- COMMAND`: an agent that passes everything on to another, unchanged, and writes it down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from agentnb.acp.stdio import CHUNK
from agentnb.cassette.changed_files import keeps_files
from agentnb.cassette.large_content import belongs_to, notebook_of
from agentnb.cassette.recorder import Recorder, check_place
from agentnb.cassette.report import say
from agentnb.cassette.turn_files import TurnFiles
from agentnb.errors import CassetteBroken, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import FrameType

NOT_FOUND = 127


def record(path: Path, command: Sequence[str], *, name: str) -> int:
    """Run *command*, pass its wire on, and keep it in the cassette at *path*."""
    recorder, place = Recorder(path, os.environ), path.absolute()
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
    """An agent's name: that of its program."""
    return command[0].replace("\\", "/").rstrip("/").rpartition("/")[2].lower()


def _pass_on(agent: subprocess.Popen[bytes], recorder: Recorder, name: str, files: TurnFiles | None) -> int:
    tap = recorder.tap(name, takes_files=files is not None, files=files)
    turn = threading.Lock()

    def told(take: Callable[[bytes], None]) -> Callable[[bytes], None]:
        def take_in_turn(data: bytes) -> None:
            with turn:
                take(data)

        return take_in_turn

    def stop(number: int, _: FrameType | None) -> None:
        agent.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    if agent.stdin is None or agent.stdout is None:
        raise RuntimeError("the agent has no pipes")
    to_agent, from_agent = agent.stdin.fileno(), agent.stdout.fileno()
    closing = agent.stdin.close
    threading.Thread(target=_copy, args=(0, to_agent, told(tap.sent), closing), daemon=True).start()
    _copy(from_agent, sys.stdout.fileno(), told(tap.received), lambda: None)
    code = agent.wait()
    with turn:
        tap.ended()
    return code if code >= 0 else 128 - code


def _copy(source: int, sink: int, heard: Callable[[bytes], None], close: Callable[[], None]) -> None:
    """Pass on what comes: first to the tap, which may look at the workspace, then to the other side."""
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
