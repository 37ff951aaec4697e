"""Where programs are: the search path of agents and installers, and the folders that installs put programs into."""

from __future__ import annotations

import functools
import json
import os
import shutil
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from agentnb.atomic_write import write_atomically
from agentnb.folders import data_folder
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_FOLDERS = 20
Find: TypeAlias = "Callable[[str, str | None], str | None]"
"""Finds a program of a name on a search path, or says that it is not there."""


def search_path(path: str | None = None) -> str:
    """*path* and, behind it, the folders where pip, npm and uv put programs that are not on it."""
    search = os.environ.get("PATH", os.defpath) if path is None else path
    folders = [each for each in search.split(os.pathsep) if each]
    return os.pathsep.join(dict.fromkeys([*folders, _scripts_folder(), *install_folders()]))


def find_on_path(name: str, path: str | None = None) -> str | None:
    return shutil.which(name, path=search_path(path))


def each_found_once() -> Find:
    """As :func:`find_on_path`, but looks for each program once: many agents need the same few."""
    searched = functools.cache(search_path)
    return functools.cache(lambda name, path: shutil.which(name, path=searched(path)))


@functools.cache  # it takes a millisecond, and every agent of the catalogue is looked for
def _scripts_folder() -> str:
    return sysconfig.get_path("scripts")


def install_folders() -> list[str]:
    """The folders outside the PATH into which agents were installed."""
    try:
        table = read_json(_file().read_bytes()[:100_000])
    except (OSError, ValueError):
        return []
    folders = table.get("folders") if isinstance(table, dict) else None
    known = [each for each in folders if isinstance(each, str)] if isinstance(folders, list) else []
    return [each for each in known if Path(each).is_absolute() and os.pathsep not in each][:MOST_FOLDERS]


def remember_folder(folder: Path) -> None:
    """Search *folder* for programs from now on."""
    folders = [str(folder), *(each for each in install_folders() if each != str(folder))][:MOST_FOLDERS]
    _file().parent.mkdir(parents=True, exist_ok=True)
    write_atomically(_file(), json.dumps({"folders": folders}).encode())


def neutral_folder() -> Path:
    """An empty folder of this user's, for programs that would else read settings of the workspace."""
    folder = data_folder() / "installs"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _file() -> Path:
    return data_folder() / "install-folders.json"
