"""The way of one chunk of text from the agent's stdout to its envelope, as ``docs/explanation/data-flow.md`` has it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from queue import Queue
from types import FrameType
from typing import Any

import agentnb
from agentnb.agent.catalog import find
from agentnb.api.session import Session
from agentnb.host import Host
from agentnb.state import ChatDelta, Envelope
from tests.conftest import ROOT
from tests.unit.api.conftest import PATIENCE
from tests.unit.comm.test_service import Page

PACKAGE = Path(agentnb.__file__).parent
MOST_FILES, MOST_BORDERS = 18, 8


class Trace:
    """The files of the package that are entered from the reading of the pipe to the envelope of a chunk.

    Attributes:
        files: They, in order.
        borders: The packages between which calls go, as (from, to).
    """

    def __init__(self) -> None:
        self.files: list[str] = []
        self.borders: set[tuple[str, str]] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call (``sys.setprofile``)."""
        file = _file(frame)
        if event != "call" or file is None:
            return
        if frame.f_code.co_name == "pipe_data_received":
            self.files, self.borders = [], set()
        if file not in self.files:
            self.files.append(file)
        caller = frame.f_back
        while caller is not None and _file(caller) is None:
            caller = caller.f_back
        before = None if caller is None else _file(caller)
        if before is not None and _package(before) != _package(file):
            self.borders.add((_package(before), _package(file)))


def _file(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else None


def _package(file: str) -> str:
    return file.partition("/")[0]


def traced(host: Host, cwd: Path) -> Trace:
    """What is entered for the third chunk of an answer of eliza's, with a page that is shown the chat."""
    session = Session(host.loop.call(lambda: host.open(find("eliza"), cwd=cwd)))
    Page(host).ready(session.chat.resource)
    trace, done, chunks = Trace(), Queue[None](), iter(range(4))

    def listen(_channel: object, envelope: Envelope) -> None:
        if isinstance(envelope.action, ChatDelta):
            number = next(chunks, None)
            if number == 1:
                sys.setprofile(trace)
            elif number == 2:
                sys.setprofile(None)
                done.put(None)

    host.loop.call(host.listen, listen)
    turn = session.prompt("/slow 6 30")
    done.get(timeout=PATIENCE)
    turn.wait(PATIENCE)
    return trace


def test_a_chunk_when_it_becomes_an_envelope_has_crossed_few_files_and_borders(host: Host, tmp_path: Path) -> None:
    """At most 18 files and 8 borders between packages; the documentation names each of the files."""
    trace = traced(host, tmp_path)
    text = (ROOT / "docs/explanation/data-flow.md").read_text(encoding="utf-8")
    way = text.partition("**The way of one chunk of text**")[2].partition("**From action to page.**")[0]
    to_envelope = way.partition("From the envelope to the message")[0]
    assert sorted(trace.files) == sorted(re.findall(r"`([\w/]+\.py)`", to_envelope.partition("| # |")[2]))
    assert len(trace.files) <= MOST_FILES, trace.files
    assert len(trace.borders) <= MOST_BORDERS, sorted(trace.borders)
