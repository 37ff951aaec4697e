"""Where the durable log lies: beside Jupyter's own data, where ``AGENTNB_LOG`` says, or nowhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "AGENTNB_LOG"
OFF = ("off", "0", "no", "false")
NAME = "sessions.db"


def log_location(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The file of the durable log.

    Args:
        environ: The environment. ``AGENTNB_LOG`` is ``off``, a file or a folder; where it is not set the file is
            ``agentnb/sessions.db`` in Jupyter's data folder.

    Returns:
        The file, which need not exist; None where the log is off.

    Example:
        >>> log_location({"AGENTNB_LOG": "off"}) is None
        True
        >>> log_location({"JUPYTER_DATA_DIR": "/data"}).as_posix()
        '/data/agentnb/sessions.db'
    """
    said = environ.get(VARIABLE, "").strip()
    if said.lower() in OFF:
        return None
    if not said:
        return _jupyter_data(environ) / "agentnb" / NAME
    path = Path(said).expanduser()
    return path / NAME if path.is_dir() or said.endswith(os.sep) else path


def log_place(environ: Mapping[str, str] = os.environ) -> str:
    """What this kernel runs, as its server says (``JPY_SESSION_NAME``: a notebook's path); empty where none says.

    Example:
        >>> log_place({"JPY_SESSION_NAME": "work/fit.ipynb"})
        'work/fit.ipynb'
    """
    return environ.get("JPY_SESSION_NAME", "")


def _jupyter_data(environ: Mapping[str, str]) -> Path:
    """The rule of ``jupyter --data-dir``; Jupyter itself need not be there."""
    home = Path(environ.get("HOME") or Path.home())
    if said := environ.get("JUPYTER_DATA_DIR"):
        return Path(said).expanduser()
    if sys.platform == "darwin":
        return home / "Library" / "Jupyter"
    if sys.platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming") / "jupyter"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "jupyter"
