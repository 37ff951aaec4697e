"""The distribution: this project's name on the package index, its version as others see it, and what it requires."""

from __future__ import annotations

import os
import re
import sys
from importlib import metadata

NAME = "jupyter-agentnb"
"""The name for ``pip install``; ``import agentnb`` imports it."""

OTHER = "agentnb"
"""The other project's name on the index, and this project's name before it was renamed."""


def manual(page: str) -> str:
    """The address of a page of this version's manual, such as ``how-to/pair``."""
    return f"https://github.com/agentnb/agentnb/blob/v{_this()}/docs/{page}.md"


def requirements() -> list[str]:
    """Returns agentnb's requirements from its metadata; empty if it runs from a folder and is not installed."""
    try:
        return metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:
        return []


def other_version() -> str | None:
    """Returns the version of the distribution ``agentnb`` in this environment, or None if it is not installed."""
    return _version(OTHER) or None


def pip(*words: str, python: str | None = None) -> str:
    """Returns a pip command line for the user to type."""
    return " ".join([python or f'"{sys.executable}"', "-m", "pip", *words])


def remove_other(version: str, python: str | None = None, *, dependencies: bool = False) -> str:
    """The command line that removes the other project and restores the files of this one."""
    words = ["install", "--force-reinstall", *([] if dependencies else ["--no-deps"]), f"{NAME}=={version}"]
    return f"{pip('uninstall', '--yes', OTHER, python=python)} && {pip(*words, python=python)}"


def overwritten() -> ImportError | SystemExit:
    """Returns the error for a package whose files the other project has overwritten.

    It uses only the standard library: the other files of this package cannot be relied on.
    """
    ours, theirs = _version(NAME), _version(OTHER)
    message = (
        f"Another project, {OTHER} {theirs}, has overwritten {_shared_files()} of {NAME} {ours}, because "
        f"both have the import name agentnb. Remove it, and restore {NAME}: {remove_other(ours)}"
    )
    program = os.path.basename(sys.argv[0] if sys.argv else "").partition(".")[0]  # noqa: PTH119
    is_command = program in ("agentnb", "__main__") or sys.argv[:1] == ["-m"]
    return SystemExit(f"agentnb  broken  {message}") if is_command else ImportError(message)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _shared_files() -> str:
    """Returns the files that both distributions list as their own, in words."""
    try:
        both = {str(each) for each in metadata.files(NAME) or ()} & {str(each) for each in metadata.files(OTHER) or ()}
    except metadata.PackageNotFoundError:
        return "files"
    named = sorted(each for each in both if each.startswith("agentnb/") and each.endswith(".py"))
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""  # noqa: PLR2004 - named in a sentence
    return ", ".join(named[:3]) + more if named else "files"


def own_info() -> dict[str, str]:
    """Returns this client's name and version (ACP ``clientInfo``)."""
    return {"name": "agentnb", "title": "agentnb", "version": _this()}


OLDEST = "oldest_agentnb"
"""The key with the oldest agentnb that can read the file."""

UPDATE = f"Update agentnb: `pip install --upgrade {NAME}`."
"""The advice for a file that is too new."""

_VERSION = re.compile(r"\d{1,4}(?:\.\d{1,4}){1,2}", re.ASCII)


def is_too_new(oldest: object) -> bool:
    """True if a file that names *oldest* needs a newer agentnb than this one."""
    return _numbers(oldest) > _numbers(_this())


def readers(oldest: object) -> str:
    """Returns a sentence for an error: which agentnb can read a file that is too new, and which one this is."""
    named = f"agentnb {oldest} or later" if _numbers(oldest) else "a newer agentnb"
    return f"It can be read by {named}; this is agentnb {_this()}."


def _numbers(version: object) -> tuple[int, ...]:
    """Returns the numbers of a version; empty for anything else, since others write files too."""
    known = isinstance(version, str) and _VERSION.fullmatch(version)
    return tuple(map(int, str(version).split("."))) if known else ()


def _this() -> str:
    return str(sys.modules["agentnb"].__version__)  # an import here would be circular with the state's modules
