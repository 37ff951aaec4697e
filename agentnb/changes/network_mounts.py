"""Finds the network file system that a folder is on: its times are those of another machine's clock."""

from __future__ import annotations

import os
import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
CLOCK_NS = 120_000_000_000
"""By how much the clock of a file server may be behind, in nanoseconds, so that no change is missed."""

_TYPES = frozenset(
    {
        *("afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs", "lustre", "ncpfs"),
        *("nfs", "nfs4", "ocfs2", "orangefs", "panfs", "smb2", "smb3", "smbfs"),
    }
)
_FUSE = frozenset(
    {
        *(
            "blobfuse",
            "blobfuse2",
            "curlftpfs",
            "davfs",
            "davfs2",
            "gcsfuse",
            "glusterfs",
            "goofys",
            "juicefs",
            "mount-s3",
        ),
        *("mountpoint-s3", "rclone", "s3fs", "seaweedfs", "smbnetfs", "sshfs"),
    }
)


def network_file_system(folder: Path, mounts: Path = MOUNTS) -> str | None:
    r"""The network file system that *folder* is on, such as ``nfs4``; None for a local one."""
    path = os.fspath(folder)
    if path.startswith("\\\\"):
        return "smb"
    try:
        lines = mounts.read_bytes().splitlines()
    except OSError:
        return None
    kind, length = "", -1
    for line in lines:
        fields = line.split(b" ")
        if len(fields) < 7 or b"-" not in fields[6:-1]:  # noqa: PLR2004 - the fields before the optional ones
            continue
        place = _unescaped(fields[4])
        if len(place) >= length and f"{path}/".startswith(f"{place.rstrip('/')}/"):
            kind, length = os.fsdecode(fields[fields.index(b"-", 6) + 1]), len(place)  # a later mount covers an earlier
    is_network = kind.removeprefix("fuse.") in _FUSE if kind.startswith("fuse.") else kind in _TYPES
    return kind if is_network else None


def _unescaped(field: bytes) -> str:
    r"""A field without the ``\040`` of spaces, tabs, line breaks and backslashes."""
    if b"\\" not in field:
        return os.fsdecode(field)
    return os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8) & 0xFF]), field))
