"""`import agentnb` and `%load_ext agentnb` load next to nothing: the rest comes with the first use."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = (
    "agentnb.acp",
    "agentnb.agent",
    "agentnb.api",
    "agentnb.cassette",
    "agentnb.comm",
    "agentnb.credentials",
    "agentnb.host.host",
    "agentnb.ipython.audience",
    "agentnb.ipython.completion_candidates",
    "agentnb.ipython.manage",
    "agentnb.ipython.mentions",
    "agentnb.ipython.prompt_command",
    "agentnb.ipython.shell_code_runner",
    "agentnb.log",
    "agentnb.policy",
    "agentnb.state",
    "acp",
    "anywidget",
    "ipywidgets",
    "pydantic",
    "sqlite3",
)
"""What a notebook that has only loaded the magics must not pay for."""

PROGRAM = """
import json, os, sys
for name in ("AGENTNB_CASSETTE", "AGENTNB_EVENTS"):
    os.environ.pop(name, None)
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = set(sys.modules)
{code}
print(json.dumps(sorted(set(sys.modules) - before)))
"""
USES = {
    "a magic": "shell.run_line_magic('agents', 'list')",
    "completion": "shell.Completer.use_jedi = False; shell.complete('%agent -a el', '%agent -a el', 12)",
    "Python": "agentnb.chat",
}


def loaded_by(code: str) -> list[str]:
    """The modules that *code* loads in a process with an IPython shell."""
    command = [sys.executable, "-c", PROGRAM.format(code=code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    modules: list[str] = json.loads(done.stdout.splitlines()[-1])
    return modules


def is_heavy(module: str) -> bool:
    """Whether *module* is one of the heavy ones, or inside of one."""
    return any(module == heavy or module.startswith(f"{heavy}.") for heavy in HEAVY)


def test_import_loads_the_package_alone() -> None:
    """Every public name comes at its first use."""
    assert [module for module in loaded_by("import agentnb") if module.startswith("agentnb")] == ["agentnb"]


def test_load_ext_loads_nothing_heavy() -> None:
    """Neither the host nor what is below it, no widgets, no protocol."""
    assert [module for module in loaded_by("shell.run_line_magic('load_ext', 'agentnb')") if is_heavy(module)] == []


@pytest.mark.parametrize("use", USES)
def test_the_first_use_loads_the_rest(use: str) -> None:
    """So that the lists above cannot pass for a name that is no module any more."""
    loaded = loaded_by(f"import agentnb; shell.run_line_magic('load_ext', 'agentnb'); {USES[use]}")
    assert "agentnb.agent.catalog" in loaded
