"""In-place changes by a copy that ran the cells again, where only objects with a name are known.

The inside: a copy in another process is not needed to compare objects that are nested or are views.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentnb.errors import KernelChangesConflict
from agentnb.plugins.branches.at_fork import AtFork
from agentnb.plugins.branches.variables import bring, check, expecting, save


def variables() -> dict[str, Any]:
    """Returns equal variables for the kernel and the copy: views of arrays, and nested objects."""
    return {"view": np.arange(6).reshape(2, 3), "nested": {"rows": [[1], [2]]}, "other": [[3]]}


def test_changes_inside_named_objects_reach_the_kernel(tmp_path: Path) -> None:
    here, there = variables(), variables()
    at_fork, kernel = AtFork(there, is_fork=False), AtFork(here)
    there["view"][0] = 9
    there["nested"]["rows"][0].append(5)
    saved = save(tmp_path / "variables", there, at_fork, ["view", "nested"], None)
    view, nested = here["view"], here["nested"]
    with expecting(tmp_path / "variables", kernel):
        bring(str(tmp_path / "variables"), {"view": "changed", "nested": "changed"}, here, is_checked=True)
    assert set(saved.objects) == {"view", "nested"}
    assert (here["view"].tolist(), here["nested"]) == ([[9, 9, 9], [3, 4, 5]], {"rows": [[1, 5], [2]]})
    assert (here["view"] is view, here["nested"] is nested) == (True, True)


def test_change_by_the_user_inside_an_object_is_a_conflict() -> None:
    here = variables()
    kernel = AtFork(here)
    here["nested"]["rows"][1].append(7)
    check(kernel, here, ["view"], ["view"])
    with pytest.raises(KernelChangesConflict, match="nested"):
        check(kernel, here, ["nested"], ["nested"])
