"""Snapshots when memory is nearly full: a separate process with a limit of the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

CODE = """
import resource
from agentnb.errors import ChangesError
from agentnb.kernel.variables.changes import NameChange
from agentnb.kernel.variables.keeper import RESERVE
from agentnb.kernel.variables.references import LIMIT
from agentnb.memory import address_space
from tests.unit.kernel.shell_tools import Tools

STEP = "df.loc[0, 'n'] = 9.0; a[0] = 9.0; xs.append(9)"
tools = Tools()
tools.shell.run_cell("import numpy as np, pandas as pd; df = pd.DataFrame({'n': np.zeros(10_000_000)})")
tools.shell.run_cell("a, xs = np.zeros(5_000_000), [1]; df.loc[0, 'n'] = 0.0")
namespace, names = tools.runner.namespace, tools.shell.user_ns
print(namespace.unrestorable(STEP, LIMIT))
resource.setrlimit(resource.RLIMIT_AS, (address_space() + RESERVE + 60_000_000, -1))
print(namespace.unrestorable(STEP, LIMIT))  # what the card says before Allow
tools.changes.begin("turn")
tools.call("run_code", code=STEP)
changes = [each for each in tools.changes.end("turn") if isinstance(each, NameChange)]
print([(each.name, each.refusal) for each in changes], tools.changes.lost("turn"))
try:
    tools.during(tools.changes.undo("turn", [each.id for each in changes]))
except ChangesError as error:
    print(error.message)
tools.during(tools.changes.undo("turn", ["variable:xs"]))
print(names["df"].loc[0, "n"], names["a"][0], names["xs"])
tools.loop.stop()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only: how much memory is free")
def test_undo_is_refused_for_variables_not_kept_in_full_memory() -> None:
    ran = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        "()",
        "('df', 'a')",
        "[('a', 'What it was before is not kept: memory is nearly full.'), ('xs', None)] ('df',)",
        "'a' cannot be undone. What it was before is not kept: memory is nearly full.",
        "9.0 9.0 [1]",
    ]
