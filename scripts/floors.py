"""The oldest versions that agentnb promises to work with: print them, check an environment for them, find the Python.

Usage:
    ``python scripts/floors.py`` prints a pip requirement for each lower bound in ``pyproject.toml``.
    ``python scripts/floors.py --check`` fails if a package of the running environment has any other version.
    ``python scripts/floors.py --python`` prints the path of the oldest supported Python on this machine.
    ``python scripts/floors.py --python 3.12`` prints the path of a Python 3.12.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
EXTRAS = ("code", "export", "lab", "serve")
"""The extras to install with the oldest versions, like the group `test`; `dev` holds tools that run no code of ours."""
APART = ("marimo",)
"""Needs newer versions than agentnb does; only browser tests use it, and they run elsewhere."""
VARIABLE = "FLOOR_PYTHON"
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)>=(?P<floor>[\w.]+)[^;]*(?P<marker>;.*)?$")


def requirements() -> list[tuple[str, str, str]]:
    """Name, oldest version and environment marker of each requirement."""
    settings = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    project = settings["project"]
    extras = (text for extra in EXTRAS for text in project["optional-dependencies"][extra])
    texts = [*project["dependencies"], *extras, *settings["dependency-groups"]["test"]]
    matches = [_REQUIREMENT.match(text) for text in texts]
    if not all(matches):
        sys.exit("Each requirement in pyproject.toml needs a lower bound (name>=version).")
    bounds = [(match["name"], match["floor"], match["marker"] or "") for match in matches if match]
    return [each for each in bounds if each[0] not in APART]


def oldest_python() -> str:
    """The oldest Python of ``requires-python``, as ``3.10``."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    return str(project["requires-python"]).removeprefix(">=")


def find_python(wanted: str, named: str | None = None) -> str | None:
    """The path of a Python of the series *wanted*: the one *named*, one on the PATH, or pyenv's newest."""
    name = f"python{wanted}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    installed = sorted(pyenv.glob(f"versions/{wanted}.*/bin/{name}"), reverse=True)
    for candidate in (named, shutil.which(name), *map(str, installed)):
        if candidate and _version(candidate) == wanted:
            return candidate
    return None


def _version(python: str) -> str | None:
    """The series that *python* is of; None if it does not start (pyenv has scripts for Pythons that are not active)."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def differences() -> list[str]:
    """What is installed here in another version than its floor, a line each."""
    lines = []
    for name, floor, marker in requirements():
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            if not marker:
                lines.append(f"{name}: not installed; the floor is {floor}")
            continue
        if _padded(version) != _padded(floor):
            lines.append(f"{name}: {version} is installed; the floor is {floor}")
    return lines


def _padded(version: str) -> tuple[str, ...]:
    """*version* without trailing zeros: ``8.18`` and ``8.18.0`` are the same release."""
    return tuple(re.sub(r"(\.0)+$", "", version).split("."))


def main() -> None:
    """Do what the one option says."""
    option = sys.argv[1] if len(sys.argv) > 1 else ""
    if option == "--python":
        wanted = sys.argv[2] if len(sys.argv) > 2 else oldest_python()  # noqa: PLR2004 - a word behind the option
        is_oldest = wanted == oldest_python()
        python = find_python(wanted, os.environ.get(VARIABLE) if is_oldest else None)
        if python is None:
            or_else = f", or set {VARIABLE} to its path" if is_oldest else ""
            sys.exit(f"No Python {wanted} was found on this machine. Install it{or_else}.")
        print(python)
    elif option == "--check":
        if found_lines := differences():
            sys.exit("\n".join(found_lines))
    else:
        print("\n".join(f"{name}=={floor}{f' {marker}' if marker else ''}" for name, floor, marker in requirements()))


if __name__ == "__main__":
    main()
