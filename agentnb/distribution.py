"""The distribution: this project's name on the package index, which is not its import name, and what it requires.

The index has another project called ``agentnb``, with the same import name and the same command. Where both are
installed, one overwrites files of the other.
"""

from __future__ import annotations

import sys
from importlib import metadata

NAME = "jupyter-agentnb"
"""What ``pip install`` installs; ``import agentnb`` imports it."""

OTHER = "agentnb"
"""The other project's name on the index, and this project's own before it was renamed."""


def requirements() -> list[str]:
    """What agentnb requires, as its metadata say; empty where it runs from a folder and is not installed."""
    try:
        return metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:
        return []


def other_version() -> str | None:
    """The version of the distribution ``agentnb`` in this environment; None where it is not installed."""
    try:
        return metadata.version(OTHER)
    except metadata.PackageNotFoundError:
        return None


def pip(*words: str, python: str | None = None) -> str:
    """A pip command line to type.

    Args:
        words: What follows ``pip``.
        python: How the interpreter is typed; by default the path of the running one, in quotes.

    Example:
        >>> pip("install", NAME, python="python")
        'python -m pip install jupyter-agentnb'
    """
    return " ".join([python or f'"{sys.executable}"', "-m", "pip", *words])


def remove_other(version: str, python: str | None = None, *, dependencies: bool = False) -> str:
    """The command line that removes the other project and restores the files of this one.

    Args:
        version: This project's version, the one to install.
        python: As for :func:`pip`.
        dependencies: Whether to install this project's dependencies as well: it may not have been there before.

    Example:
        >>> remove_other("0.1.0", "python")  # doctest: +ELLIPSIS
        'python -m pip uninstall --yes agentnb && python -m pip install --force-reinstall ... jupyter-agentnb==0.1.0'
    """
    words = ["install", "--force-reinstall", *([] if dependencies else ["--no-deps"]), f"{NAME}=={version}"]
    return f"{pip('uninstall', '--yes', OTHER, python=python)} && {pip(*words, python=python)}"
