"""The audit stream for administrators: who allowed what, as JSON lines, without contents.

A user can write lines of their own into it, and keep some out: it is written with the user's rights.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.site_policy import site_policy

if TYPE_CHECKING:
    from agentnb.policy.audit import Record

FIELDS = ("time", "agent", "session", "turn", "kind", "tool", "outcome", "by", "source", "scope", "severity")
"""What is told of a decision: no command, path, reason, title or rule."""
SYSLOG = "syslog"


def tell_administrator(record: Record) -> str | None:
    """Write *record* where the site's policy wants it; returns what went wrong."""
    places = site_policy().audit
    if not places:
        return None
    line = msgspec.json.encode(_told(record))
    for place in places:
        try:
            _to_syslog(line) if place == SYSLOG else _to_folder(Path(place), line)
        except OSError as error:
            return f"The audit stream {place} could not be written: {error.strerror or error}. Tell your administrator."
    return None


def _told(record: Record) -> dict[str, Any]:
    who = {"user": _user(), "uid": os.getuid() if hasattr(os, "getuid") else None, "host": socket.gethostname()}
    return {**who, "pid": os.getpid(), **{name: getattr(record, name) for name in FIELDS}}


def _user() -> str:
    """The name of the account, not what a variable says."""
    if sys.platform == "win32":
        return os.environ.get("USERNAME", "")
    import pwd  # not on Windows

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container
        return ""


def _to_folder(folder: Path, line: bytes) -> None:
    """One file a user, which others cannot read, so that nobody's lines are mixed with another's."""
    name = f"{os.getuid() if hasattr(os, 'getuid') else _user()}.jsonl"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(folder / name, flags, 0o600)
    try:
        os.write(descriptor, line + b"\n")
    finally:
        os.close(descriptor)


def _to_syslog(line: bytes) -> None:
    try:
        import syslog
    except ImportError as error:
        raise OSError(0, "this system has no syslog") from error
    syslog.syslog(syslog.LOG_NOTICE | syslog.LOG_AUTHPRIV, f"agentnb {line.decode('utf-8', 'replace')}")
