"""Findings of earlier researches, kept by package and version: a later research of that version starts from them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from agentnb.atomic_write import write_atomically
from agentnb.credentials import Credentials
from agentnb.errors import UsageError
from agentnb.folders import data_folder
from agentnb.plugins.knowledge.distributions import normal_name
from agentnb.plugins.knowledge.research.findings import read_findings
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentnb.plugins.knowledge.research.findings import ResearchFinding
    from agentnb.plugins.knowledge.research.source import PackageSource

MOST_KEPT = 100
"""Findings of one version that are kept; the oldest go first."""
MOST_GIVEN = 30
LONGEST_GIVEN = 12_000
"""Findings, and characters of them, that a research starts from."""
LARGEST = 5_000_000


class KeptFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding as it is kept: its file is named from the package's root."""

    question: str
    text: str
    name: str
    line: int
    last_line: int
    excerpt: str


class KeptVersion(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in one version of a package."""

    package: str
    version: str
    findings: tuple[KeptFinding, ...]


def kept_versions() -> list[KeptVersion]:
    """All that is kept, by package and version; files that cannot be read are left out."""
    found = []
    for path in sorted(_folder().glob("*.json")):
        with suppress(OSError, ValueError), path.open("rb") as file:
            found.append(read_record(file.read(LARGEST), KeptVersion))
    return found


def earlier_findings(source: PackageSource) -> tuple[ResearchFinding, ...]:
    """The findings about this very version, those whose place still says the same; the latest where there are many."""
    if source.is_editable:
        return ()
    good: list[ResearchFinding] = []
    length = 0
    for each in reversed(_read(source.package, source.version)):
        with suppress(UsageError):
            given = {"text": each.text, "file": each.name, "line": each.line, "last_line": each.last_line}
            (checked,) = read_findings([given], [source])
            length += len(each.text)
            if len(good) >= MOST_GIVEN or length > LONGEST_GIVEN:
                break
            if checked.excerpt == each.excerpt:
                good.append(checked)
    return tuple(reversed(good))


def keep_findings(source: PackageSource, question: str, findings: Sequence[ResearchFinding]) -> None:
    """Keep *findings* that name a place, for their owner alone; of an editable install nothing is kept."""
    if source.is_editable:
        return
    hidden = Credentials(os.environ).hidden
    kept = {(each.text, each.name, each.line): each for each in _read(source.package, source.version)}
    for each in findings:
        if each.name:
            made = KeptFinding(
                question=hidden(question),
                text=hidden(each.text),
                name=each.name,
                line=each.line,
                last_line=each.last_line,
                excerpt=each.excerpt,
            )
            kept.pop((made.text, made.name, made.line), None)
            kept[made.text, made.name, made.line] = made
    record = KeptVersion(package=source.package, version=source.version, findings=tuple([*kept.values()][-MOST_KEPT:]))
    if record.findings:
        with suppress(OSError):  # it is no reason to fail
            _folder().mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(_path(source.package, source.version), msgspec.json.encode(record), mode=0o600)


def forget_findings(package: str | None = None, version: str | None = None) -> int:
    """Delete what was found about a package, or about all; returns how many findings that were."""
    count = 0
    for each in kept_versions():
        same = package is None or normal_name(each.package) == normal_name(package)
        if same and version in {None, each.version}:
            count += len(each.findings)
            _path(each.package, each.version).unlink(missing_ok=True)
    return count


def _read(package: str, version: str) -> tuple[KeptFinding, ...]:
    try:
        with _path(package, version).open("rb") as file:
            kept = read_record(file.read(LARGEST), KeptVersion)
    except (OSError, ValueError):
        return ()
    return kept.findings if (kept.package, kept.version) == (package, version) else ()


def _path(package: str, version: str) -> Path:
    return _folder() / f"{normal_name(quote(package, safe=''))}@{quote(version, safe='')}.json"


def _folder() -> Path:
    return data_folder() / "research" / "findings"
