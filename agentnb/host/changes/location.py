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
    """Whether ``AGENTNB_CHANGES`` switches it off that changes are followed.

    Example:
        >>> are_off({"AGENTNB_CHANGES": "off"}), are_off({})
        (True, False)
    """
    return environ.get(VARIABLE, "").strip().lower() in OFF


def changes_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the stores, one for each workspace (:func:`store_name`).

    Example:
        >>> changes_folder({"AGENTNB_DATA_DIR": "/data"}).as_posix()
        '/data/changes'
    """
    return data_folder(environ) / "changes"


def store_name(workspace: Path) -> str:
    """The name of a workspace's store.

    Example:
        >>> from pathlib import Path
        >>> store_name(Path("/"))
        '8a5edab282632443'
    """
    return hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
