"""The place of the stores of changes: in agentnb's data folder, or nowhere."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from agentnb.folders import data_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VARIABLE = "AGENTNB_CHANGES"
OFF = ("off", "0", "no", "false")


def are_off(environ: Mapping[str, str] = os.environ) -> bool:
    """True if ``AGENTNB_CHANGES`` turns the tracking of changes off."""
    return environ.get(VARIABLE, "").strip().lower() in OFF


def changes_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the stores, one for each workspace (:func:`store_name`)."""
    return data_folder(environ) / "changes"


def store_name(workspace: Path) -> str:
    return hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
