"""Names, links and entry points of installed distributions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator


def normal_name(name: str) -> str:
    """The name of a distribution as package indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def linked_folder(direct_url: str | None) -> Path | None:
    """Returns the project folder of an editable install, from its ``direct_url.json``; None if it is not one."""
    try:
        direct = read_json(direct_url or "null")
        address = urlsplit(direct["url"])
        is_editable = direct["dir_info"]["editable"] is True and address.scheme == "file"
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return Path(unquote(address.path)) if is_editable else None


def read_entry_points(text: str, group: str) -> Iterator[tuple[str, str]]:
    """Yields the name and the target, without extras, of each entry point of *group* in an ``entry_points.txt``."""
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[] ")
        elif section == group and "=" in line:
            name, _, target = line.partition("=")
            yield name.strip(), target.partition("[")[0].strip()
