"""Check that the sdist and the wheel in a folder are whole: both carry the built front end, and neither carries litter.

Usage: ``python scripts/distribution.py dist``
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
import zipfile
from pathlib import Path

from agentnb import __version__

LICENCES = "THIRD-PARTY-LICENSES.txt"
BUILT = (
    *(
        f"agentnb/static/{name}.js"
        for name in (
            "widget",
            "panel",
            "highlighting",
            "agents",
            "attention",
            "branches",
            "cell-changes",
            "data-checks",
            "freedom",
            "history",
            "pairing",
            "phone",
            "questions",
            "review",
            "rewind",
            "translated",
            "uses",
            "walkthrough",
        )
    ),
    "agentnb/static/phone-page.html",
    f"agentnb/static/{LICENCES}",
)
PACKAGES = Path(__file__).parents[1] / "js/package.json"
IN_WHEEL = (
    *BUILT,
    "agentnb/__init__.py",
    "agentnb/py.typed",
    "jupyter_agentnb.py",
    "agentnb/agent/catalog/eliza.toml",
    "agentnb/agent/catalog/local.toml",
    "agentnb/plugins/eliza/chart.png",
    "agentnb/plugins/eliza/script.toml",
)
EXTENSION = ("package.json", "install.json", "schemas/agentnb/plugin.json", LICENCES)
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
    files = names(path)
    data = f"jupyter_agentnb-{__version__}.data/data/share/jupyter/labextensions/agentnb"
    in_wheel = (*IN_WHEEL, *(f"{data}/{name}" for name in EXTENSION))
    wanted = in_wheel if path.suffix == ".whl" else IN_SDIST
    missing = [f"{path.name} lacks {name}" for name in wanted if name not in files]
    litter = [f"{path.name} carries {name}" for name in files if any(part in LITTER for part in name.split("/"))]
    return missing + litter + unlicensed(path) + relative_links(path)


def unlicensed(path: Path) -> list[str]:
    """The JavaScript packages that the front end contains and whose licence is not in a distribution, a line each."""
    text = content(path, f"agentnb/static/{LICENCES}").decode()
    packages = json.loads(PACKAGES.read_text(encoding="utf-8"))["dependencies"]
    return [
        f"{path.name} lacks the licence of {name}"
        for name in packages
        if not re.search(rf"^{name} \d", text, re.MULTILINE)
    ]


def relative_links(path: Path) -> list[str]:
    """Links of a distribution's long description that lead nowhere on a package index, a line each."""
    inside = f"jupyter_agentnb-{__version__}.dist-info/METADATA" if path.suffix == ".whl" else "PKG-INFO"
    _, _, text = content(path, inside).decode().partition("\n\n")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    if not links:
        return [f"{path.name} has no long description"]
    return [f"{path.name}: {link} is a relative link" for link in links if not link.startswith("https://")]


def content(path: Path, name: str) -> bytes:
    """The bytes of one file in a distribution; empty where it has none of that name."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return wheel.read(name) if name in wheel.namelist() else b""
    with tarfile.open(path) as sdist:
        member = next((each for each in sdist.getmembers() if each.name.partition("/")[2] == name), None)
        file = sdist.extractfile(member) if member is not None else None
        return file.read() if file is not None else b""


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
