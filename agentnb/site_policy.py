"""The table ``[site]`` of the site's policy files: an administrator's decisions for all users.

Every file counts, and each can only tighten the policy. A file that cannot be used allows nothing that it could decide.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

from agentnb.errors import PolicyError, did_you_mean
from agentnb.folders import config_folder
from agentnb.toml_file import key_line, parsed

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "policy.toml"
TABLE = "site"
Kind: TypeAlias = Literal["agents", "models", "endpoints", "mcp_servers", "components", "plugins"]
KINDS: dict[Kind, str] = {
    "agents": "agent",
    "models": "model",
    "endpoints": "model server",
    "mcp_servers": "MCP server",
    "components": "component",
    "plugins": "plug-in",
}
"""The kinds of things that lists can contain, and the singular of each."""
Switch: TypeAlias = Literal["serve", "pair", "history"]
SWITCHES: dict[Switch, str] = {
    "serve": "Serving this kernel is switched off",
    "pair": "Pairing this kernel is switched off",
    "history": "The history is switched off",
}
"""The features that can be switched off, and the sentence shown for each."""
KEYS = ("message", "audit", *SWITCHES, *KINDS, "settings")
LARGEST = 1_000_000
"""The largest file, in bytes; no more is read."""
LONGEST_MESSAGE = 1_000
SET_BY = "set by your administrator"


class Entry(NamedTuple):
    """One value of a file, and its line."""

    value: Any
    line: int


class SiteList(msgspec.Struct, frozen=True, kw_only=True):
    """The things of one kind that a file allows (all if None), and those that it denies."""

    allow: tuple[Entry, ...] | None = None
    deny: tuple[Entry, ...] = ()
    line: int = 0


class SiteFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file; with a ``problem`` it cannot be used."""

    path: Path
    lists: dict[Kind, SiteList] = {}
    off: dict[Switch, int] = {}
    settings: dict[str, Entry] = {}
    message: str = ""
    audit: str = ""
    problem: str | None = None

    def place(self, line: int = 0) -> str:
        return f"{self.path}, line {line}" if line else str(self.path)

    def refusal(self, kind: Kind, names: tuple[str, ...], allowed_as: tuple[str, ...]) -> str | None:
        """Returns where the file denies one of *names* or allows none of *allowed_as*; None if it does neither."""
        if self.problem is not None:
            return self.place()
        listed = self.lists.get(kind, SiteList())
        denying = next((each for each in listed.deny if _is_one(each.value, names)), None)
        if denying is not None:
            return self.place(denying.line)
        if listed.allow is None or any(_is_one(each.value, allowed_as) for each in listed.allow):
            return None
        return self.place(listed.line)


class SitePolicy(msgspec.Struct, frozen=True):
    """The combined contents of all files."""

    files: tuple[SiteFile, ...] = ()

    @property
    def problem(self) -> str | None:
        """Returns the reason a file cannot be used, or None if all can."""
        return next((each.problem for each in self.files if each.problem), None)

    @property
    def messages(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.message for each in self.files if each.message))

    @property
    def audit(self) -> tuple[str, ...]:
        """The folders that decisions are written to, or ``syslog``."""
        return tuple(dict.fromkeys(each.audit for each in self.files if each.audit))

    def why_not(self, kind: Kind, name: str, *others: str, allowed_as: tuple[str, ...] | None = None) -> str | None:
        """Returns why something cannot be used, in a sentence; None if it can.

        Args:
            kind: The kind of thing.
            name: Its name, for people and for lists.
            others: Other names that lists can contain.
            allowed_as: The names that an ``allow`` list can contain; None means all of them.
        """
        names = (name, *others)
        for file in self.files:
            if (place := file.refusal(kind, names, names if allowed_as is None else allowed_as)) is not None:
                return _sentence(f"The {KINDS[kind]} {name!r:.200} is not allowed here", place, file.problem)
        return None

    def why_off(self, switch: Switch) -> str | None:
        """Returns a sentence that says why *switch* is off, or None if it is on."""
        for file in self.files:
            if file.problem is not None or switch in file.off:
                return _sentence(SWITCHES[switch], file.place(file.off.get(switch, 0)), file.problem)
        return None

    def why_not_agent(self, name: str, command: tuple[str, ...], *, is_known: bool) -> str | None:
        """As :meth:`why_not`, for an agent: its name can be allowed if it *is_known*, else only its command line."""
        line = shlex.join(command)
        return self.why_not("agents", name, line, allowed_as=(name, line) if is_known else (line,))

    def demand(self, switch: Switch) -> None:
        """Raise if *switch* is off."""
        if (why := self.why_off(switch)) is not None:
            raise PolicyError(why)


def _sentence(what: str, place: str, problem: str | None) -> str:
    return f"{what}: {problem}" if problem else f"{what}: {SET_BY} ({place})."


def _is_one(pattern: str, names: tuple[str, ...]) -> bool:
    """True if one of *names* matches *pattern*, in which ``*`` stands for anything."""
    wanted = re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
    return any(wanted.fullmatch(each) for each in names)


def site_files(environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Returns the site's policy files, in the order of Jupyter's configuration folders, without the user's own.

    ``JUPYTER_CONFIG_PATH`` can add folders, so it can tighten the policy; it removes none.
    """
    system = ("/usr/local/etc/jupyter", "/etc/jupyter")
    if sys.platform == "win32":
        system = (os.environ.get("PROGRAMDATA", r"C:\ProgramData") + "/jupyter",)
    fixed = (f"{sys.prefix}/etc/jupyter", *system)
    return _site_files(environ.get("JUPYTER_CONFIG_PATH", ""), config_folder(environ), fixed)


@lru_cache  # every permission request asks several times: without it each takes a tenth longer
def _site_files(added: str, own: Path, fixed: tuple[str, ...]) -> tuple[Path, ...]:
    more = [Path(folder, "agentnb") for folder in added.split(os.pathsep) if folder]
    kept = [each for each in more if each != own]
    kept += [Path(folder, "agentnb") for folder in fixed]  # even if it is the user's own folder
    return tuple(dict.fromkeys(each / NAME for each in kept))


_read: dict[Path, tuple[tuple[int, ...], SiteFile | None]] = {}


def site_policy(environ: Mapping[str, str] = os.environ) -> SitePolicy:
    """Returns the site's policy; its files are read again when they change."""
    return SitePolicy(tuple(file for path in site_files(environ) if (file := _file(path)) is not None))


def _file(path: Path) -> SiteFile | None:
    state = file_state(path)
    known = _read.get(path)
    if known is None or known[0] != state:
        known = _read[path] = (state, read_file(path))
    return known[1]


def file_state(path: Path) -> tuple[int, ...]:
    """Returns a value that changes with the file *path*, or with the reason it cannot be read."""
    try:
        status = path.stat()
    except OSError as error:
        return (error.errno or 0,)
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode


def read_file(path: Path) -> SiteFile | None:
    """Returns the ``[site]`` table of the file *path*; None if there is no file."""
    try:
        text = read_text(path)
        return None if text is None else parse(text, path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        return SiteFile(
            path=path, problem=f"The policy file {path} cannot be read: {reason}. Nothing is allowed until it can."
        )
    except PolicyError as error:
        return SiteFile(path=path, problem=f"{error} Nothing is allowed until then.")


def read_text(path: Path) -> str | None:
    """Returns the text of a site's file, at most :data:`LARGEST` bytes; None if there is no file."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(status.st_mode):
        raise PolicyError(f"{path} is not a file.", hint="Put a file there, or remove the directory.")
    if status.st_size > LARGEST:
        message = f"{path} has {status.st_size:,} bytes; a policy file can have {LARGEST:,}."
        raise PolicyError(message, hint="Make it shorter.")
    return path.read_bytes().decode("utf-8")


def parse(text: str, path: Path) -> SiteFile:
    """Read the ``[site]`` table from *text*, the content of the file *path*."""
    try:
        data = parsed(text)
    except ValueError as error:
        raise PolicyError(f"{path} is not TOML: {error}.", hint="Fix that line.") from error
    return _Reader(text, path).file(data.get(TABLE, {}))


class _Reader:
    def __init__(self, text: str, path: Path) -> None:
        self._lines = text.splitlines()
        self._path = path

    def file(self, data: Any) -> SiteFile:
        self._known(self._table(data, TABLE, ""), KEYS, TABLE)
        return SiteFile(
            path=self._path,
            lists={kind: self._list(kind, data[kind]) for kind in KINDS if kind in data},
            off={name: self._line(name, TABLE) for name in SWITCHES if name in data and not self._switch(name, data)},
            settings=self._settings(data.get("settings", {})),
            message=self._message(data),
            audit=self._audit(data),
        )

    def _list(self, kind: Kind, data: Any) -> SiteList:
        table = f"{TABLE}.{kind}"
        self._known(self._table(data, kind, TABLE), ("allow", "deny"), table)
        return SiteList(
            allow=self._entries("allow", data, table) if "allow" in data else None,
            deny=self._entries("deny", data, table),
            line=self._line("allow", table),
        )

    def _entries(self, key: str, data: dict[str, Any], table: str) -> tuple[Entry, ...]:
        values = data.get(key, [])
        if not isinstance(values, list) or not all(isinstance(each, str) and each.strip() for each in values):
            self._fail(key, table, f"{key!r} is not a list of strings", f'Write {key} = ["…"]; `*` matches anything.')
        return tuple(Entry(each, self._line_with(each, key, table)) for each in values)

    def _settings(self, data: Any) -> dict[str, Entry]:
        table = f"{TABLE}.settings"
        return {
            name: Entry(value, self._line(name, table)) for name, value in self._table(data, "settings", TABLE).items()
        }

    def _switch(self, name: str, data: dict[str, Any]) -> bool:
        if not isinstance(data[name], bool):
            self._fail(name, TABLE, f"{name!r} is {data[name]!r:.100}", "Use true or false.")
        return bool(data[name])

    def _message(self, data: dict[str, Any]) -> str:
        message = data.get("message", "")
        if not isinstance(message, str) or len(message) > LONGEST_MESSAGE:
            self._fail(
                "message", TABLE, "'message' is not a short text", f"It has {LONGEST_MESSAGE:,} characters at most."
            )
        return " ".join("".join(each if each.isprintable() else " " for each in message).split())

    def _audit(self, data: dict[str, Any]) -> str:
        audit = data.get("audit", "")
        if not isinstance(audit, str) or not (audit in {"", "syslog"} or Path(audit).is_absolute()) or "\0" in audit:
            hint = 'Write "syslog", or the absolute path of a folder in which users can make files.'
            self._fail("audit", TABLE, f"'audit' is {audit!r:.100}", hint)
        return str(audit)

    def _known(self, data: dict[str, Any], keys: tuple[str, ...], table: str) -> None:
        for key in data:
            if key not in keys:
                hint = f"{did_you_mean(key, keys)}It can be {', '.join(keys)}."
                self._fail(key, table, f"{key!r} is not known", hint)

    def _table(self, value: Any, name: str, table: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            header = f"{table}.{name}" if table else name
            self._fail(name, table, f"{name!r} is not a table", f"Write [{header}].")
        return value  # type: ignore[no-any-return]

    def _line(self, key: str, table: str) -> int:
        return key_line(self._lines, key, table) or 0

    def _line_with(self, value: str, key: str, table: str) -> int:
        """Returns the line of *value* in the list *key*, or the list's own line if it is written in another way."""
        begin = self._line(key, table)
        matches = (at for at in range(max(0, begin - 1), len(self._lines)) if value in self._lines[at])
        return next(matches, begin - 1) + 1

    def _fail(self, key: str, table: str, what: str, hint: str) -> None:
        line = self._line(key, table)
        where = f"{self._path}, line {line}" if line else str(self._path)
        raise PolicyError(f"{where} in {table}: {what}." if table else f"{where}: {what}.", hint=hint)
