"""Sends a try to a worker of a cluster and back: files, cells and variables, then the try's changes.

The worker runs the notebook's cells to recreate what cannot be pickled. Large tables are not sent: that run must
recreate them identically, which their hashes show.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.credentials import shapes
from agentnb.errors import AgentnbError, UsageError
from agentnb.kernel.code_runner import CellStep, NotebookView
from agentnb.plugins.branches.at_fork import AtFork
from agentnb.plugins.branches.variables import bring, expecting, save
from agentnb.plugins.loop.digests import digest_of
from agentnb.plugins.loop.held import is_table
from agentnb.plugins.map.workspaces import files_below
from agentnb.policy.sensitive import holds_secrets

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from agentnb.kernel.code_runner import NotebookCell


LARGE_BYTES = 1_000_000
"""Bytes above which a table is not sent if running the cells recreates it."""
_STAYS = {"agentnb", "distributed"}
_NOT_RUN = re.compile(r"\b(?:agentnb|distributed|LocalCluster)\b|^[ \t]*%%?agents?\b", re.MULTILINE)


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """The packed variables: their names, hashes of tables left out, names of texts that look like credentials."""

    names: tuple[str, ...]
    digests: dict[str, str]
    secrets: tuple[str, ...]


class TablesDiffer(AgentnbError):
    """Running the cells made other tables than at home; the message has their names, a line each."""


class VariablesMissing(AgentnbError):
    """Variables could neither be sent nor made; the message has their names, a line each."""


def cells_to_run(cells: Sequence[NotebookCell]) -> dict[int, str]:
    """Returns *cells* without those that start agents or cluster work: their results are sent instead."""
    return {each.count or 0: each.source for each in cells if not _NOT_RUN.search(each.source)}


def pack(path: str, names: Mapping[str, Any], namespace: Mapping[str, Any], sent: Collection[str]) -> Packed:
    """Write the variables *names* of *namespace* to *path*; call it in a fork, since it runs the variables' own code.

    Large tables are left out, except those named in *sent*.
    """
    own = {name: value for name, value in names.items() if type(value).__module__.partition(".")[0] not in _STAYS}
    large = {name: value for name, value in own.items() if name not in sent and is_table(value) and _is_large(value)}
    save(Path(path), namespace, AtFork(large, is_fork=False), [each for each in own if each not in large], None)
    digests = {name: digest_of(value) for name, value in large.items()}
    secrets = tuple(name for name, value in own.items() if isinstance(value, str) and shapes(value))
    return Packed(names=(*own,), digests=digests, secrets=secrets)


def unpack(path: str, names: Collection[str], digests: Mapping[str, str], namespace: dict[str, Any]) -> None:
    """Make *namespace*, where the cells have run, the same as at home; call it in the fresh kernel.

    Raises TablesDiffer if a table that was left out is different here, VariablesMissing if a variable is missing.
    """
    differ = [each for each, digest in digests.items() if each not in namespace or digest_of(namespace[each]) != digest]
    if differ:
        raise TablesDiffer("\n".join(differ))
    with expecting(Path(path), AtFork({each: namespace[each] for each in digests}, is_fork=False)):
        bring(path, {}, namespace)
    if missing := [each for each in names if each not in namespace]:
        raise VariablesMissing("\n".join(missing))
    hidden = namespace["get_ipython"]().user_ns_hidden
    for each in [each for each in namespace if not each.startswith("_") and each not in hidden and each not in names]:
        del namespace[each]


def _is_large(value: Any) -> bool:
    usage = getattr(value, "memory_usage", None)
    size = usage(index=True) if callable(usage) else getattr(value, "nbytes", 0)
    return bool((size.sum() if hasattr(size, "sum") else size) > LARGE_BYTES)


MOST_BYTES = 256_000_000
"""Bytes of files and variables that are sent in either direction."""


class SentFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file with its content, or a link with its target; with neither, the file is deleted."""

    path: str
    content: bytes | None = None
    link: str | None = None
    mode: int = 0o644


class TryOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The task for a worker.

    Attributes:
        folder: The path of the workspace at home.
        notebook: The notebook; its path is relative to the workspace.
        cells: The cells that were run, by their numbers, to be run again.
        state: The variables, as :func:`pack` wrote them.
        names: The names of all variables.
        digests: Hashes of the tables that are not sent: running the cells must recreate them.
    """

    number: int
    prompt: str
    instructions: str
    folder: str
    files: tuple[SentFile, ...]
    notebook: NotebookView | None
    cells: dict[int, str]
    state: bytes
    names: tuple[str, ...]
    digests: dict[str, str]


class RanCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell that the try ran, and its outputs."""

    cell_id: str
    count: int
    output: str
    outputs: tuple[dict[str, Any], ...]


class TryReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a try.

    Attributes:
        differs: Tables that running the cells made differently from home; then nothing else is reported.
        is_done: True if the turn was completed.
        error: Why it was not; empty if it was.
        is_over_budget: True if the reason is a budget that is used up.
        turn: How the turn ended.
        variables: The variables that it changed, each with the kind of change.
        saved: Those of them that could be pickled, as :func:`agentnb.plugins.branches.variables.save` wrote them.
        changed: The names of these, each with the kind of change.
        objects: The names of objects that are to be changed in place.
        lost: The variables that could not be pickled, and why.
    """

    differs: tuple[str, ...] = ()
    is_done: bool = False
    error: str = ""
    is_over_budget: bool = False
    turn: str = ""
    text: str = ""
    agent: str = ""
    files: tuple[SentFile, ...] = ()
    cells: tuple[CellStep, ...] = ()
    ran: tuple[RanCell, ...] = ()
    variables: dict[str, str] = {}
    saved: bytes = b""
    changed: dict[str, str] = {}
    objects: tuple[int | str, ...] = ()
    lost: str = ""


def workspace_files(folder: Path, *, with_secrets: bool) -> tuple[SentFile, ...]:
    """Returns the files below *folder*, without Git's own; files that may hold secrets only if *with_secrets*."""
    names = (name for name, _ in files_below(folder) if not name.startswith(".git/"))
    return read_files(folder, (name for name in names if with_secrets or not holds_secrets(name)))


def read_files(folder: Path, names: Iterable[str]) -> tuple[SentFile, ...]:
    """Returns the files *names* as they are now; raises a UsageError if they are too large to be sent."""
    return tuple(_within_limit(_read(folder / name, name) for name in names))


def write_files(folder: Path, files: Iterable[SentFile]) -> None:
    """Write or delete *files* in *folder*, never through a link; raises a UsageError if one is not in it."""
    root = folder.resolve()
    for each in files:
        target = folder / each.path
        parent = target.parent.resolve()
        is_inside = root == parent or root in parent.parents
        if Path(each.path).is_absolute() or ".." in Path(each.path).parts or not is_inside or target == folder:
            raise UsageError(f"{each.path!r} is not in the workspace. Nothing was copied.")
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        target.unlink(missing_ok=True)
        if each.link is None and each.content is None:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if each.link is not None:
            target.symlink_to(each.link)
        else:
            target.write_bytes(each.content or b"")
            target.chmod(each.mode & 0o777)


def check_size(size: int, what: str) -> None:
    """Raise a UsageError if so many bytes cannot be sent."""
    if size > MOST_BYTES:
        raise UsageError(
            f"{what} are larger than {MOST_BYTES / 1e6:.0f} MB, which is the most that is sent to or from a worker.",
            hint="Make them smaller, or leave out executor=.",
        )


def _within_limit(files: Iterable[SentFile]) -> Iterator[SentFile]:
    size = 0
    for each in files:
        size += len(each.content or b"")
        check_size(size, "The files of the workspace")
        yield each


def _read(path: Path, name: str) -> SentFile:
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return SentFile(path=name, link=os.readlink(path))  # noqa: PTH115 - as it stands
        check_size(status.st_size, "The files of the workspace")
        return SentFile(path=name, content=path.read_bytes(), mode=stat.S_IMODE(status.st_mode))
    except FileNotFoundError:
        return SentFile(path=name)
