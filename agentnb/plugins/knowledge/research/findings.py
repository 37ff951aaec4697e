"""The findings of a research run: statements, each with the place in the source that supports it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from agentnb.credentials import Credentials
from agentnb.errors import UsageError
from agentnb.folders import data_folder
from agentnb.plugins.knowledge.distributions import normal_name
from agentnb.safe_files import write_atomically
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from agentnb.plugins.knowledge.research.source import PackageSource


MOST_FINDINGS = 50
LONGEST_TEXT = 8_000
LARGEST_FILE = 16 * 1024 * 1024
LONGEST_LINE = 200
LINES_BEFORE, LINES_AFTER = 3, 8


class ResearchFinding(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    path: str = ""
    name: str = ""
    line: int = 0
    last_line: int = 0
    excerpt: str = ""
    lines: str = ""
    first_line: int = 0

    @property
    def place(self) -> str:
        """Returns ``file:line``, or '' if there is no file."""
        return f"{self.name}:{self.line}" if self.name else ""


class Research(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question about a package."""

    question: str
    package: str
    version: str
    findings: tuple[ResearchFinding, ...]
    session: str
    is_cached: bool = False
    is_checked: bool = True
    reused: int = 0

    @property
    def text(self) -> str:
        """Returns the findings as Markdown, each with ``file:line``; an answer in the agent's own words as it is."""
        return listed(self.findings) if self.is_checked else self.findings[0].text

    @property
    def note(self) -> str:
        """Returns a sentence about the earlier findings that it started from; '' if there were none."""
        if not self.reused:
            return ""
        what = "1 earlier finding" if self.reused == 1 else f"{self.reused} earlier findings"
        return f"Started from {what} of this version."


def listed(findings: Iterable[ResearchFinding]) -> str:
    return "\n".join(f"- {each.text}" + (f" (`{each.place}`)" if each.place else "") for each in findings)


def read_findings(findings: Any, sources: Sequence[PackageSource]) -> tuple[ResearchFinding, ...]:
    """Check the findings that an agent returned: each file must be one of *sources*, and have that line."""
    if not isinstance(findings, list) or not findings or len(findings) > MOST_FINDINGS:
        raise UsageError(f"'findings' is a list of 1 to {MOST_FINDINGS} objects with 'text', 'file' and 'line'.")
    return tuple(_finding(number, each, sources) for number, each in enumerate(findings, 1))


def _finding(number: int, finding: Any, sources: Sequence[PackageSource]) -> ResearchFinding:
    what = f"Finding {number}"
    if not isinstance(finding, dict) or not isinstance(text := finding.get("text"), str) or not text.strip():
        raise UsageError(f"{what} has no 'text'.")
    if len(text) > LONGEST_TEXT:
        raise UsageError(
            f"The text of finding {number} has {len(text):,} characters; at most {LONGEST_TEXT:,} are kept."
        )
    if (file := finding.get("file")) is None:
        return ResearchFinding(text=text.strip())
    line, last = finding.get("line", 1), finding.get("last_line")
    last = line if last is None else last
    if not isinstance(file, str) or not all(type(number) is int for number in (line, last)):
        raise UsageError(
            f"The 'file' of finding {number} must be a path; its 'line' and 'last_line' must be whole numbers."
        )
    source, path = _located(what, file, sources)
    lines = _lines(path, what)
    if not 1 <= line <= last <= len(lines):
        raise UsageError(f"{what} names lines {line} to {last} of {file}, which has {len(lines)}.")
    name = path.relative_to(source.root).as_posix() if path.is_relative_to(source.root) else path.name
    first = max(1, line - LINES_BEFORE)
    excerpt = [each.rstrip()[:LONGEST_LINE] for each in lines[first - 1 : line + LINES_AFTER]]
    return ResearchFinding(
        text=text.strip(),
        path=str(path),
        name=name,
        line=line,
        last_line=last,
        excerpt=lines[line - 1].strip()[:LONGEST_LINE],
        lines="\n".join(excerpt),
        first_line=first,
    )


def _located(what: str, file: str, sources: Sequence[PackageSource]) -> tuple[PackageSource, Path]:
    for source in sources:
        for base in (source.root, *source.places):
            try:
                path = (base / file).resolve(strict=True)
            except (OSError, ValueError, RuntimeError):
                continue
            if source.holds(path) and path.is_file():
                return source, path
    hint = "Cite files below the folders that get_package_source names."
    raise UsageError(f"{what} cites {file[:200]!r}, which is not a file of the package.", hint=hint)


def _lines(path: Path, what: str) -> list[str]:
    try:
        with path.open("rb") as opened:
            data = opened.read(LARGEST_FILE)
    except OSError as error:
        raise UsageError(f"{what} cites {path.name}, which cannot be read: {error.strerror}.") from None
    return data.decode("utf-8", "replace").splitlines()


MOST_KEPT = 100
"""Findings of one version that are kept; the oldest go first."""
MOST_GIVEN = 30
LONGEST_GIVEN = 12_000
"""Earlier findings, and their characters, that a new research run starts with."""
LARGEST = 5_000_000


class KeptFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding as it is stored, with its file relative to the package's root."""

    question: str
    text: str
    name: str
    line: int
    last_line: int
    excerpt: str


class KeptVersion(msgspec.Struct, frozen=True, kw_only=True):
    """The findings about one version of a package."""

    package: str
    version: str
    findings: tuple[KeptFinding, ...]


def kept_versions() -> list[KeptVersion]:
    """Returns everything that is kept, by package and version; files that cannot be read are left out."""
    versions = []
    for path in sorted(_folder().glob("*.json")):
        with suppress(OSError, ValueError), path.open("rb") as file:
            versions.append(read_record(file.read(LARGEST), KeptVersion))
    return versions


def earlier_findings(source: PackageSource) -> tuple[ResearchFinding, ...]:
    """Returns earlier findings about this exact version whose place still reads the same; the latest if many."""
    if source.is_editable:
        return ()
    good: list[ResearchFinding] = []
    length = 0
    for each in reversed(_read(source.package, source.version)):
        with suppress(UsageError):
            fields = {"text": each.text, "file": each.name, "line": each.line, "last_line": each.last_line}
            (checked,) = read_findings([fields], [source])
            length += len(each.text)
            if len(good) >= MOST_GIVEN or length > LONGEST_GIVEN:
                break
            if checked.excerpt == each.excerpt:
                good.append(checked)
    return tuple(reversed(good))


def keep_findings(source: PackageSource, question: str, findings: Sequence[ResearchFinding]) -> None:
    """Keep *findings* that name a place, readable only by their owner; of an editable install nothing is kept."""
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
        with suppress(OSError):  # keeping the findings is optional
            _folder().mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(_path(source.package, source.version), msgspec.json.encode(record))


def forget_findings(package: str | None = None, version: str | None = None) -> int:
    """Delete the findings about a package, or about all; returns how many there were."""
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
