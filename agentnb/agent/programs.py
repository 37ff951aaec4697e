"""Finds programs: the search path of agents and installers, the folders of installs, and npm's settings."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from agentnb.agent.child import output_of
from agentnb.agent.registry import PREFIX_OPTION
from agentnb.folders import data_folder
from agentnb.safe_files import write_atomically
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MOST_FOLDERS = 20
Find: TypeAlias = "Callable[[str, str | None], str | None]"
"""Finds a program by name on a search path; None if it is not found."""


def search_path(path: str | None = None) -> str:
    """*path*, followed by the folders where pip, npm and uv put programs that are not on it."""
    search = os.environ.get("PATH", os.defpath) if path is None else path
    folders = [each for each in search.split(os.pathsep) if each]
    return os.pathsep.join(dict.fromkeys([*folders, _scripts_folder(), *install_folders()]))


def find_on_path(name: str, path: str | None = None) -> str | None:
    return shutil.which(name, path=search_path(path))


def each_found_once() -> Find:
    """Like :func:`find_on_path`, but looks for each program once: many agents need the same few."""
    searched = functools.cache(search_path)
    return functools.cache(lambda name, path: shutil.which(name, path=searched(path)))


@functools.cache  # takes a millisecond, and the search for every agent needs it
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
    """An empty per-user folder for running programs that would otherwise read settings of the workspace."""
    folder = data_folder() / "installs"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _file() -> Path:
    return data_folder() / "install-folders.json"


GLOBAL, USER = "npm_config_globalconfig", "npm_config_userconfig"
_SECONDS = 10.0
_GLOBAL_CONFIGS: dict[tuple[str | None, ...], str] = {}
_NAMED = ("PREFIX", "DESTDIR", "HOME", "npm_config_prefix", "NPM_CONFIG_PREFIX", USER, USER.upper())
"""The variables that decide where npm reads the machine's settings."""
_KEPT = re.compile(
    r"(?:(?:@[\w.-]+:)?registry|ca(?:\[\])?|cafile|strict-ssl|proxy|https?-proxy|noproxy"
    r"|fetch-(?:retries|timeout|retry-\w+)|maxsockets|prefer-offline|offline)\Z"
)
_LOGIN = re.compile(r"//[^/\s]*@")


async def machine_settings(command: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """The variable that points npx to the machine's npm settings; empty if already set or unknown to npm."""
    moved = any(word.startswith(PREFIX_OPTION) for word in command)
    npm = find_on_path("npm", env.get("PATH")) if moved else None
    if npm is None or GLOBAL in env or GLOBAL.upper() in env:
        return {}
    key = (npm, *(env.get(name) for name in _NAMED))
    if key not in _GLOBAL_CONFIGS:
        output = await output_of([npm, "config", "get", "globalconfig"], neutral_folder(), dict(env), _SECONDS)
        _GLOBAL_CONFIGS[key] = output.strip().rpartition("\n")[2]
    return {GLOBAL: _GLOBAL_CONFIGS[key]} if Path(_GLOBAL_CONFIGS[key]).is_absolute() else {}


def copy_without_logins(env: Mapping[str, str], home: Path, folder: Path) -> dict[str, str]:
    """Copy the user's ``.npmrc`` into *folder* without credentials; returns the variable that points npm to it."""
    try:
        text = Path(env.get(USER) or env.get(USER.upper()) or home / ".npmrc").read_text(encoding="utf-8")
        copy = folder / "npmrc"
        copy.write_text(without_logins(text), encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    return {USER: str(copy)}


def without_logins(text: str) -> str:
    """The lines of an ``.npmrc`` on which server is used and how it is reached; no tokens, no passwords."""
    kept = []
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if _KEPT.match(name.strip()) and ("proxy" in name or not _LOGIN.search(value)):
            kept.append(f"{line}\n")
    return "".join(kept)


def certificate_files(env: Mapping[str, str], home: Path) -> list[str]:
    """The files of certificates that the user's settings of npm and pip name."""
    files = (
        Path(env.get(USER) or env.get(USER.upper()) or home / ".npmrc"),
        Path(env.get("PIP_CONFIG_FILE") or home / ".config/pip/pip.conf"),
        home / ".pip/pip.conf",
    )
    return [path for file in files for path in _certificates(file, home)]


def _certificates(file: Path, home: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    pairs = [line.partition("=") for line in lines]
    values = [value.strip().strip("\"'") for name, _, value in pairs if name.strip() in {"cafile", "cert"}]
    named = [value.replace("${HOME}", str(home)).replace("~", str(home), 1) for value in values]
    return [each for each in named if Path(each).is_absolute() and Path(each).is_file()]
