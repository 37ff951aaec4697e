"""The audit log: every decision, in memory for the reader, permanently on disk, and as a stream for administrators.

It is written with the user's rights: so a user can add their own lines, and keep lines out.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.credentials import Credentials
from agentnb.folders import data_folder
from agentnb.policy.rules import Outcome, Scope, Source
from agentnb.policy.severity import Severity
from agentnb.site_policy import site_policy

if TYPE_CHECKING:
    from collections.abc import Mapping

FIELDS = ("time", "agent", "session", "turn", "kind", "tool", "outcome", "by", "source", "scope", "severity")
"""The fields of a decision that are reported: no command, path, reason, title or rule."""
SYSLOG = "syslog"


def tell_administrator(record: Record) -> str | None:
    """Write *record* wherever the site's policy requires it; returns what went wrong, or None."""
    places = site_policy().audit
    if not places:
        return None
    line = msgspec.json.encode(_entry(record))
    for place in places:
        try:
            _to_syslog(line) if place == SYSLOG else _to_folder(Path(place), line)
        except OSError as error:
            return f"The audit stream {place} could not be written: {error.strerror or error}. Tell your administrator."
    return None


def _entry(record: Record) -> dict[str, Any]:
    who = {"user": _user(), "uid": os.getuid() if hasattr(os, "getuid") else None, "host": socket.gethostname()}
    return {**who, "pid": os.getpid(), **{name: getattr(record, name) for name in FIELDS}}


def _user() -> str:
    """Returns the account's name from the system, not from an environment variable (except on Windows)."""
    if sys.platform == "win32":
        return os.environ.get("USERNAME", "")
    import pwd  # not on Windows

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container, the account may have no name
        return ""


def _to_folder(folder: Path, line: bytes) -> None:
    """Append to the user's own file, which others cannot read, so that lines of different users never mix."""
    name = f"{os.getuid() if hasattr(os, 'getuid') else _user()}.jsonl"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(folder / name, flags, 0o600), "wb", buffering=0) as file:  # noqa: PTH123 - a descriptor
        file.write(line + b"\n")


def _to_syslog(line: bytes) -> None:
    try:
        import syslog
    except ImportError as error:
        raise OSError(0, "this system has no syslog") from error
    syslog.syslog(syslog.LOG_NOTICE | syslog.LOG_AUTHPRIV, f"agentnb {line.decode('utf-8', 'replace')}")


KEPT = 500
"""The most decisions that are kept in memory."""

LARGEST = 8 * 1024 * 1024
"""Bytes after which the file is renamed to ``audit.1.jsonl``, replacing the previous one."""

_WHAT = 2000


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One decision."""

    time: str
    agent: str
    session: str
    tab: str
    turn: str
    kind: str
    tool: str
    what: str
    outcome: Outcome
    by: str
    rule: str | None = None
    source: Source = "default"
    scope: Scope = "once"
    severity: Severity = "none"
    reason: str = ""
    edited: str | None = None


class AuditLog:
    """The log of one kernel; one file for all of them, one line a decision."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._records: deque[Record] = deque(maxlen=KEPT)
        self.problem: str | None = None

    @property
    def path(self) -> Path:
        """In ``AGENTNB_DATA_DIR``, else in ``agentnb`` in Jupyter's data folder."""
        return self._path or data_folder() / "audit.jsonl"

    @property
    def records(self) -> tuple[Record, ...]:
        """The last decisions, oldest first."""
        return tuple(self._records)

    def add(self, record: Record, environment: Mapping[str, str]) -> Record:
        """Write *record*, without anything secret from *environment* or that looks secret; returns what was written."""
        credentials = Credentials(environment)

        def short(text: str) -> str:
            return credentials.beginning_of_command(text, _WHAT)

        clean = msgspec.structs.replace(
            record,
            what=short(record.what),
            reason=short(record.reason),
            rule=None if record.rule is None else short(record.rule),
            edited=None if record.edited is None else short(record.edited),
        )
        self._records.append(clean)
        untold = tell_administrator(clean)
        try:
            self._write(msgspec.json.encode(clean) + b"\n")
            self.problem = untold
        except OSError as error:
            self.problem = f"{self.path} could not be written: {error.strerror or error}."
        return clean

    def _write(self, line: bytes) -> None:
        path = self.path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size > LARGEST:
                path.replace(path.with_name("audit.1.jsonl"))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with open(os.open(path, flags, 0o600), "wb", buffering=0) as file:  # noqa: PTH123 - a descriptor
            file.write(line)
