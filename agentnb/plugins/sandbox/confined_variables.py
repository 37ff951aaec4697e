"""The environment of a confined agent: caches and states of common tools are in folders of its own.

It cannot write the user's caches: what lies there is run later by programs that are not confined (a wheel in the cache
of pip, say), so a shared cache would be a way out.
"""

from __future__ import annotations

import re
import tempfile
from typing import TYPE_CHECKING

from agentnb.folders import data_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FOLDER = "confined"
OWN_FOLDERS = {
    "XDG_CACHE_HOME": "cache",
    "UV_CACHE_DIR": "uv",
    "PIP_CACHE_DIR": "pip",
    "npm_config_cache": "npm",
    "YARN_CACHE_FOLDER": "yarn",
    "BUN_INSTALL_CACHE_DIR": "bun",
    "CARGO_HOME": "cargo",
    "GOCACHE": "go/build",
    "GOMODCACHE": "go/modules",
    "MPLCONFIGDIR": "matplotlib",
    "IPYTHONDIR": "ipython",
    "JUPYTER_RUNTIME_DIR": "jupyter",
}
"""Variables that name a folder which a tool writes outside the workspace, and the folder that a confined agent has
instead."""
RUNNER_FOLDERS = {"uvx": {"UV_TOOL_DIR": "uv-tools", "UV_PYTHON_INSTALL_DIR": "uv-python"}}
"""More of them for an agent that ``uvx`` starts."""
_LONGEST = 80


def own_folder(agent: str) -> Path:
    """Returns where the confined *agent* has its caches."""
    return data_folder() / FOLDER / (re.sub(r"[^\w-]", "_", agent)[:_LONGEST] or "_")


def confined_variables(
    agent: str, temporary: Path, said: Mapping[str, str], *, runner: str = ""
) -> tuple[Path, dict[str, str]]:
    """The folder of the confined *agent*, which is made, and the variables that lead to it and to *temporary*.

    Where the folder cannot be made, the caches are in *temporary*, and go with it.
    """
    folder = own_folder(agent)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        folder = temporary
    variables = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    named = {**OWN_FOLDERS, **RUNNER_FOLDERS.get(runner, {})}
    variables |= {name: str(folder / place) for name, place in named.items() if name not in said}
    return folder, variables
