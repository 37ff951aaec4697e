"""Recorded answers of batches: one line per input, keyed by the question, so only changed inputs are recorded anew."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from agentnb.cassette.large_content import answers_of
from agentnb.cassette.marks import Secrets
from agentnb.cassette.switch import MODE
from agentnb.errors import CassetteBroken, CassetteMismatch
from agentnb.host.environment import current_environment
from agentnb.plugins.map.records import Body
from agentnb.safe_files import write_atomically
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Mapping

_FORM = 1
_LONGEST_EXCERPT = 200


_SAVING = threading.Lock()
_USED: dict[Path, set[tuple[str, int]]] = {}
"""The questions that this kernel's batches have asked since it began recording, by file."""


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    agentnb_batch: int


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    of: str
    key: str
    prompt: str
    body: Body
    copy: int = 0


class AnswerCassette:
    """The recorded answers of one file; safe from any thread."""

    def __init__(self, path: Path, mode: Literal["auto", "record", "replay"]) -> None:
        self.path = path
        self._mode = mode
        self._lock = threading.Lock()
        self._lines = self._read()
        self._new: dict[tuple[str, int], _Line] = {}
        self._used: set[tuple[str, int]] = set()
        if mode == "record":  # shared by all batches of this kernel: several may send the same prompt
            self._used = _USED.setdefault(path.absolute(), self._used)
        self._secrets = Secrets(os.environ)

    @property
    def is_complete(self) -> bool:
        """True if no agent is ever asked: a missing answer is an error."""
        return self._mode == "replay"

    def answer(self, key: str, copy: int, prompt: str) -> Body | None:
        """Returns the recorded answer to a question; None if it must be asked."""
        with self._lock:
            self._used.add((key, copy))
            line = self._lines.get((key, copy))
        if line is not None:
            return line.body
        if self._mode == "replay":
            excerpt = prompt if len(prompt) <= _LONGEST_EXCERPT else f"{prompt[:_LONGEST_EXCERPT]}…"
            raise CassetteMismatch(
                f"{self.path.name} has no answer to this input: {excerpt}",
                hint="Record it: run the notebook with AGENTNB_CASSETTE_MODE=record.",
            )
        return None

    def keep(self, of: str, key: str, copy: int, prompt: str, body: Body) -> None:
        """Add an answer, without anything that looks like a credential."""
        line = _Line(of=of, key=key, copy=copy, prompt=prompt, body=msgspec.structs.replace(body, session=""))
        cleaned = msgspec.convert(self._secrets.clean(msgspec.to_builtins(line)), _Line)
        with self._lock:
            self._new[key, copy] = cleaned

    def save(self, of: str) -> None:
        """Write the file at the end of the batch *of*, keeping what other batches wrote to it meanwhile."""
        if self._mode == "replay":
            return
        with _SAVING, self._lock:
            lines = {**self._read(), **self._new}
            if self._mode == "record":
                lines = {at: line for at, line in lines.items() if line.of != of or at in self._used}
            rows = [_Head(agentnb_batch=_FORM), *(lines[at] for at in sorted(lines))]
            try:
                write_atomically(self.path, b"".join(msgspec.json.encode(row) + b"\n" for row in rows), mode=0o644)
            except OSError as error:
                raise CassetteBroken(f"{self.path} cannot be written: {error.strerror or error}.") from error

    def _read(self) -> dict[tuple[str, int], _Line]:
        try:
            head, *lines = self.path.read_bytes().splitlines()
            form = read_record(head, _Head).agentnb_batch
            if form > _FORM:
                raise CassetteBroken(f"{self.path} was written by a newer agentnb.", hint="Update agentnb.")
            recorded = [read_record(line, _Line) for line in lines]
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise CassetteBroken(
                f"{self.path} cannot be read: {error}.", hint="Delete it to record it again."
            ) from error
        return {(line.key, line.copy): line for line in recorded}


def cassette_for(named: str | os.PathLike[str] | None) -> AnswerCassette | None:
    """Returns a batch's named cassette, else the one beside the notebook's; None if nothing is recorded."""
    mode = os.environ.get(MODE, "")
    if named is not None:
        return AnswerCassette(Path(named).expanduser(), mode if mode in {"record", "replay"} else "auto")  # type: ignore[arg-type]
    state, beside = current_environment().cassette.wanted()
    if state == "off" or beside is None:
        return None
    path = answers_of(beside)
    return AnswerCassette(path, "replay" if state == "record" and mode != "record" and path.exists() else state)


def not_recorded(env: Mapping[str, str] | None, cassette: AnswerCassette | None) -> dict[str, str] | None:
    """Returns the environment of sessions whose answers are recorded here: the notebook's cassette ignores them."""
    if cassette is None:
        return None if env is None else dict(env)
    return {**(env or {}), MODE: "off"}
