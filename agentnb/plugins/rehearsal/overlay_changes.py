"""Reads what a rehearsal changed in the file system from the overlays that captured its changes."""

from __future__ import annotations

import base64
import os
import stat
from contextlib import suppress

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from agentnb.plugins.sandbox import namespaces

MOST_CHANGES = 2_000
"""Changed files that are listed by name; the rest are only counted."""
LARGEST_CONTENT = 256 * 1024
MOST_CONTENT = 4 * 1024 * 1024
"""Bytes of changed files' contents that are reported, for their diffs: per file, and in total."""


class OpenedFileVersion:
    """A file as it is now."""

    def __init__(self, path: str) -> None:
        self.content: bytes | None = _content(path)
        self._stamp = self._stamp_of(path)

    def is_now(self, path: str) -> bool:
        """True if the file at *path* still has the same content."""
        if self.content is not None:
            return self.content == _content(path)
        return self._stamp == self._stamp_of(path)

    @staticmethod
    def _stamp_of(path: str) -> tuple[int, ...] | None:
        status = _status(path)
        return status and (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def versions(overlays: Sequence[namespaces.Overlay]) -> dict[str, OpenedFileVersion]:
    """Returns the files now in the overlays, by their paths there; must be called before anything is rehearsed."""
    return {
        f"{overlay.upper}/{path}": OpenedFileVersion(f"{overlay.upper}/{path}")
        for overlay in overlays
        for path, _ in _walk(overlay, "")
    }


def changes(overlays: Sequence[namespaces.Overlay], opened: Mapping[str, OpenedFileVersion]) -> dict[str, Any]:
    """Returns the fields of a :class:`agentnb.plugins.rehearsal.running.SupervisorReport` about changes."""
    changed_files: list[dict[str, Any]] = []
    more = room = 0
    for overlay in overlays:
        for path, how in _walk(overlay, ""):
            if len(changed_files) >= MOST_CHANGES:
                more += 1
                continue
            upper = f"{overlay.upper}/{path}"
            version = opened.get(upper)
            if version is not None and version.is_now(upper):
                continue  # opened by the kernel and not changed since
            if version is not None and how != "deleted":
                status, before = "changed", version.content
            else:
                status, before = how, _content(f"/proc/self/fd/{overlay.below}/{path}") if how != "created" else None
            after = _content(upper) if status != "deleted" else None
            if status == "changed" and before is not None and before == after:
                continue  # only opened for writing, or touched
            change: dict[str, Any] = {"path": os.path.join(overlay.path, path), "status": status}
            size = len(before or b"") + len(after or b"")
            if room + size <= MOST_CONTENT:
                room += size
                for side, content in (("before", before), ("after", after)):
                    if content is not None:
                        change[side] = base64.b64encode(content).decode()
            changed_files.append(change)
    return {"changes": changed_files, "more": more}


def _walk(overlay: namespaces.Overlay, folder: str) -> Iterator[tuple[str, str]]:
    """Yields what was changed below *folder*, and how."""
    upper = os.path.join(overlay.upper, folder)
    below = f"/proc/self/fd/{overlay.below}/{folder}"
    replaced = _is_replaced(upper)
    names = sorted(os.listdir(upper))
    for name in names:
        path = os.path.join(folder, name)
        here, there = os.lstat(f"{upper}/{name}"), _status(f"{below}/{name}")
        if stat.S_ISCHR(here.st_mode) and here.st_rdev == 0:
            yield from _deleted(overlay, path, there)
        elif stat.S_ISDIR(here.st_mode):
            if there is not None and not stat.S_ISDIR(there.st_mode):
                yield path, "deleted"
            if there is None and not os.listdir(f"{upper}/{name}"):
                yield f"{path}/", "created"
            yield from _walk(overlay, path)
        else:
            was_folder = there is not None and stat.S_ISDIR(there.st_mode)
            if was_folder:
                yield from _deleted(overlay, path, there)
            yield path, "created" if there is None or was_folder else "changed"
    if replaced:
        with suppress(OSError):
            for name in sorted(set(os.listdir(below)) - set(names)):
                path = os.path.join(folder, name)
                yield from _deleted(overlay, path, _status(f"{below}/{name}"))


def _deleted(overlay: namespaces.Overlay, path: str, there: os.stat_result | None) -> Iterator[tuple[str, str]]:
    if there is None:
        return
    if not stat.S_ISDIR(there.st_mode):
        yield path, "deleted"
        return
    names: list[str] = []
    with suppress(OSError):
        names = sorted(os.listdir(f"/proc/self/fd/{overlay.below}/{path}"))
    if not names:
        yield f"{path}/", "deleted"
    for name in names:
        inner = os.path.join(path, name)
        yield from _deleted(overlay, inner, _status(f"/proc/self/fd/{overlay.below}/{inner}"))


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _is_replaced(folder: str) -> bool:
    with suppress(OSError):
        return os.getxattr(folder, "user.overlay.opaque") == b"y"
    return False


def _content(path: str) -> bytes | None:
    """Returns a file's content or a link's target; None for what is too large or not a file."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(path))
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_CONTENT:
            return None
        with open(path, "rb") as file:
            return file.read(LARGEST_CONTENT)
    except OSError:
        return None
