"""Changes settings in the user's files, keeping what a person wrote, and shows values without secrets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentnb.configuration.sources import USER, read_settings
from agentnb.configuration.table import SETTINGS, setting
from agentnb.distribution import OLDEST, UPDATE, is_too_new, readers
from agentnb.errors import PolicyError, SettingsError, UsageError
from agentnb.folders import config_folder
from agentnb.toml_file import change_file, parsed, toml_value, with_key, without_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agentnb.configuration.setting import Setting


_PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")


def shown_value(name: str, value: Any) -> str:
    """Returns the value of the setting *name* as text; only the names of MCP servers, as the rest may contain keys."""
    public = public_value(name, value)
    if isinstance(public, bool):
        return "on" if public else "off"
    if isinstance(public, (list, dict)):
        return ", ".join(public)
    return f"{public:g}" if isinstance(public, float) else str(public)


def public_value(name: str, value: Any) -> Any:
    """Returns the value without secrets: only the names of MCP servers, and addresses without the password."""
    if SETTINGS[name].kind == "servers" and isinstance(value, dict):
        return list(value)
    return _PASSWORD.sub("…@", value) if isinstance(value, str) else value


UNKNOWN: Any = object()
"""A marker: the caller does not know what the file contained."""

_OLDEST_READER = "0.3"
_HEAD = "# Settings of agentnb. `agentnb settings` shows them all.\n"


def change_setting(name: str, value: Any, *, was: Any = UNKNOWN) -> Path:
    """Write a setting to the user's file; it applies in every kernel."""
    which = setting(name)
    read_settings()[which.name].demand_free(value)
    if not which.file:
        message = f"No file can store {name}."
        raise UsageError(message, hint=f"Set the environment variable {which.variable} before the kernel starts.")
    wanted = None if value is None or (which.unset is not None and value == which.unset) else which.check(value)
    path = config_folder() / which.file
    try:
        if which.file == "policy.toml":
            from agentnb.policy.store import PolicyFiles

            return PolicyFiles(path).set_key(which.file_key, wanted, lambda data: _unchanged(which, data, was, path))
        head = f"{_HEAD}{OLDEST} = {toml_value(_OLDEST_READER)}\n" if which.file == USER else _HEAD
        change_file(path, lambda text: _changed(text, which, wanted, was, path), head=head)
    except (PolicyError, UnicodeDecodeError, OSError) as error:
        message = f"{which.name} was not changed: {getattr(error, 'strerror', None) or error} ({path})."
        raise SettingsError(message, hint="Fix the file, or change it by hand; nothing in it was changed.") from error
    return path


def _changed(text: str, which: Setting, value: Any, was: Any, path: Path) -> str:
    try:
        data = parsed(text)
    except ValueError as error:
        message = f"{which.name} was not changed: {path} is not TOML: {error}."
        raise SettingsError(message, hint="Fix that line; nothing in the file was changed.") from error
    if is_too_new(oldest := data.get(OLDEST)):
        raise SettingsError(f"{which.name} was not changed: {path} is too new. {readers(oldest)}", hint=UPDATE)
    _unchanged(which, data, was, path)
    try:
        return without_key(text, which.file_key) if value is None else with_key(text, which.file_key, value)
    except UsageError as error:
        raise SettingsError(f"{which.name} was not changed in {path}: {error}") from error


def _unchanged(which: Setting, data: Mapping[str, Any], was: Any, path: Path) -> None:
    """Raise if somebody else has changed the setting meanwhile, so that the edit is not overwritten unseen."""
    now = data.get(which.file_key)
    if was is UNKNOWN or now == was:
        return
    change = "is no longer set" if now is None else f"is {now!r:.200} now" if which.kind != "servers" else "was changed"
    message = f"{which.name} was not changed: in {path} it {change}."
    raise SettingsError(message, hint="It was changed meanwhile. Check it, and choose again.")
