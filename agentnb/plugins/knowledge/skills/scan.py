"""Finds the skills of installed distributions and of the workspace."""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from agentnb.plugins.knowledge.distributions import linked_folder, normal_name, read_entry_points
from agentnb.plugins.knowledge.package_tools.declared import DeclaredTool, ToolEntry, module_file, read_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ENTRY_POINTS = "agentnb.skills"
MOST_OF_A_FOLDER = 200
"""Skills, or packages, of one folder that are examined."""
LARGEST_RECORD = 50_000_000

_INFO = re.compile(r"(?P<name>[A-Za-z0-9._-]+?)-(?P<version>[^-]+)\.dist-info")
_SKILLS = ((".agents", "skills"), ("skills",))


class SkillFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A folder with a ``SKILL.md``; for a tool, the folder that contains its package."""

    folder: Path
    package: str
    version: str = ""
    module: str = ""
    tool: ToolEntry | None = None


class FoundSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill as the user sees it, or a tool."""

    id: str
    name: str
    description: str
    package: str
    version: str
    folder: Path
    trusted: bool = False
    refused: bool = False
    imported: bool = False
    problem: str = ""
    tool: DeclaredTool | None = None
    is_tool: bool = False

    @property
    def key(self) -> str:
        """Returns its key among the digests that the user trusts of a package."""
        return f"tool:{self.name}" if self.is_tool else self.name


class SkillScan:
    """Caches the skills it has found; a later scan reads only what was installed since."""

    def __init__(self, paths: Iterable[str] | None = None) -> None:
        self._paths = None if paths is None else tuple(paths)
        self._known: dict[str, tuple[tuple[int, ...], tuple[SkillFolder, ...]]] = {}

    def installed(self) -> list[SkillFolder]:
        """Returns all installed distributions' skills, by distribution; the first of a name counts, as for imports."""
        packages: dict[str, tuple[SkillFolder, ...]] = {}
        for path in dict.fromkeys(sys.path if self._paths is None else self._paths):
            for name, info in _distributions(path or os.curdir):
                if name not in packages:
                    packages[name] = self._skills_of(name, info)
        return [skill for name in sorted(packages) for skill in packages[name]]

    def _skills_of(self, name: str, info: str) -> tuple[SkillFolder, ...]:
        state = _state(info)
        known = self._known.get(info)
        if known is None or known[0] != state:
            folders = _read_distribution(name, Path(info))
            # An editable install's source changes without its list of files, so it is searched each time.
            is_editable = linked_folder(_text(Path(info) / "direct_url.json")) is not None
            known = self._known[info] = (() if is_editable else state, folders)
        return known[1]


def workspace_skills(workspace: Path) -> list[SkillFolder]:
    """The skills in ``.agents/skills`` of a folder, and of the folders in it."""
    places = [workspace, *_folders(workspace)]
    folders = [folder for place in places for folder in _with_skill(place / ".agents" / "skills")]
    return [SkillFolder(folder=folder, package="workspace") for folder in folders]


def zipped_packages(paths: Iterable[str] | None = None) -> list[str]:
    """Returns zipped eggs and zip files on the import path: their skills are not folders, so they are not searched."""
    chosen = sys.path if paths is None else paths
    return [each for each in chosen if each.endswith((".egg", ".zip")) and os.path.isfile(each)]  # noqa: PTH113 - as text


def _distributions(path: str) -> Iterator[tuple[str, str]]:
    try:
        with os.scandir(path) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(".dist-info")]
    except OSError:
        return
    for each in names:
        if (match := _INFO.fullmatch(each)) is not None:
            yield normal_name(match["name"]), os.path.join(path, each)  # noqa: PTH118 - 300 of them


def _state(info: str) -> tuple[int, ...]:
    try:
        status = os.stat(info)  # noqa: PTH116 - 300 of them, each time
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ino


def _read_distribution(name: str, info: Path) -> tuple[SkillFolder, ...]:
    match = _INFO.fullmatch(info.name)
    version = match["version"] if match is not None else ""
    site = info.parent
    entry_points = _text(info / "entry_points.txt")
    editable = linked_folder(_text(info / "direct_url.json"))
    if editable is not None:
        folders, bases = [*_in_source(editable)], [editable, editable / "src"]
    else:
        folders, bases = [*_recorded(info, site), *_named(entry_points, site)], [site]
    made = {
        folder: SkillFolder(folder=folder, package=name, version=version, module=module) for folder, module in folders
    }
    tools = [
        SkillFolder(
            folder=next((each for each in bases if module_file(each, entry.module) is not None), bases[0]),
            package=name,
            version=version,
            module=entry.module.split(".")[0],
            tool=entry,
        )
        for entry in read_entries(entry_points)
    ]
    return (*tuple(made.values())[:MOST_OF_A_FOLDER], *tools)


def _recorded(info: Path, site: Path) -> Iterator[tuple[Path, str]]:
    record = _text(info / "RECORD")
    if "SKILL.md" not in record:
        return
    for row in csv.reader(io.StringIO(record)):
        path = PurePosixPath(row[0]) if row else PurePosixPath()
        if path.name != "SKILL.md" or path.is_absolute() or ".." in path.parts:
            continue
        above = path.parts[:-2]
        if any(above[-len(each) :] == each and len(above) > len(each) for each in _SKILLS):
            yield site.joinpath(*path.parts[:-1]), path.parts[0]


def _named(entry_points: str, site: Path) -> Iterator[tuple[Path, str]]:
    """Yields the skills that entry points name, without importing the package."""
    for _, target in read_entry_points(entry_points, ENTRY_POINTS):
        parts = target.replace(":", ".").split(".")
        if all(part.isidentifier() for part in parts):
            yield from ((folder, parts[0]) for folder in _with_skill(site.joinpath(*parts)))


def _in_source(folder: Path) -> Iterator[tuple[Path, str]]:
    for package in [*_folders(folder), *_folders(folder / "src")]:
        for each in _SKILLS:
            yield from ((skill, package.name) for skill in _with_skill(package.joinpath(*each)))


def _with_skill(folder: Path) -> list[Path]:
    return [each for each in _folders(folder, links=True) if (each / "SKILL.md").is_file()]


def _folders(folder: Path, *, links: bool = False) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=links) and entry.name[0] != "."]
    except OSError:
        return []
    return [folder / name for name in sorted(names)[:MOST_OF_A_FOLDER]]


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_RECORD).decode("utf-8", "replace")
    except OSError:
        return ""
