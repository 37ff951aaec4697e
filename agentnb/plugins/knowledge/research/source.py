"""Finds the source of a package in this environment: its modules, stubs and documentation."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import zipfile
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.distributions import linked_folder, normal_name
from agentnb.plugins.knowledge.research.unpack import unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_FILES = 50_000
"""Files of a distribution that are examined."""
MOST_PLACES = 40
_SOURCE = (".py", ".pyi", ".pyx", ".pxd")


class PackageSource(msgspec.Struct, frozen=True, kw_only=True):
    """The source of one version of a package."""

    package: str
    version: str
    root: Path
    places: tuple[Path, ...]
    notes: tuple[str, ...] = ()
    is_editable: bool = False

    def holds(self, path: Path) -> bool:
        """True if *path*, absolute and without links, is a file or folder of the package."""
        return any(path == place or place in path.parents for place in self.places)

    def described(self) -> str:
        """Describe where the package is, in words for an agent."""
        listed = "\n".join(f"- {place}{os.sep if place.is_dir() else ''}" for place in self.places)
        notes = "".join(f"\nNote: {note}" for note in self.notes)
        return f"{self.package} {self.version}. Its source, to be read with your own tools:\n{listed}{notes}"


def installed_source(package: str, paths: Iterable[str] | None = None, *, unpack_to: Path) -> PackageSource:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", package):
        raise UsageError(f"{package!r} is not a valid package name.", hint='For example: "polars".')
    distribution = _named(package, [*(sys.path if paths is None else paths)])
    if distribution is None:
        return _of_python(package)
    name, version = distribution.metadata["Name"] or package, distribution.version or "unknown"
    site = Path(str(distribution.locate_file(""))).absolute()
    if (zipped := _zip_of(site)) is not None:
        folder = unpacked(zipped, unpack_to / f"{normal_name(name)}-{version}-egg")
        return _checked(PackageSource(package=name, version=version, root=folder, places=(folder,)))
    editable = linked_folder(distribution.read_text("direct_url.json"))
    if editable is None:
        stubs = site / f"{re.sub(r'[-.]+', '_', name.lower())}-stubs"  # of another distribution (PEP 561)
        root, places = site, [*_recorded(distribution, site), stubs]
    else:
        root, places = editable, [*_of_project(distribution, editable)]
    own = PackageSource(
        package=name,
        version=version,
        root=root.resolve(),
        places=_real(places),
        is_editable=editable is not None,
    )
    return _checked(msgspec.structs.replace(own, notes=tuple(_notes(own))))


def _checked(source: PackageSource) -> PackageSource:
    if not source.places:
        message = f"{source.package} {source.version} is installed, but none of its files can be read."
        raise UsageError(message, hint="Specify a version to fetch it from the package index.")
    return source


def _named(package: str, paths: list[str]) -> metadata.Distribution | None:
    """The distribution called *package*; else the first that installs a module of that name."""
    finder = metadata.DistributionFinder.Context(name=package, path=paths)
    distribution = next(iter(metadata.MetadataPathFinder.find_distributions(finder)), None)
    if distribution is not None and distribution.metadata["Name"]:
        return distribution
    if package in sys.stdlib_module_names:
        return None
    everything = metadata.MetadataPathFinder.find_distributions(metadata.DistributionFinder.Context(path=paths))
    for each in everything:
        if package in (each.read_text("top_level.txt") or "").split():
            return each
        editable = linked_folder(each.read_text("direct_url.json"))
        if editable is not None and any((base / package).is_dir() for base in (editable / "src", editable)):
            return each
        first = {PurePosixPath(str(file)).parts[0] for file in (each.files or ())[:MOST_FILES]}
        if first & {package, f"{package}.py"}:
            return each
    return None


def _of_python(package: str) -> PackageSource:
    """Returns a module of Python's standard library."""
    library = sysconfig.get_paths()["stdlib"]
    top = package.partition(".")[0]
    spec = PathFinder.find_spec(top, [library]) if top in sys.stdlib_module_names else None
    if spec is None or spec.origin is None or spec.origin in ("built-in", "frozen"):
        known = "It is built into Python." if top in sys.builtin_module_names else "No distribution has that name."
        raise UsageError(
            f"The source of {package!r} is not in this environment. {known}",
            hint="Specify a version to fetch it from the package index once the user agrees.",
        )
    place = Path(spec.origin)
    places = _real([place.parent if spec.submodule_search_locations else place])
    version = ".".join(map(str, sys.version_info[:3]))
    return PackageSource(package=package, version=version, root=Path(library).resolve(), places=places)


def _zip_of(site: Path) -> Path | None:
    """The zip file that *site* is, or lies in."""
    for each in (site, *site.parents):
        if each.is_file():
            return each if zipfile.is_zipfile(each) else None
        if each.is_dir():
            return None
    return None


def _recorded(distribution: metadata.Distribution, site: Path) -> Iterator[Path]:
    """Yields a distribution's folders and files: a package as its folder, of a namespace only its own parts."""
    files = [PurePosixPath(str(file)) for file in (distribution.files or ())[:MOST_FILES]]
    kept = [each for each in files if _is_of_source(each)]
    packages = {each.parent for each in kept if each.name in ("__init__.py", "__init__.pyi")}
    packages |= {PurePosixPath(each.parts[0]) for each in kept if each.parts[0].endswith("-stubs")}
    tops = {each for each in packages if not packages.intersection(each.parents)}
    yield from (site.joinpath(*each.parts) for each in sorted(tops))
    alone = [each for each in kept if not tops.intersection(each.parents)]
    # a namespace's modules without a package: their folders, as they may be many
    folders = {each.parent for each in alone if len(each.parts) > 1}
    yield from (site.joinpath(*each.parts) for each in sorted(folders) if not folders.intersection(each.parents))
    yield from (site / each.name for each in sorted(alone) if len(each.parts) == 1)
    if (readme := _metadata_file(distribution)) is not None:
        yield readme


def _is_of_source(path: PurePosixPath) -> bool:
    first = path.parts[0] if path.parts else ".."
    name = first.partition(".")[0] if len(path.parts) == 1 else first.removesuffix("-stubs")
    if path.is_absolute() or ".." in path.parts or not name.isidentifier():  # excludes numpy.libs, numpy-2.0.dist-info
        return False
    return path.suffix in _SOURCE or path.name.endswith(tuple(EXTENSION_SUFFIXES))


def _metadata_file(distribution: metadata.Distribution) -> Path | None:
    """The file with the description, which is the README of most packages."""
    for file in distribution.files or ():
        if file.name in ("METADATA", "PKG-INFO") and len(file.parts) == 2:  # noqa: PLR2004 - the folder and the file
            return Path(str(distribution.locate_file(file)))
    return None


def _of_project(distribution: metadata.Distribution, folder: Path) -> Iterator[Path]:
    """Yields the packages and documentation of an editable install's project, not the rest of its folder."""
    named = (distribution.read_text("top_level.txt") or "").split() or [
        re.sub(r"[-.]+", "_", distribution.metadata["Name"] or "")
    ]
    places = [each for base in (folder / "src", folder) for name in named if (each := base / name).is_dir()]
    places += [each for base in (folder / "src", folder) for name in named if (each := base / f"{name}.py").is_file()]
    if not places:  # the distribution's name is not the package's
        bases = [folder / "src"] if (folder / "src").is_dir() else [folder]
        found_there = [each.parent for base in bases for each in sorted(base.glob("*/__init__.py"))]
        places = [each for each in found_there if each.name not in {"tests", "test", "docs", "examples"}]
    yield from places[:MOST_PLACES]
    yield from (folder / name for name in ("docs", "doc", "README.md", "README.rst") if (folder / name).exists())


def _real(places: Iterable[Path]) -> tuple[Path, ...]:
    real = dict.fromkeys(each.resolve() for each in places if each.exists())
    inner = [each for each in real if not real.keys() & set(each.parents)]
    return tuple(inner[:MOST_PLACES])


def _notes(source: PackageSource) -> Iterator[str]:
    python, stubs, compiled = [*_tally(source.places)]
    if not python and stubs:
        yield "It has stubs only: signatures, no source. The source belongs to another distribution."
    if compiled:
        what = f"{compiled} compiled {'module has' if compiled == 1 else 'modules have'} no source here"
        yield f"{what}; a version that is fetched may be a source distribution, which has it."


def _tally(places: Iterable[Path]) -> Iterator[int]:
    """Yields the numbers of Python files, stubs, and compiled modules without source."""
    names: list[str] = []
    for place in places:
        if place.is_file():
            names.append(str(place))
            continue
        for folder, _, files in os.walk(place):
            names += [os.path.join(folder, file) for file in files]  # noqa: PTH118 - as text, there are many
            if len(names) > MOST_FILES:
                break
    sources = {os.path.splitext(name)[0] for name in names if name.endswith((".py", ".pyx", ".c", ".cpp", ".rs"))}  # noqa: PTH122
    yield sum(name.endswith(".py") for name in names)
    yield sum(name.endswith(".pyi") for name in names)
    endings = tuple(EXTENSION_SUFFIXES)
    yield sum(name.endswith(endings) and _stem(name) not in sources for name in names)


def _stem(name: str) -> str:
    folder, _, file = name.rpartition(os.sep)
    return os.path.join(folder, file.partition(".")[0])  # noqa: PTH118 - as text
