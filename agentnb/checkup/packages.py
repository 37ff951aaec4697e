"""Python, agentnb and the packages of Jupyter in this environment: there, and new enough?"""

from __future__ import annotations

import platform
import re
import sys
from importlib import metadata
from typing import Any

from agentnb import __version__
from agentnb.acp.doctor import Checkup
from agentnb.agent.registry import older
from agentnb.distribution import NAME, OTHER, other_version, pip, remove_other, requirements
from agentnb.plugin_registry import plugins

NEEDED = (
    "ipython",
    "ipywidgets",
    "anywidget",
    "traitlets",
    "markdown-it-py",
    "msgspec",
    "nest-asyncio",
    "tree-sitter",
    "tree-sitter-bash",
)
"""What agentnb itself needs: its requirements for every Python."""

PAGES = {
    "ipykernel": "runs notebooks",
    "jupyterlab": "shows them, with the chat in its sidebar",
    "notebook": "shows them, one at a time",
    "sidecar": "shows the chat beside a notebook where there is no sidebar of agentnb's",
}
"""What it is used in; kernels and pages may be of other environments."""
_NOT_REQUIRED = {"notebook": ">=7", "sidecar": ">=0.7"}
"""The versions of those that no requirement of agentnb's names; the group `test` in pyproject.toml has the same."""

_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;]*)")
_AT_LEAST, _BELOW = re.compile(r">=\s*([\w.]+)"), re.compile(r"<\s*([\w.]+)")


def examine() -> list[Checkup]:
    """Returns what is there, and whether it is in the range that works here."""
    python = checkup("python", "ready", platform.python_version(), f"{sys.executable}.")
    own = _own()
    versions = {name: version_of(name) for name in (*NEEDED, *PAGES)}
    needed = [_needed(name, versions[name]) for name in NEEDED]
    if not any(versions[name] for name in PAGES):
        message = "Jupyter is not installed in this environment. Here agentnb works in scripts and IPython."
        return [
            python,
            own,
            *needed,
            checkup("jupyter", "absent", None, message, todo=pip("install", f'"{NAME}[lab]"')),
            *_plugins(),
        ]
    return [python, own, *needed, *_plugins(), *(_page(name, versions[name]) for name in PAGES)]


TITLES = {
    "log": "the session log",
    "changes": "the stores of changes",
    "policy": "the policy",
    "site policy": "the site's policy",
    "confinement": "confinement of agents",
    "cassette": "a cassette",
    "extension": "agentnb's extension",
    "widgets": "@jupyter-widgets/jupyterlab-manager",
}
"""What is not called by its name."""


def checkup(
    name: str, state: Any, version: str | None, message: str, *, todo: str | None = None, title: str = ""
) -> Checkup:
    """Something found of Jupyter."""
    title = title or TITLES.get(name, name)
    return Checkup(name=name, title=title, state=state, version=version, message=message, todo=todo, kind="jupyter")


def version_of(name: str) -> str | None:
    """The version of the package *name* in this environment; None where it is not there."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def ranges() -> dict[str, str]:
    """The versions that agentnb works with, by the package's name; of those that it requires, as its metadata say."""
    requirements_read = (match.groups() for match in map(_REQUIREMENT.match, requirements()) if match)
    required = {name.lower(): bounds.strip() for name, bounds in requirements_read if bounds.strip()}
    return {**_NOT_REQUIRED, **required}


def outside(version: str, bounds: str) -> bool:
    """True if *version* is not in the range *said*."""
    least, end = _AT_LEAST.search(bounds), _BELOW.search(bounds)
    return (least is not None and older(version, least[1])) or (end is not None and not older(version, end[1]))


def problems() -> list[str]:
    """Returns what is wrong with the packages of this environment, a line each: too old, too new, missing, shadowed."""
    wrong = [_own(), *(_needed(name, version_of(name)) for name in NEEDED)]
    return [_line(checkup) for checkup in wrong if checkup.state != "ready"]


def _line(checkup: Checkup) -> str:
    return f"{checkup.name} {checkup.version or 'is missing'}: {checkup.message}"


def _own() -> Checkup:
    """Agentnb itself, and whether the other project of that name overwrites its files."""
    other = other_version()
    if other is None:
        return checkup("agentnb", "ready", __version__, f"This one, {NAME} on the package index.")
    message = (
        f"The distribution {OTHER} {other} is installed as well. It is another project (or this one under "
        f"its former name) with the same import name. It overwrites files of {NAME}, or is imported instead of it."
    )
    return checkup("agentnb", "broken", __version__, message, todo=remove_other(__version__))


def _plugins() -> list[Checkup]:
    """The plug-ins that work in one row, and each that does not in a row of its own."""
    registry = plugins()
    broken = [checkup(f"plug-in {each.plugin}", "broken", None, each.message) for each in registry.problems]
    names = ", ".join(registry.loaded) or "none"
    return [checkup("plug-ins", "ready", None, f"Loaded: {names}. `agentnb plugins` lists what each adds."), *broken]


def _needed(name: str, version: str | None) -> Checkup:
    if version is None:
        return checkup(name, "missing", None, "agentnb needs it.", todo=_install(name))
    return _in_range(name, version, "agentnb needs it.")


def _page(name: str, version: str | None) -> Checkup:
    if version is None:
        return checkup(
            name, "absent", None, f"It {PAGES[name]}. It is not installed in this environment.", todo=_install(name)
        )
    return _in_range(name, version, f"It {PAGES[name]}.")


def _in_range(name: str, version: str, message: str) -> Checkup:
    bounds = ranges().get(name, "")
    if outside(version, bounds):
        return checkup(name, "old", version, f"agentnb works with {bounds}.", todo=_install(name))
    return checkup(name, "ready", version, message)


def _install(name: str) -> str:
    return pip("install", "--upgrade", f'"{name}{ranges().get(name, "")}"')
