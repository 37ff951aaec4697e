"""Check that the sdist and the wheel in a folder are whole: both carry the built front end, and neither carries litter.

Usage: ``python scripts/distribution.py dist``
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

from agentnb import __version__

BUILT = ("agentnb/static/widget.js", "agentnb/static/panel.js")
IN_WHEEL = (
    *BUILT,
    "agentnb/__init__.py",
    "agentnb/py.typed",
    "agentnb/agent/catalog/eliza.toml",
    "agentnb/eliza/script.toml",
)
EXTENSION = ("package.json", "install.json", "schemas/agentnb/plugin.json")
IN_SDIST = (
    *IN_WHEEL,
    *(f"labextension/{name}" for name in EXTENSION),
    ".ci/run",
    "LICENSE",
    "Makefile",
    "README.md",
    "constraints-ipykernel6.txt",
    "js/package-lock.json",
    "js/src/widget.ts",
    "notebooks/quickstart.ipynb",
    "scripts/distribution.py",
)
LITTER = ("node_modules", "__pycache__", ".venv", ".cache", "test-results", ".ipynb_checkpoints")


def names(path: Path) -> list[str]:
    """The files in a distribution, an sdist's without its leading folder."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return wheel.namelist()
    with tarfile.open(path) as sdist:
        return [member.name.partition("/")[2] for member in sdist.getmembers() if member.isfile()]


def problems(path: Path) -> list[str]:
    """What is wrong with a distribution, a line each."""
    found = names(path)
    data = f"agentnb-{__version__}.data/data/share/jupyter/labextensions/agentnb"
    in_wheel = (*IN_WHEEL, *(f"{data}/{name}" for name in EXTENSION))
    wanted = in_wheel if path.suffix == ".whl" else IN_SDIST
    missing = [f"{path.name} lacks {name}" for name in wanted if name not in found]
    litter = [f"{path.name} carries {name}" for name in found if any(part in LITTER for part in name.split("/"))]
    return missing + litter


def main() -> None:
    """Print what is there, or what is wrong."""
    folder = Path(sys.argv[1])
    paths = [*folder.glob("*.tar.gz"), *folder.glob("*.whl")]
    wrong = [line for path in paths for line in problems(path)]
    if len(paths) != len(("sdist", "wheel")):
        wrong.append(f"{folder} holds {len(paths)} distributions, not an sdist and a wheel")
    for path in paths:
        print(f"{path.name}: {len(names(path))} files, {path.stat().st_size:,} bytes")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
