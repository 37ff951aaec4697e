"""The user's folders for settings and for what agentnb keeps, beside Jupyter's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "agentnb"


def home(environ: Mapping[str, str] = os.environ) -> Path:
    """Returns the user's home folder, or the root folder if neither the environment nor the system knows one."""
    if sys.platform != "win32" and (home_dir := environ.get("HOME")):
        return Path(home_dir)
    try:
        return Path.home()
    except RuntimeError:
        return Path(os.sep)


def from_home(path: Path) -> str:
    """*path* with ``~`` for the user's home folder."""
    own = home()
    return f"~/{path.relative_to(own).as_posix()}" if own in path.parents else "~" if path == own else str(path)


def config_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Returns the settings folder: ``AGENTNB_CONFIG_DIR``, else ``agentnb`` in Jupyter's configuration folder."""
    if own := environ.get("AGENTNB_CONFIG_DIR"):
        return Path(own).expanduser()
    config_dir = environ.get("JUPYTER_CONFIG_DIR")
    return (Path(config_dir).expanduser() if config_dir else home(environ) / ".jupyter") / NAME


def data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Returns the folder for kept data: ``AGENTNB_DATA_DIR``, else ``agentnb`` in Jupyter's data folder."""
    if own := environ.get("AGENTNB_DATA_DIR"):
        return Path(own).expanduser()
    return _jupyter_data(environ) / NAME


def _jupyter_data(environ: Mapping[str, str]) -> Path:
    if data_dir := environ.get("JUPYTER_DATA_DIR"):
        return Path(data_dir).expanduser()
    if sys.platform == "darwin":
        return home(environ) / "Library" / "Jupyter"
    if sys.platform == "win32":
        return Path(environ.get("APPDATA") or home(environ) / "AppData" / "Roaming") / "jupyter"
    return Path(environ.get("XDG_DATA_HOME") or home(environ) / ".local" / "share") / "jupyter"
