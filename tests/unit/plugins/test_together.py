"""Tests that need several of our plug-ins.

The inside: a preview of code has more time here than a user gets, since the machine may be busy.
"""

from __future__ import annotations

from pathlib import Path

import agentnb
from agentnb.kernel.rehearsal_result import begin_code
from tests.rehearsal_here import needs_namespaces
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.talk import work
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.shell_tools import Tools
from tests.unit.plugins.checks.conftest import tables
from tests.unit.plugins.checks.test_turns import JOIN, REPEATED
from tests.unit.plugins.local.conftest import Models, models
from tests.unit.plugins.verify.test_verified_turns import notices

__all__ = ["models", "tools", "work"]  # the fixtures


@needs_namespaces
def test_code_preview_reports_data_checks_without_changes(tools: Tools, work: Path) -> None:
    tools.shell.user_ns.update(tables())
    result = begin_code(tools.shell, JOIN, str(work), seconds=20)()
    assert str(agentnb.DataChecks(result.data_checks)) == REPEATED
    assert "`id` is not unique in `customers`" in repr(result)
    assert len(tools.shell.user_ns["orders"]) == 100


POLARS = """import polars as pl
orders = pl.DataFrame({'id': range(100), 'price': [each + 0.5 for each in range(100)], 'kind': ['a', 'b'] * 50})
boxes = pl.DataFrame({'id': range(9), 'large': pl.Series([1] * 9, dtype=pl.Int128)})
later = orders.lazy()"""
CHANGED = """orders.replace_column(1, orders['price'] * 100)
boxes.insert_column(0, boxes['id'].alias('again'))
later = later.filter(pl.col('id') > 3)"""


@needs_namespaces
def test_code_preview_compares_readable_polars_frames(tools: Tools, work: Path) -> None:
    """In a fork polars has no threads; its columns are read through Arrow, which has no such large numbers."""
    tools.shell.run_cell(POLARS)
    result = begin_code(tools.shell, CHANGED, str(work), seconds=20)()
    assert result.error is None
    assert {*agentnb.DataChecks(result.data_checks).lines} == {
        "`orders`: values of `price` are 100× larger",
        "`boxes`: not compared: polars cannot be read in a preview",
        "`later`: not compared: polars cannot be read in a preview",
    }


def test_verified_turn_ends_when_the_agent_repairs_the_notebook(models: Models, tmp_path: Path) -> None:
    """`agentnb local` runs in its own process with its real tools and loop; only the model is scripted."""
    env = {"AGENTNB_LOCAL_PORTS": str(models.ports["ollama"]), "AGENTNB_LOCAL_MODEL": "mends"}
    with agentnb.start("local", env=env, cwd=tmp_path, permissions="allow", verify=True) as session:
        turn = session.prompt("Sum the numbers in a notebook.").wait(PATIENCE * 4)
    assert turn.text.split() == ["Written.Mended."]
    first, last = notices(turn)
    assert "Cell [1] would fail: `numbers`" in first
    assert last.startswith("made.ipynb: verified (1 of 1 cells run")
    done = [call.status for call in turn.tool_calls if not call.title.startswith("mends: ")]  # no ability check
    assert done == ["completed", "completed"]
