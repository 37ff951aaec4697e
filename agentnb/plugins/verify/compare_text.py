"""Compares two texts as a reader does: values that differ in each run do not count.

It compares token by token. Numbers may differ by the tolerance or by one unit of their last decimal; addresses, unique
ids and temporary paths may differ; so may times that are about now, in a line that says something else, too.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.plugins.verify.notebook_text import Cell
    from agentnb.plugins.verify.result import Finding
    from agentnb.plugins.verify.run import VerifiedRun
    from agentnb.state import RehearsalFile


TOLERANCE = 1e-9
"""Difference between two numbers that is tolerated, relative to the larger one."""
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_DROPPED = re.compile(
    r"^(?:CPU times:|Wall time:|.*\bper loop\b|The slowest run took|.*\d(?:it/s|s/it)|[ \t]*\d+%\|"
    r"|total \d+$|(?:Over)?[Ww]riting \S+$).*$",
    re.MULTILINE,
)
"""Lines about how long something took, how full a disk is, or whether a file existed before."""
_TOKEN = re.compile(
    r"(?P<address>\b0x[0-9a-fA-F]{5,}\b)"
    r"|(?P<uuid>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)"
    r"|(?P<path>(?<![\w./])(?:/private)?/(?:tmp|var/folders|var/tmp|dev/shm)(?![\w.-])(?:/[^\s'\"),:]+)?)"
    r"|(?P<moment>\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b)"
    r"|(?P<clock>\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b)"
    r"|(?P<duration>(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?[ ]?(?:ns|µs|μs|us|ms|s|sec|secs|seconds?|min|minutes?)\b)"
    r"|(?P<number>(?<![\w.])[-+]?(?:\d[\d_,]*\d|\d)?\.?\d+(?:[eE][-+]?\d+)?|(?<![\w.])\d+\.)"
    r"|(?P<space>\s+)"
    r"|(?P<word>[^\W\d_]\w*|\w+)"
    r"|(?P<sign>.)",
    re.DOTALL,
)
_WORD = re.compile(r"[^\s'\",()\[\]{}]+")
_SET = re.compile(r"\{[^{}:]*\}")
_DATA = re.compile(r"data:([\w/+.-]+);base64,([A-Za-z0-9+/=]{100,})")
"""A picture, video or sound in HTML, compared as a whole."""
_RANDOM_ID = re.compile(r"\b(?:T_[0-9a-f]{5,}(?=_|\b)|ipykernel_\d+|[a-z][0-9a-f]{10}\b)")
NEAR = timedelta(hours=36)


class Difference(NamedTuple):
    """The first difference between two texts: the line in the notebook, and the line of the run.

    Attributes:
        kind: ``text``, ``number``, ``moment``, ``duration``, ``warning``, ``bytes`` or ``widget``.
        is_mild: True if it does not count: only durations, moments or warnings differ.
    """

    kind: str
    stored: str
    now: str
    is_mild: bool = False


def same_words(stored: str, now: str) -> bool:
    return sorted(_WORD.findall(_cleaned(stored))) == sorted(_WORD.findall(_cleaned(now)))


def compare_texts(stored: str, now: str, *, tolerance: float = TOLERANCE) -> Difference | None:
    """Returns the first difference that counts; None if there is none."""
    stored, now = _cleaned(stored), _cleaned(now)
    if stored == now:
        return None
    before, after = _tokens(stored), _tokens(now)
    if len(before) != len(after):
        lines = stored.split("\n"), now.split("\n")
        return Difference("text", *(_first_lines(*lines) if max(map(len, lines)) > 1 else (stored[:300], now[:300])))
    mild: Difference | None = None
    for old, new in zip(before, after, strict=True):
        kind = _differ(old, new, tolerance)
        if not kind:
            continue
        place = _line_at(stored, old.start()), _line_at(now, new.start())
        is_mild = kind == "duration" or (kind == "moment" and not _is_alone(new, place[1]))
        difference = Difference(kind, *place, is_mild=is_mild)
        if not is_mild:
            return difference
        mild = mild or difference
    return mild


def _cleaned(text: str) -> str:
    text = _DATA.sub(lambda match: f"{match[1]} h{hashlib.sha256(match[2].encode()).hexdigest()}", _ANSI.sub("", text))
    if "\r" in text:
        lines = text.replace("\r\n", "\n").split("\n")
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
    text = _DROPPED.sub("", text)
    text = _SET.sub(lambda match: "{" + ", ".join(sorted(map(str.strip, match[0][1:-1].split(",")))) + "}", text)
    text = _RANDOM_ID.sub("id", text)
    return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())


def _tokens(text: str) -> list[re.Match[str]]:
    return [each for each in _TOKEN.finditer(text) if each.lastgroup != "space" and each[0] not in "─-"]


def _differ(old: re.Match[str], new: re.Match[str], tolerance: float) -> str:
    """Returns the kind of difference between two tokens; '' if it does not count."""
    if old[0] == new[0]:
        return ""
    kind = old.lastgroup
    if kind != new.lastgroup:
        return "number" if {kind, new.lastgroup} == {"number", "duration"} else "text"
    if kind in {"address", "uuid", "path"}:
        return ""
    if kind == "number":
        return "" if same_number(old[0], new[0], tolerance) else "number"
    if kind == "duration" or (kind == "clock" and old[0].startswith("0:") and new[0].startswith("0:")):
        return "duration"
    return "moment" if kind in {"moment", "clock"} and is_present(new[0]) else "text"


def same_number(old: str, new: str, tolerance: float = TOLERANCE) -> bool:
    """True if two numbers are the same, as far as they are written out.

    Example:
        >>> same_number("0.333333", "0.333334"), same_number("3", "4")
        (True, False)
    """
    plain = [each.replace(",", "").replace("_", "") for each in (old, new)]
    try:
        first, second = map(float, plain)
    except ValueError:
        return False
    if first == second:
        return True
    if not any(sign in each for each in plain for sign in ".eE"):
        return False
    unit = min((_unit(each) for each in plain if _unit(each)), default=0.0)  # the unit of the number with more decimals
    return abs(first - second) <= max(tolerance * max(abs(first), abs(second)), unit * 1.000001)


def _unit(number: str) -> float:
    """Returns one unit of the number's last digit if it has at least five digits, else 0."""
    mantissa, _, exponent = number.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    digits = len(mantissa.lstrip("+-0.").replace(".", ""))
    return float(f"1e{int(exponent or 0) - decimals}") if digits >= 5 else 0.0  # noqa: PLR2004 - as NumPy prints


def is_present(text: str) -> bool:
    """True if a date or time of day is about now, in any time zone."""
    now = datetime.now()  # noqa: DTZ005 - as the notebook printed it
    try:
        if "-" not in text[:5]:
            moment = datetime.strptime(text.replace(",", ".").partition(".")[0], "%H:%M:%S")  # noqa: DTZ007 - as above
            seconds = abs((moment.minute * 60 + moment.second) - (now.minute * 60 + now.second))
            return min(seconds, 3600 - seconds) < 900  # noqa: PLR2004 - a quarter of an hour
        moment = datetime.fromisoformat(text.replace("T", " ").rstrip("Z")[:19])
    except ValueError:
        return False
    return abs(moment.replace(tzinfo=None) - now) < NEAR


def _is_alone(token: re.Match[str], line: str) -> bool:
    """True if a line contains nothing but a date or time."""
    rest = line.replace(token[0], "")
    return not re.search(
        r"[^\W\d_]{2}", _TOKEN.sub(lambda each: "" if each.lastgroup in {"moment", "clock"} else each[0], rest)
    )


def _line_at(text: str, place: int) -> str:
    begin = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    return text[begin : end if end >= 0 else len(text)].strip()[:300]


def _first_lines(before: list[str], after: list[str]) -> tuple[str, str]:
    for old, new in zip(before, after, strict=False):
        if compare_texts(old, new) is not None:
            return old.strip()[:300], new.strip()[:300]
    shorter = min(len(before), len(after))
    return "\n".join(before[shorter:][:3])[:300], "\n".join(after[shorter:][:3])[:300]


_COMPARED = frozenset(
    {".csv", ".tsv", ".json", ".txt", ".md", ".html", ".tex", ".yaml", ".yml", ".xml", ".jsonl", ".py"}
)


def written_files(run: VerifiedRun, cells: Mapping[int, Cell]) -> list[Finding]:
    """Returns a finding for each file that now gets other contents; none unless the run finished."""
    if run.why != "done":
        return []
    findings = []
    for file in run.files:
        path = Path(file.path)
        is_compared = path.suffix in _COMPARED and not path.is_absolute() and not path.parts[0].startswith(".")
        if file.status != "changed" or not is_compared:
            continue
        cell, appends = _writer(run, path, cells)
        lines = _lines(file)
        if cell is None or appends or lines is None:
            continue
        difference = compare_texts(*lines)
        if difference is None or difference.is_mild:
            continue
        findings.append(
            cell.finding(
                "file-differs",
                f"writes {path}, but with different content than the existing file.",
                evidence=f"there: {difference.stored}\nnow:   {difference.now}",
                advice=f"Run the notebook again, or find out what else changes {path}.",
            )
        )
    return findings


def _writer(run: VerifiedRun, path: Path, cells: Mapping[int, Cell]) -> tuple[Cell | None, bool]:
    """Returns the last cell that wrote the file, and whether it appended to the file or read it before."""
    writer: Cell | None = None
    appends = False
    for index, result in run.cells.items():
        for name in result.trace.get("written", ()):
            if name.removeprefix("a:").endswith(f"/{path}"):
                writer, appends = cells.get(index), appends or name.startswith("a:")
        if writer is None and any(name.endswith(f"/{path}") for name in result.trace.get("read", ())):
            appends = True  # the cell changes its own input
    return writer, appends


def _lines(file: RehearsalFile) -> tuple[str, str] | None:
    """Returns the removed and the added lines."""
    if not file.diff or file.diff.startswith("Binary"):
        return None
    lines = [each for each in file.diff.splitlines() if not each.startswith(("---", "+++", "\\"))]
    return tuple("\n".join(each[1:] for each in lines if each.startswith(sign)) for sign in "-+")  # type: ignore[return-value]
