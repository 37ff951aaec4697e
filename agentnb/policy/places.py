"""The places of the policy's files: the user's settings beside Jupyter's, the log beside Jupyter's data."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.folders import config_folder, data_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import PurePath

NAME = "policy.toml"
PROJECT = Path(".agentnb", NAME)
"""The project's file, in the workspace."""


def user_policy(environment: Mapping[str, str] = os.environ) -> Path:
    """The user's policy file: ``AGENTNB_CONFIG_DIR``, else ``agentnb`` in Jupyter's configuration folder."""
    return config_folder(environment) / NAME


def own_patterns(root: PurePath, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Patterns of the files that decide what agents may do and how they start."""
    named = [environment.get(name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTERLAB_SETTINGS_DIR", "IPYTHONDIR")]
    folders = [config_folder(environment), *(Path(each).expanduser() for each in named if each)]
    found = []
    for folder in (Path(os.path.abspath(each)) for each in folders):  # noqa: PTH100 - links stay
        found.append(f"{_literal(folder.as_posix())}/**")
        if root in folder.parents:
            found.append(f"{_literal(folder.relative_to(root).as_posix())}/**")
    return tuple(dict.fromkeys(found))


def _literal(path: str) -> str:
    """*path* as a pattern; a letter that means something in patterns stands for any letter."""
    return re.sub(r"[*?\[\]{}!\\,]", "?", path)


def audit_log(environment: Mapping[str, str] = os.environ) -> Path:
    """The log of decisions: ``AGENTNB_DATA_DIR``, else ``agentnb`` in Jupyter's data folder."""
    return data_folder(environment) / "audit.jsonl"
