"""Tables that are not compared, or only by their columns: lazy ones, and those too large to keep."""

from __future__ import annotations

import contextlib
import sys
import warnings
from typing import TYPE_CHECKING, Any

from agentnb.kernel.data_checks import UNREAD
from agentnb.plugins.checks.findings import quoted
from agentnb.plugins.checks.reading import is_lazy
from agentnb.state import DataCheck

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NO_ROOM = "not compared: there was no room to keep its earlier state"
IN_PREVIEW = "not compared: polars cannot be read in a preview"
LAZY = "rows not counted: lazy"


def unread(name: str, text: str) -> DataCheck:
    """Returns a check that says why a table was not compared."""
    question = f"Look at @{name}. It was not compared with how it was. Are its rows, keys and values as they should be?"
    return DataCheck(table=name, cause=UNREAD, text=text, question=question)


def compare_lazy(name: str, before: Any, after: Any) -> tuple[DataCheck, ...]:
    """Compare a lazy table's columns and partitions, which are known without computing it; empty if it is new."""
    if before is None:
        return ()
    old, new = _schema(before), _schema(after)
    if old is None or new is None:
        return (unread(name, LAZY),)
    became = [each for each, kind in new.items() if kind == "text" and old.get(each) in {"number", "time"}]
    checks = tuple(_became_text(name, each) for each in became)
    facts = [_columns("new", [*new], old), _columns("gone", [*old], new), *_partitions(before, after)]
    return (*checks, unread(name, "; ".join([*filter(None, facts), LAZY])))


def _became_text(name: str, column: str) -> DataCheck:
    question = f"Look at @{name}. {quoted([column])} became text. Is that meant? If not, mend it."
    text = f"{quoted([column])} became text"
    return DataCheck(table=name, cause="type", text=text, count=1, columns=(column,), question=question)


def _columns(word: str, names: list[str], others: Mapping[str, str]) -> str:
    different = [each for each in names if each not in others]
    return f"{word}: {quoted(different)}" if different else ""


def _schema(value: Any) -> dict[str, str] | None:
    """Returns the columns and the kinds of their values; None if they are known only once the table is computed."""
    import narwhals.stable.v2 as nw

    with warnings.catch_warnings(), contextlib.suppress(Exception), _nothing_computed():
        warnings.simplefilter("ignore")
        schema = nw.from_native(value).collect_schema()
        return {name: _kind(dtype) for name, dtype in schema.items()}
    return None


def _kind(dtype: Any) -> str:
    if dtype.is_numeric():
        return "number"
    if dtype.is_temporal():
        return "time"
    return "text" if str(dtype) in {"String", "Object", "Categorical"} else "other"


def _partitions(before: Any, after: Any) -> Iterator[str]:
    """Yields how the partitions of Dask's frames differ, as far as that is known."""
    with contextlib.suppress(Exception), _nothing_computed():
        if before.npartitions != after.npartitions:
            yield f"partitions {before.npartitions:,} → {after.npartitions:,}"
        if before.known_divisions and not after.known_divisions:
            yield "the divisions are no longer known"


@contextlib.contextmanager
def _nothing_computed() -> Iterator[None]:
    """While Dask is asked for what it knows, make whatever would have to be computed fail."""
    dask = sys.modules.get("dask")
    if dask is None:
        yield
        return
    with dask.config.set(scheduler=_refuse):
        yield


def _refuse(*_: Any, **__: Any) -> Any:
    raise LookupError("not computed")


def why_unread(before: Any, after: Any, *, is_read: bool, is_fork: bool) -> str:
    """Returns why a table that a step changed was not compared; '' if it was."""
    if is_fork and not is_read and type(after).__module__.partition(".")[0] == "polars":
        return IN_PREVIEW
    return NO_ROOM if before is after and not is_lazy(after) else ""
