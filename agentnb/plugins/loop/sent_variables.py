"""The notebook's variables for a try on a worker: pickled in a fork of the kernel, brought to a fresh one there.

Running the notebook's cells on the worker makes what cannot be pickled. Large tables are not sent: that run is to make
the same ones, which their hashes show.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.credentials import shapes
from agentnb.errors import AgentnbError
from agentnb.plugins.branches.at_fork import AtFork
from agentnb.plugins.branches.variables import bring, expecting, save
from agentnb.plugins.loop.digests import digest_of
from agentnb.plugins.loop.held import is_table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from agentnb.kernel.code_runner import NotebookCell

LARGE_BYTES = 1_000_000
"""A table of this size is not sent where running the cells makes it."""
_STAYS = {"agentnb", "distributed"}
_NOT_RUN = re.compile(r"\b(?:agentnb|distributed|LocalCluster)\b|^[ \t]*%%?agents?\b", re.MULTILINE)


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """What was packed.

    Attributes:
        names: The names of all variables.
        digests: Hashes of the tables that were left out.
        secrets: Names of texts that look like credentials.
    """

    names: tuple[str, ...]
    digests: dict[str, str]
    secrets: tuple[str, ...]


class TablesDiffer(AgentnbError):
    """Running the cells made other tables than at home; the message has their names, a line each."""


class VariablesMissing(AgentnbError):
    """Variables could neither be sent nor made; the message has their names, a line each."""


def cells_to_run(cells: Sequence[NotebookCell]) -> dict[int, str]:
    """The *cells* but those that begin work of agents or of a cluster: what they made is sent."""
    return {each.count or 0: each.source for each in cells if not _NOT_RUN.search(each.source)}


def pack(path: str, names: Mapping[str, Any], namespace: Mapping[str, Any], sent: Collection[str]) -> Packed:
    """Write the variables *names* of *namespace* to *path*; to be called in a fork, since it runs code of theirs.

    Large tables are left out but for those that are *sent*.
    """
    own = {name: value for name, value in names.items() if type(value).__module__.partition(".")[0] not in _STAYS}
    large = {name: value for name, value in own.items() if name not in sent and is_table(value) and _is_large(value)}
    save(Path(path), namespace, AtFork(large, is_fork=False), [each for each in own if each not in large], None)
    digests = {name: digest_of(value) for name, value in large.items()}
    secrets = tuple(name for name, value in own.items() if isinstance(value, str) and shapes(value))
    return Packed(names=(*own,), digests=digests, secrets=secrets)


def unpack(path: str, names: Collection[str], digests: Mapping[str, str], namespace: dict[str, Any]) -> None:
    """Make *namespace*, where the cells have run, what it is at home; to be called in the fresh kernel.

    Raises:
        TablesDiffer: If a table that was left out is another one.
        VariablesMissing: If a variable is not there.
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
