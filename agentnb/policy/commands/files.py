"""Programs that change, move and remove files, permissions and disks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.policy.severity import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.policy.commands.options import Options

_DEVICE = re.compile(r"/dev/(?!(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd/\d+|shm/.*)$).+")
_SYSTEM = re.compile(r"(?:/|/(?:etc|usr|bin|sbin|lib\w*|boot|sys|proc|var|opt|root|System|Library)(?:/.*)?)$")
_EVERYTHING = frozenset({"/", "/*", "~", "~/", "~/*", "$HOME", "$HOME/", "$HOME/*", "..", "../", "../*"})
_OCTAL = re.compile(r"[0-7]{3,5}")
_OTHERS_WRITE = re.compile(r"(?:^|,)[ug]*[oa][ugoa]*[+=][rxXst]*w")
_SET_ID = re.compile(r"(?:^|,)[ugoa]*[+=][rwxXt]*s")


def target(path: str) -> Finding | None:
    """What writing to *path* means beyond the workspace."""
    if _DEVICE.fullmatch(path):
        if path.startswith(("/dev/tcp/", "/dev/udp/")):
            return Finding("critical", f"Opens a network connection as if it were a file: {path}.")
        return Finding("critical", f"Writes to a device: {path}.")
    if _SYSTEM.fullmatch(path):
        return Finding("high", f"Changes a file of the system: {path}.")
    return None


def _rm(options: Options) -> Finding:
    """``rm``: what is deleted decides how bad it is, and whether anything asks before."""
    if _EVERYTHING.intersection(options.operands):
        return Finding("critical", "Deletes a whole home, disk or parent folder.")
    if options.has("r", "R", "--recursive"):
        return Finding("critical", "Deletes folders and everything in them.")
    if options.has("f", "--force"):
        return Finding("critical", "Deletes without a question, whatever is in the way.")
    return Finding("medium", "Deletes files.")


def _rd(options: Options) -> Finding:
    if options.any("/s", "-s", "-recurse", "-r"):
        return Finding("critical", "Deletes folders and everything in them.")
    return Finding("low", "Deletes an empty folder.")


def _del(options: Options) -> Finding:
    if options.any("/s", "/q", "/f") or any("-recurse".startswith(word.lower()) for word in options.long):
        return Finding("critical", "Deletes folders and everything in them.")
    return Finding("medium", "Deletes files.")


def _move(options: Options) -> Finding:
    if _EVERYTHING.intersection(options.operands) or "/dev/null" in options.operands:
        return Finding("critical", "Moves something that must stay, or moves it away for good.")
    return _first(options, Finding("medium", "Moves files."))


def _copy(options: Options) -> Finding:
    return _first(options, Finding("low", "Writes files."))


def _copy_last(options: Options) -> Finding:
    """Of the files only the last is written, unless an option names the folder."""
    written = options.operands if options.has("t", "--target-directory") else options.operands[-1:]
    return _copy(options._replace(operands=written))


def _first(options: Options, otherwise: Finding) -> Finding:
    places = (*options.operands, *(word.partition("=")[2] for word in options.words if "=" in word))
    return next((found for each in places if (found := target(each)) is not None), otherwise)


def _dd(options: Options) -> Finding:
    out = next((word[3:] for word in options.words if word.startswith("of=")), None)
    if out is None:
        return Finding("medium", "Copies raw data.")
    return target(out) or Finding("critical" if "$" in out else "high", f"Overwrites {out} with raw data.")


def _find(options: Options) -> Finding | None:
    if options.any("-delete"):
        return Finding("critical", "Deletes every file that it finds.")
    if options.any("-fprint", "-fprintf", "-fls", "-fprint0"):
        at = options.words.index(next(word for word in options.words if word.startswith(("-fprint", "-fls")))) + 1
        place = target(options.words[at]) if at < len(options.words) else None
        return place or Finding("medium", "Writes what it finds to a file.")
    return None


def _chmod(options: Options) -> Finding:
    for word in options.words:
        digits = _OCTAL.fullmatch(word)
        if (digits and int(word[-1]) & 2) or _OTHERS_WRITE.search(word):
            return Finding("high", f"Lets everybody on the machine write ({word}).")
        if (digits and len(word.lstrip("0")) > 3 and int(word[-4]) & 6) or _SET_ID.search(word):  # noqa: PLR2004 - a set-id digit
            return Finding("high", f"Lets a program run with its owner's rights ({word}).")
    recursive = options.has("R", "--recursive")
    return Finding("medium" if recursive else "low", "Changes permissions.")


def _chown(options: Options) -> Finding:
    recursive = options.has("R", "--recursive")
    return Finding("high" if recursive else "medium", "Changes who owns files.")


def _sed(options: Options) -> Finding | None:
    """``sed``: its script can run commands (``e``) and write files (``w``)."""
    if any(re.search(r"(?:^|[;{}/\d])\s*e(?:\s|$)|/[gip\d]*e[gip\d]*$", word) for word in options.operands):
        return Finding("high", "Runs commands from a sed script.")
    if any(re.search(r"(?:^|[;{}/\d$])\s*[wW]\s+\S|/[gip\d]*w\s", word) for word in options.operands):
        return Finding("medium", "The sed script writes files.")
    if options.has("f", "--file"):
        return Finding("medium", "Runs a sed script of a file.")
    return Finding("medium", "Changes files in place.") if options.has("i", "--in-place") else None


def _sort(options: Options) -> Finding | None:
    if any(word.startswith("--compress-program") for word in options.words):
        return Finding("high", "Makes sort run another program.")
    return Finding("medium", "Writes a file.") if options.has("o", "--output") else None


def _split(options: Options) -> Finding:
    if any(word.startswith("--filter") for word in options.words):
        return Finding("high", "Makes split run another program.")
    return Finding("low", "Writes files.")


def _zip(options: Options) -> Finding:
    if any(word.startswith(("-TT", "--unzip-c")) for word in options.words):
        return Finding("high", "Makes zip run another program.")
    return Finding("low", "Writes files.")


def _rsync(options: Options) -> Finding:
    """``rsync``: runs a program by ``-e``, copies to other machines, deletes what the source lacks."""
    if "e" in options.short or any(word.startswith(("--rsh", "--rsync-path")) for word in options.words):
        return Finding("high", "Makes rsync run another program.")
    if any(re.match(r"(?:rsync://|[\w.@-]+:)", word) for word in options.operands):
        return Finding("high", "Copies files to or from another machine.")
    if any(word.startswith(("--del", "--remove-source")) for word in options.words):
        return Finding("high", "Deletes what is not in the source.")
    return _copy(options)


def _tar(options: Options) -> Finding | None:
    """``tar``: options that run programs, and unpacking to wherever the archive says."""
    programs = ("--to-com", "--checkpoint-a", "--use-c", "--rsh", "--info-s", "--new-v", "--rmt-c")
    if any(word.startswith(programs) for word in options.words) or options.short & {"I", "F"}:
        return Finding("high", "Runs another program while it unpacks.")
    if options.has("P", "--absolute-names"):
        return Finding("high", "Unpacks to wherever the archive says.")
    places = [words for words in options.words if re.match(r"(?:/|~|\.\.)", words)]
    if options.has("C", "--directory") and places:
        return Finding("high", f"Packs or unpacks files outside the workspace: {places[0]}.")
    return Finding("low", "Packs or unpacks files.")


def _always(severity: str, reason: str) -> Callable[[Options], Finding]:
    finding = Finding(severity, reason)  # type: ignore[arg-type] # a literal below
    return lambda _: finding


_DISK = _always("critical", "Formats, partitions or wipes a disk.")
_SHRED = _always("critical", "Overwrites files so that nothing can bring them back.")

RATERS: dict[str, Callable[[Options], Finding | None]] = {
    "rm": _rm,
    "rmdir": _rd,
    "rd": _rd,
    **dict.fromkeys(("del", "erase", "remove-item", "ri"), _del),
    **dict.fromkeys(("mv", "move", "rename", "move-item"), _move),
    **dict.fromkeys(("ln", "tee", "touch", "mkdir", "link", "truncate"), _copy),
    **dict.fromkeys(("cp", "install"), _copy_last),
    "unlink": _always("medium", "Deletes a file."),
    **dict.fromkeys(("shred", "srm", "wipe", "sfill"), _SHRED),
    **dict.fromkeys(
        (
            *("fdisk", "parted", "sfdisk", "cfdisk", "gdisk", "sgdisk", "diskpart", "format-volume", "format"),
            *("clear-disk", "wipefs", "mkswap", "blkdiscard", "hdparm", "cryptsetup", "mke2fs", "badblocks"),
            *("lvremove", "vgremove", "pvremove", "zpool", "diskutil", "nvme", "mdadm", "newfs"),
        ),
        _DISK,
    ),
    "dd": _dd,
    "find": _find,
    "chmod": _chmod,
    **dict.fromkeys(("chown", "chgrp", "setfacl", "chattr", "icacls", "takeown", "setcap"), _chown),
    "sed": _sed,
    "sort": _sort,
    "split": _split,
    "zip": _zip,
    "rsync": _rsync,
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _tar),
    **dict.fromkeys(("unzip", "gunzip", "gzip", "7z", "cpio", "patch"), _always("low", "Writes files.")),
}


def prefixed(program: str) -> Finding | None:
    """Families of programs that are known by how their names begin."""
    if program.startswith(("mkfs", "newfs_", "fsck.")):
        return Finding("critical", "Formats, partitions or wipes a disk.")
    return None
