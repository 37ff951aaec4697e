"""Write ``constraints.txt`` from what is installed here.

Usage: ``python scripts/pins.py > constraints.txt`` inside an environment that was made without constraints.
Packages that no longer support the oldest Python of ours are pinned for the newer ones only.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
OLDEST = "3.10.99"


def closure(requirements: list[str]) -> dict[str, Distribution]:
    """Return every installed distribution that the requirements lead to, by canonical name."""
    distributions: dict[str, Distribution] = {}
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        wanted = waiting.pop()
        extras = [*wanted.extras, ""]
        if wanted.marker and not any(wanted.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        name = canonicalize_name(wanted.name)
        try:
            dist = distribution(name)
        except PackageNotFoundError:
            continue
        if name in distributions and not wanted.extras:
            continue
        distributions[name] = dist
        for text in dist.requires or []:
            inner = Requirement(text)
            if not inner.marker or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                inner.marker = None
                waiting.append(inner)
    return distributions


def pin(name: str, dist: Distribution) -> str:
    """Return ``name==version``, with a marker where the oldest Python cannot have it."""
    needs = dist.metadata["Requires-Python"] or ""
    floor = re.search(r">=\s*([\d.]+)", needs)
    if floor and not SpecifierSet(needs).contains(OLDEST):
        return f'{name}=={dist.version} ; python_full_version >= "{floor[1]}"'
    return f"{name}=={dist.version}"


def main() -> None:
    """Print the pins, sorted."""
    settings = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    project = settings["project"]
    lists = [*project["optional-dependencies"].values(), *settings["dependency-groups"].values()]
    wanted = [*project["dependencies"], *(text for each in lists for text in each if isinstance(text, str))]
    for name, dist in sorted(closure(wanted).items()):
        print(pin(name, dist))


if __name__ == "__main__":
    main()
