"""The doctor: examines everything, or only what is named; the checks of the front end are here, too."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb import __version__
from agentnb.acp.doctor import examine_all
from agentnb.agent.catalog import find, known
from agentnb.checkup.files import examine_files
from agentnb.checkup.packages import checkup, examine_kernels, examine_packages, version_of
from agentnb.distribution import NAME
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentnb.acp.doctor import Checkup


OWN = "agentnb"
WIDGETS = "@jupyter-widgets/jupyterlab-manager"
_HERE = f'"{sys.executable}" -m pip install --force-reinstall --no-deps'
_ENABLE = "jupyter labextension enable"


def examine_front(
    folders: Sequence[Path] | None = None, settings: Sequence[Path] | None = None, *, pages: bool | None = None
) -> list[Checkup]:
    """Check the extension and the widgets; if the pages' packages are missing, only report that."""
    if pages is None:
        pages = any(version_of(name) for name in ("jupyterlab", "notebook"))
    if not pages:
        message = "Neither JupyterLab nor Notebook is in this environment; install agentnb in theirs as well."
        return [checkup("extension", "absent", None, message)]
    folders = _folders() if folders is None else folders
    off = set(disabled(_settings() if settings is None else settings))
    return [_own(folders, off), _widgets(folders, off)]


def disabled(files: Iterable[Path]) -> Iterator[str]:
    """Yields the extensions, and plugins of extensions, that the page's settings disable."""
    for path in files:
        try:
            extensions = read_json(path.read_bytes()).get("disabledExtensions", {})
        except (OSError, ValueError, AttributeError):
            continue  # JupyterLab ignores such a file, too
        if isinstance(extensions, dict):
            yield from (name for name, value in extensions.items() if value)
        elif isinstance(extensions, list):
            yield from map(str, extensions)


def _own(folders: Sequence[Path], off: set[str]) -> Checkup:
    path, version = _installed(folders, OWN)
    if path is None:
        message = f"JupyterLab finds no extension of agentnb in {', '.join(map(str, folders))}."
        return checkup("extension", "missing", None, message, todo=f"{_HERE} {NAME}=={__version__}")
    if version != __version__:
        message = f"The extension in {path} is of version {version or 'unknown'}, agentnb is {__version__}."
        return checkup("extension", "old", version, message, todo=f"{_HERE} {NAME}=={__version__}")
    if names := _of(OWN, off):
        message = f"It is disabled: {', '.join(names)}."
        return checkup("extension", "broken", version, message, todo=f"{_ENABLE} {names[0]}")
    return checkup("extension", "ready", version, f"In {path}, enabled.")


def _widgets(folders: Sequence[Path], off: set[str]) -> Checkup:
    path, version = _installed(folders, WIDGETS)
    if path is None:
        message = "JupyterLab finds no extension that displays widgets, so answers are shown as text."
        return checkup("widgets", "missing", None, message, todo=f"{_HERE} jupyterlab_widgets")
    if names := _of(WIDGETS, off):
        message = f"The extensions that display widgets are disabled: {', '.join(names)}."
        return checkup("widgets", "broken", version, message, todo=f"{_ENABLE} {names[0]}")
    return checkup("widgets", "ready", version, "They are displayed.")


def _of(extension: str, off: set[str]) -> list[str]:
    """Returns those of *off* that are the *extension* itself or its plugins."""
    return sorted(name for name in off if name.partition(":")[0] == extension)


def _installed(folders: Sequence[Path], name: str) -> tuple[Path | None, str | None]:
    """Returns where the extension *name* is, or None, and its version, or None if it is unknown."""
    for folder in folders:
        path = folder / name
        if (path / "package.json").is_file():
            try:
                about: Any = read_json((path / "package.json").read_bytes())
                return path, str(about["version"])
            except (OSError, ValueError, KeyError, TypeError):
                return path, None
    return None, None


def _folders() -> list[Path]:
    """Jupyter's folders of extensions, the user's choice first."""
    try:
        from jupyter_core.paths import jupyter_path
    except ImportError:
        return [Path(sys.prefix, "share/jupyter/labextensions")]
    return [Path(path) for path in jupyter_path("labextensions")]


def _settings() -> list[Path]:
    """Returns the files that list what is disabled: the application's, and the page's per configuration folder."""
    application = Path(sys.prefix, "share/jupyter/lab/settings/page_config.json")
    try:
        from jupyter_core.paths import jupyter_config_path
    except ImportError:
        return [application]
    return [application, *(Path(path, "labconfig/page_config.json") for path in jupyter_config_path())]


JUPYTER = "jupyter"
"""The name that requests Jupyter alone."""
WELL = ("ready", "absent")


async def examine(names: Sequence[str] = ()) -> list[Checkup]:
    specs = [find(name) for name in names if name != JUPYTER] if names else known()
    if names and JUPYTER not in names:
        return await examine_all(specs)
    checkups, agents = await asyncio.gather(jupyter(), examine_all(specs))
    return [*checkups, *agents]


async def jupyter() -> list[Checkup]:
    tried, there, page, kept = await asyncio.gather(
        examine_kernels(), *(asyncio.to_thread(each) for each in (examine_packages, examine_front, examine_files))
    )
    return [*there, *tried, *page, *kept]


def is_well(checkup: Checkup, *, named: bool) -> bool:
    return checkup.state in WELL or (checkup.kind == "agent" and not named)
