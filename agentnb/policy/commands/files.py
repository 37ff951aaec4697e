"""Programs that change, move and remove files, permissions and disks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.policy.severity import Risk

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.policy.commands.table import Options

_DEVICE = re.compile(r"/dev/(?!(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd/\d+|shm/.*)$).+")
_SYSTEM = re.compile(r"(?:/|/(?:etc|usr|bin|sbin|lib\w*|boot|sys|proc|var|opt|root|System|Library)(?:/.*)?)$")
_EVERYTHING = frozenset({"/", "/*", "~", "~/", "~/*", "$HOME", "$HOME/", "$HOME/*", "..", "../", "../*"})
_OCTAL = re.compile(r"[0-7]{3,5}")
_OTHERS_WRITE = re.compile(r"(?:^|,)[ug]*[oa][ugoa]*[+=][rxXst]*w")
_SET_ID = re.compile(r"(?:^|,)[ugoa]*[+=][rwxXt]*s")


def target(path: str) -> Risk | None:
    """Returns what writing to *path* means beyond the workspace."""
    if _DEVICE.fullmatch(path):
        if path.startswith(("/dev/tcp/", "/dev/udp/")):
            return Risk("critical", f"Opens a network connection as if it were a file: {path}.")
        return Risk("critical", f"Writes to a device: {path}.")
    if _SYSTEM.fullmatch(path):
        return Risk("high", f"Changes a file of the system: {path}.")
    return None


def _move(options: Options) -> Risk:
    if _EVERYTHING.intersection(options.operands) or "/dev/null" in options.operands:
        return Risk("critical", "Moves something that must stay, or moves it away for good.")
    return _first(options, Risk("medium", "Moves files."))


def _copy(options: Options) -> Risk:
    return _first(options, Risk("low", "Writes files."))


def _copy_last(options: Options) -> Risk:
    written = options.operands if options.has("t", "--target-directory") else options.operands[-1:]
    return _copy(options._replace(operands=written))


def _first(options: Options, otherwise: Risk) -> Risk:
    places = (*options.operands, *(word.partition("=")[2] for word in options.words if "=" in word))
    return next((found for each in places if (found := target(each)) is not None), otherwise)


def _dd(options: Options) -> Risk:
    out = next((word[3:] for word in options.words if word.startswith("of=")), None)
    if out is None:
        return Risk("medium", "Copies raw data.")
    return target(out) or Risk("critical" if "$" in out else "high", f"Overwrites {out} with raw data.")


def _find(options: Options) -> Risk | None:
    if options.any("-delete"):
        return Risk("critical", "Deletes every file that it finds.")
    if options.any("-fprint", "-fprintf", "-fls", "-fprint0"):
        at = options.words.index(next(word for word in options.words if word.startswith(("-fprint", "-fls")))) + 1
        place = target(options.words[at]) if at < len(options.words) else None
        return place or Risk("medium", "Writes what it finds to a file.")
    return None


def _chmod(options: Options) -> Risk:
    for word in options.words:
        digits = _OCTAL.fullmatch(word)
        if (digits and int(word[-1]) & 2) or _OTHERS_WRITE.search(word):
            return Risk("high", f"Lets everyone on the machine write ({word}).")
        if (digits and len(word.lstrip("0")) > 3 and int(word[-4]) & 6) or _SET_ID.search(word):  # noqa: PLR2004 - a set-id digit
            return Risk("high", f"Lets a program run with its owner's permissions ({word}).")
    recursive = options.has("R", "--recursive")
    return Risk("medium" if recursive else "low", "Changes permissions.")


def _tar(options: Options) -> Risk | None:
    """``tar``: options that run programs, and unpacking to wherever the archive says."""
    programs = ("--to-com", "--checkpoint-a", "--use-c", "--rsh", "--info-s", "--new-v", "--rmt-c")
    if any(word.startswith(programs) for word in options.words) or options.short & {"I", "F"}:
        return Risk("high", "Runs another program while it unpacks.")
    if options.has("P", "--absolute-names"):
        return Risk("high", "Unpacks to wherever the archive says.")
    places = [words for words in options.words if re.match(r"(?:/|~|\.\.)", words)]
    if options.has("C", "--directory") and places:
        return Risk("high", f"Packs or unpacks files outside the workspace: {places[0]}.")
    return Risk("low", "Packs or unpacks files.")


RATERS: dict[str, Callable[[Options], Risk | None]] = {
    **dict.fromkeys(("mv", "move", "rename", "move-item"), _move),
    **dict.fromkeys(("ln", "tee", "touch", "mkdir", "link", "truncate", "rsync"), _copy),
    **dict.fromkeys(("cp", "install"), _copy_last),
    "dd": _dd,
    "find": _find,
    "chmod": _chmod,
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _tar),
}


def prefixed(program: str) -> Risk | None:
    """Families of programs that are known by how their names begin."""
    if program.startswith(("mkfs", "newfs_", "fsck.")):
        return Risk("critical", "Formats, partitions or wipes a disk.")
    return None
