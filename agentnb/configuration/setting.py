"""One setting: its name, the values that it takes, and how they are checked."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

import msgspec

from agentnb.budget import read_budget
from agentnb.errors import UsageError, did_you_mean

Kind: TypeAlias = Literal["switch", "choice", "number", "text", "folder", "agent", "names", "servers"]
"""The kind of a value: true or false; one of several texts; a number from 0; a text; a folder's path; an agent's name;
a list of names; MCP servers (a mapping by name, or the path of a file that has one)."""
File: TypeAlias = Literal["settings.toml", "policy.toml", "local.toml", ""]
Counts: TypeAlias = Literal["at once", "to new conversations", "when a kernel starts"]


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting.

    Attributes:
        checks_title: Its title if every possible value has a check box, checked when the value is not in the list.
        choices: Its values, each with its label.
        empty: The meaning of its empty value, or of 0.
        order: Its values, beginning with the one that lets agents do least.
        widens: True if any new value lets agents do more.
    """

    name: str
    title: str
    kind: Kind
    default: Any
    about: str
    checks_title: str = ""
    choices: dict[str, str] = {}
    empty: str = ""
    group: str = ""
    file: File = "settings.toml"
    key: str = ""
    variable: str = ""
    variable_first: bool = False
    trait: bool = True
    unset: Any = None
    order: tuple[Any, ...] = ()
    widens: bool = False
    counts: Counts = "at once"
    is_look: bool = False

    @property
    def file_key(self) -> str:
        return self.key or self.name

    def check(self, value: Any) -> Any:
        """Returns *value* in the form that this setting stores; raises if it is not valid."""
        wanted = _wrong(self, value)
        if wanted is not None:
            text = repr(value) if self.kind != "servers" else f"a {type(value).__name__}"
            raise UsageError(f"{self.name} cannot be {text:.200}.", hint=wanted)
        if self.kind == "number":
            return float(value)
        return list(value) if self.kind == "names" else value

    def read(self, text: str) -> Any:
        """Parse a value that is typed as *text* in a shell or an environment variable."""
        value: Any = text.strip()
        if self.kind == "switch":
            value = {**dict.fromkeys(_ON, True), **dict.fromkeys(_OFF, False)}.get(value.lower(), value)
        elif self.kind == "number":
            try:
                value = float(value)
            except ValueError:
                value = text
        elif self.kind == "names":
            value = [name for each in value.split(",") if (name := each.strip())]
        return self.check(value)


BUDGETS = ("budget", "budget_day")
"""The settings that limit what agents may use: one that cannot be read is not ignored."""
_ON = ("on", "1", "yes", "true")
_OFF = ("off", "0", "no", "false")
LONGEST = 4_000
"""The longest text, in characters."""
_SIZE = re.compile(r"(\d+)\s*([KkMmGg]?)[Bb]?")
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


def _wrong(setting: Setting, value: Any) -> str | None:
    """Returns what *setting* accepts, if *value* is not valid; else None."""
    kind = setting.kind
    if kind == "switch":
        return None if isinstance(value, bool) else "It must be true or false."
    if kind == "number":
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return None if is_number and 0 <= value < float("inf") else "It must be a number from 0."
    if kind == "choice":
        if isinstance(value, str) and value in setting.choices:
            return None
        return f"{did_you_mean(str(value), setting.choices)}It must be one of {', '.join(map(repr, setting.choices))}."
    if kind == "names":
        is_list = isinstance(value, (list, tuple)) and all(_is_line(each) and each.strip() for each in value)
        return None if is_list else "It must be a list of names."
    if kind == "servers":
        is_mapping = isinstance(value, dict) and all(isinstance(each, dict) for each in value.values())
        return None if is_mapping or _is_line(value) else "It must map names to servers, or be the path of a file."
    if isinstance(value, str) and len(value) > LONGEST:
        return f"It has {len(value):,} characters; a setting takes {LONGEST:,}."
    return _wrong_text(setting, value) if _is_line(value) else "It must be text on one line."


def _wrong_text(setting: Setting, value: str) -> str | None:
    if setting.kind == "agent" and value and not value.strip():
        return "It must be the name of an agent."
    if setting.name in BUDGETS:
        try:
            read_budget(value, name=setting.name)
        except UsageError as error:
            return f"{error.message.removeprefix(f'{setting.name}: ').capitalize()} {error.hint}"
    is_wrong = setting.name == "log_max" and value.strip() and size_of(value) is None
    return "It must be a size, such as 500M or 2G." if is_wrong else None


def size_of(text: str) -> int | None:
    """Parse a number of bytes, optionally followed by K, M or G; None if it is not a size."""
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) * _UNITS[match[2].upper()] if match is not None else None


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST and all(char.isprintable() for char in value)
