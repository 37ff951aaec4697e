"""Python code for a notebook that shows the rows that a check is about, or fails if there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.plugins.checks.tables import ReadTable


class CheckSnippet(NamedTuple):
    """Code that shows the rows, and code that fails if there are any; empty if there is none."""

    show: str = ""
    assertion: str = ""


NONE = CheckSnippet()


def code_name(table: ReadTable) -> str:
    """Returns the name of *table* in code; '' if it has none that code could use."""
    return table.name if table.name.isidentifier() and table.library in {"pandas", "polars", "numpy"} else ""


def _column(table: ReadTable, name: str) -> str:
    """Returns the expression for one column or level of the index; '' if there is none."""
    own = code_name(table)
    if not own:
        return ""
    if table.library == "numpy":
        return own if name == "values" else f"{own}[{name!r}]" if table.native.dtype.names else f"{own}[:, {name}]"
    if name in table.index:
        number = [*table.index].index(name)
        return f"{own}.index" if len(table.index) == 1 else f"{own}.index.get_level_values({number})"
    if not hasattr(table.native, "columns"):
        return own
    return f"{own}[{name!r}]" if name in {*table.native.columns} else ""


def repeated(table: ReadTable, names: Sequence[str]) -> CheckSnippet:
    """Returns code for rows with the same values in *names* as another row; in all columns if *names* is empty."""
    own = code_name(table)
    if not own:
        return NONE
    if table.library == "numpy":
        if table.native.ndim == 1:
            return CheckSnippet(assertion=f"assert len(set({own}.tolist())) == len({own})")
        return CheckSnippet(assertion=f"assert len(set(map(tuple, {own}.tolist()))) == len({own})")
    if names and all(each in table.index for each in names):
        return CheckSnippet(f"{own}[{own}.index.duplicated(keep=False)]", f"assert {own}.index.is_unique")
    if not hasattr(table.native, "columns"):
        return NONE
    chosen = [*names]
    if table.library == "polars":
        some = f"{own}.select({chosen!r})" if chosen else own
        order = f".sort({chosen!r})" if chosen else ""
        return CheckSnippet(f"{own}.filter({some}.is_duplicated()){order}", f"assert not {some}.is_duplicated().any()")
    some = repr(chosen) if chosen else ""
    order = f".sort_values({chosen!r})" if chosen else ""
    more = f"{some}, " if some else ""
    return CheckSnippet(
        f"{own}[{own}.duplicated({more}keep=False)]{order}", f"assert not {own}.duplicated({some}).any()"
    )


def missing(table: ReadTable, name: str, before: int = 0) -> CheckSnippet:
    """Returns code for rows without a value in *name*, of which *before* are allowed."""
    column = _column(table, name)
    if not column or table.library == "numpy":
        return CheckSnippet(assertion=f"assert not any(each != each for each in {column}.tolist())") if column else NONE
    if table.library == "polars":
        most = f"{column}.null_count() <= {before}" if before else f"{column}.null_count() == 0"
        return CheckSnippet(f"{code_name(table)}.filter({column}.is_null())", f"assert {most}")
    test = f"{column}.isna()"
    most = f"{test}.sum() <= {before}" if before else f"not {test}.any()"
    return CheckSnippet(f"{code_name(table)}[{test}]", f"assert {most}")


def unmatched(table: ReadTable, name: str, other: ReadTable, other_name: str) -> CheckSnippet:
    """Returns code for rows whose value in *name* does not occur in *other*."""
    column, values = _column(table, name), _column(other, other_name)
    if not column or not values or table.library != other.library or table.library == "numpy":
        return NONE
    if table.library == "polars":
        test = f"{column}.is_in({values}.implode())"
        return CheckSnippet(f"{code_name(table)}.filter(~{test})", f"assert {test}.all()")
    test = f"{column}.isin({values})"
    return CheckSnippet(f"{code_name(table)}[~{test}]", f"assert {test}.all()")


def shared(table: ReadTable, other: ReadTable, names: Sequence[str]) -> CheckSnippet:
    """Returns code for rows of *table* that *other* has, too."""
    own, its = code_name(table), code_name(other)
    if not own or not its or table.library != other.library:
        return NONE
    if table.library == "numpy":
        flat = table.native.ndim == 1
        sets = [f"set({each}.tolist())" if flat else f"set(map(tuple, {each}.tolist()))" for each in (own, its)]
        return CheckSnippet(f"{sets[0]} & {sets[1]}", f"assert not {sets[0]} & {sets[1]}")
    if not all(hasattr(each.native, "columns") for each in (table, other)):
        return NONE
    chosen = [*names]
    if table.library == "polars":
        rows = f"{own}.join({its}, on={chosen!r}, how='semi')"
        return CheckSnippet(rows, f"assert {rows}.is_empty()")
    rows = f"{own}.merge({its}[{chosen!r}].drop_duplicates(), on={chosen!r})"
    return CheckSnippet(rows, f"assert {rows}.empty")


def of_type(table: ReadTable, name: str, dtype: str) -> CheckSnippet:
    """Returns code that checks that the column *name* has the type *dtype*, as it had before."""
    column = _column(table, name)
    if not column:
        return NONE
    head = f"{column}[:20]" if table.library == "numpy" or name in table.index else f"{column}.head(20)"
    own = column if table.library != "numpy" or table.native.dtype.names else code_name(table)
    return CheckSnippet(head, f"assert str({own}.dtype) == {dtype!r}")


def within(table: ReadTable, name: str, most: float) -> CheckSnippet:
    """Returns code that checks that the values of the column *name* have a median below *most*."""
    column = _column(table, name)
    if not column:
        return NONE
    if table.library == "numpy":
        return CheckSnippet(f"{column}[:20]", f"assert sorted(abs({column}))[len({column}) // 2] < {most:.6g}")
    values = f"{column}.to_series()" if name in table.index else column
    return CheckSnippet(f"{values}.describe()", f"assert {values}.abs().median() < {most:.6g}")


def first_and_last(table: ReadTable, name: str, first: str, last: str) -> CheckSnippet:
    """Returns code that checks that the values of the column *name* begin at *first* and end at *last*."""
    column = _column(table, name)
    if not column or table.library == "numpy":
        return NONE
    expected = f"assert ({first!r}, {last!r}) == (str({column}.min()), str({column}.max()))"
    return CheckSnippet(f"{column}.min(), {column}.max()", expected)


def in_order(table: ReadTable, name: str) -> CheckSnippet:
    """Returns code that checks that the values of the column *name* rise, as they did before."""
    column = _column(table, name)
    if not column or table.library == "numpy":
        return NONE
    test = f"{column}.is_sorted()" if table.library == "polars" else f"{column}.is_monotonic_increasing"
    return CheckSnippet(column if name in table.index else f"{column}.head(20)", f"assert {test}")
