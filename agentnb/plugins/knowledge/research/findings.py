"""The findings of a research: statements, each with the place in the source that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.errors import UsageError

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
    """One thing that was found."""

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
        """``file:line``; empty where there is no file."""
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
        """The findings as Markdown, each with ``file:line``; an answer in the agent's own words as it is."""
        return listed(self.findings) if self.is_checked else self.findings[0].text

    @property
    def note(self) -> str:
        """Where it began, a sentence; empty where no earlier findings were known."""
        if not self.reused:
            return ""
        what = "1 earlier finding" if self.reused == 1 else f"{self.reused} earlier findings"
        return f"Started from {what} of this version."


def listed(findings: Iterable[ResearchFinding]) -> str:
    """Findings as Markdown, each with its place."""
    return "\n".join(f"- {each.text}" + (f" (`{each.place}`)" if each.place else "") for each in findings)


def read_findings(findings: Any, sources: Sequence[PackageSource]) -> tuple[ResearchFinding, ...]:
    """The findings that an agent returned, checked: each file is one of *sources*, and has that line."""
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
