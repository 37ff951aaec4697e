"""The scope of mentions in a shell that has run some cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agentnb.ipython.mentions import Scope, scope_of
from agentnb.server.comm.notebook import PageNotebook


def scope_with(
    cwd: Path,
    variables: Mapping[str, Any],
    cells: Sequence[str] = (),
    outputs: Mapping[int, str] | None = None,
    notebook: PageNotebook | None = None,
) -> Scope:
    """Returns the scope of a shell with these variables, cells (the first is unused) and their values as texts."""
    history = SimpleNamespace(input_hist_raw=[*cells], output_hist_reprs=outputs or {})
    shell: Any = SimpleNamespace(user_ns=variables, history_manager=history, execution_count=len(cells))
    return replace(scope_of(shell, cwd), notebook=notebook)
