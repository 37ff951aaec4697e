"""Where the policy's files are: the user's settings beside Jupyter's, the log beside Jupyter's data."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "policy.toml"
PROJECT = Path(".agentnb", NAME)
"""The project's file, in the workspace."""


def user_policy(environment: Mapping[str, str] = os.environ) -> Path:
    """The user's policy file: ``AGENTNB_CONFIG_DIR``, else ``agentnb`` in Jupyter's configuration folder.

    Example:
        >>> user_policy({"JUPYTER_CONFIG_DIR": "/home/ada/.jupyter"}).as_posix()
        '/home/ada/.jupyter/agentnb/policy.toml'
    """
    own = environment.get("AGENTNB_CONFIG_DIR")
    if own:
        return Path(own, NAME)
    return Path(environment.get("JUPYTER_CONFIG_DIR") or Path.home() / ".jupyter", "agentnb", NAME)


def audit_log(environment: Mapping[str, str] = os.environ) -> Path:
    """The log of decisions: ``AGENTNB_DATA_DIR``, else ``agentnb`` in Jupyter's data folder."""
    own = environment.get("AGENTNB_DATA_DIR")
    if own:
        return Path(own, "audit.jsonl")
    return Path(environment.get("JUPYTER_DATA_DIR") or _jupyter_data(environment), "agentnb", "audit.jsonl")


def _jupyter_data(environment: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Jupyter"
    if os.name == "nt":
        return Path(environment.get("APPDATA") or Path.home(), "jupyter")
    return Path(environment.get("XDG_DATA_HOME") or Path.home() / ".local" / "share", "jupyter")
