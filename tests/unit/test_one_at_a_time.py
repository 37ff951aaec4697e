"""While agentnb is loaded, Python looks for no garbage; afterwards it does as it did before."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentnb.one_at_a_time import imported


@pytest.fixture(autouse=True)
def looks_for_garbage() -> Iterator[None]:
    """As it is in every Python, before and after each test."""
    assert gc.isenabled()
    yield
    gc.enable()


def module(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> str:
    """The name of a module with this code that was never imported."""
    monkeypatch.syspath_prepend(folder)
    name = f"loaded_by_{folder.name}"
    (folder / f"{name}.py").write_text(f"import gc\n{code}", encoding="utf-8")
    return name


def test_imported_when_a_module_is_loaded_no_garbage_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sixth of the time of the first prompt went there."""
    assert not imported(module(tmp_path, monkeypatch, "looked = gc.isenabled()")).looked
    assert gc.isenabled()


def test_imported_when_a_module_fails_garbage_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error comes through."""
    with pytest.raises(ZeroDivisionError):
        imported(module(tmp_path, monkeypatch, "1 / 0"))
    assert gc.isenabled()


def test_imported_where_the_user_wants_no_garbage_looked_for_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the user's process."""
    gc.disable()
    imported(module(tmp_path, monkeypatch, ""))
    assert not gc.isenabled()
