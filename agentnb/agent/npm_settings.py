"""npm's settings for agents that npx starts, and for confined ones: the user's mirror and certificates count, too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.agent.child import output_of
from agentnb.agent.programs import find_on_path, neutral_folder
from agentnb.agent.registry import PREFIX_OPTION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GLOBAL, USER = "npm_config_globalconfig", "npm_config_userconfig"
_SECONDS = 10.0
_ASKED: dict[tuple[str | None, ...], str] = {}
_NAMED = ("PREFIX", "DESTDIR", "HOME", "npm_config_prefix", "NPM_CONFIG_PREFIX", USER, USER.upper())
"""What decides where npm looks for the machine's settings."""
_KEPT = re.compile(
    r"(?:(?:@[\w.-]+:)?registry|ca(?:\[\])?|cafile|strict-ssl|proxy|https?-proxy|noproxy"
    r"|fetch-(?:retries|timeout|retry-\w+)|maxsockets|prefer-offline|offline)\Z"
)
_LOGIN = re.compile(r"//[^/\s]*@")


async def machine_settings(command: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """The variable that leads npx to the machine's settings of npm; none where it is given, or npm does not tell."""
    moved = any(word.startswith(PREFIX_OPTION) for word in command)
    npm = find_on_path("npm", env.get("PATH")) if moved else None
    if npm is None or GLOBAL in env or GLOBAL.upper() in env:
        return {}
    key = (npm, *(env.get(name) for name in _NAMED))
    if key not in _ASKED:
        output = await output_of([npm, "config", "get", "globalconfig"], neutral_folder(), dict(env), _SECONDS)
        _ASKED[key] = output.strip().rpartition("\n")[2]
    return {GLOBAL: _ASKED[key]} if Path(_ASKED[key]).is_absolute() else {}


def copy_without_logins(env: Mapping[str, str], home: Path, folder: Path) -> dict[str, str]:
    """Copy the user's ``.npmrc`` into *folder* without what logs in; the variable that leads npm to the copy."""
    try:
        text = Path(env.get(USER) or env.get(USER.upper()) or home / ".npmrc").read_text(encoding="utf-8")
        copy = folder / "npmrc"
        copy.write_text(without_logins(text), encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    return {USER: str(copy)}


def without_logins(text: str) -> str:
    r"""The lines of an ``.npmrc`` that say which server is used and how it is reached; no tokens, no passwords."""
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
