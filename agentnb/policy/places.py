"""The places of the policy's files: the user's settings beside Jupyter's, the log beside Jupyter's data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.folders import config_folder, data_folder

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
    return config_folder(environment) / NAME


def audit_log(environment: Mapping[str, str] = os.environ) -> Path:
    """The log of decisions: ``AGENTNB_DATA_DIR``, else ``agentnb`` in Jupyter's data folder."""
    return data_folder(environment) / "audit.jsonl"
