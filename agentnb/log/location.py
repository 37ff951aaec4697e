"""The place of the durable log: beside Jupyter's own data, in ``AGENTNB_LOG``, or nowhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.folders import data_folder
from agentnb.site_policy import site_policy

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "AGENTNB_LOG"
OFF = ("off", "0", "no", "false")
NAME = "sessions.db"


def log_location(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The file of the durable log."""
    location = environ.get(VARIABLE, "").strip()
    if location.lower() in OFF or site_policy(environ).why_off("history") is not None:
        return None
    if not location:
        return data_folder(environ) / NAME
    path = Path(location).expanduser()
    return path / NAME if path.is_dir() or location.endswith(os.sep) else path


def log_place(environ: Mapping[str, str] = os.environ) -> str:
    """Returns what this kernel runs, as its server says (``JPY_SESSION_NAME``: a notebook's path).

    Empty where none says.
    """
    return environ.get("JPY_SESSION_NAME", "")
