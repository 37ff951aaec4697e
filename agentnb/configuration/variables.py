"""Environment variables with values that make no sense: they do not count, and that is said."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from agentnb.configuration.setting import is_size
from agentnb.configuration.table import SETTINGS
from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS = {"AGENTNB_AUDIENCE": ("nobody",), "AGENTNB_IDS": ("counted",), "AGENTNB_EVENTS_TEXT": ("0", "1")}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_told: set[str] = set()


def wrong_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """A sentence for each variable with a value that it does not take."""
    return [
        f"{name} cannot be {value!r:.200}. {wanted} It has no effect."
        for name in (*_WORDS, "AGENTNB_PROGRESS_SECONDS", "AGENTNB_CHANGES_MAX")
        if (value := environ.get(name, "").strip()) and (wanted := _wanted(name, value))
    ]


def tell_wrong_variables() -> None:
    """Write each to stderr, once in this process: for programs, which do not load the extension."""
    for each in (*_of_settings(os.environ), *wrong_variables()):
        if each not in _told:
            _told.add(each)
            sys.stderr.write(f"agentnb: {each}\n")


def _of_settings(environ: Mapping[str, str]) -> list[str]:
    found = []
    for each in SETTINGS.values():
        text = environ.get(each.variable, "") if each.variable else ""
        try:
            if text.strip():
                each.read(text)
        except UsageError as error:
            found.append(f"{each.variable}: {error} It has no effect.")
    return found


def _wanted(name: str, value: str) -> str:
    """Returns what the variable takes, where it is not *value*; else empty."""
    if name in _WORDS:
        return "" if value in _WORDS[name] else f"It must be {' or '.join(_WORDS[name])}."
    if name == "AGENTNB_PROGRESS_SECONDS":
        return "" if _NUMBER.fullmatch(value) else "It must be a number of seconds."
    return "" if is_size(value) else "It must be a size, such as 500M or 2G."
