"""Private nouns of earlier versions stand nowhere: the field's words do, and the glossary says them."""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

NOUNS = {
    "beneath": "open_without_links",
    "bench": "code runner",
    "desk": "job queue",
    "door": "policy request",
    "ear": "listener",
    "gate": "socket server",
    "hearing": "agent events",
    "keeper": "log retention",
    "kit": "tools",
    "lane": "queue",
    "lend": "give access to",
    "lent": "given access to",
    "likeness": "similar rule",
    "shelf": "store",
    "stage": "display",
    "tape": "recording",
    "wall": "workspace boundary",
}
"""A noun that only its author understands, and what to say instead. Nobody says it, in code or in prose."""

IN_NAMES = {"frame": "container", "hear": "receive", "life": "lifecycle", "reach": "target"}
"""Words of everyday English that say too little in a name."""

FORMS = {f"{noun}{ending}": noun for noun in NOUNS for ending in ("", "s")}
FORMS |= {"lending": "lend", "lends": "lend", "tapes": "tape", "shelves": "shelf", "staged": "stage"}
NAMED = {f"{noun}{ending}": noun for noun in IN_NAMES for ending in ("", "s", "es", "ed", "ing")} | {"heard": "hear"}

MEANT = [
    r"\bgit\b.*\bstage[sd]?\b",  # git's index
    r"\bmake\b.*\bbench\b|\bbench(?:: | pictures)|bench\.cassette",  # benchmarks, and the target that runs them
    r"\bback[ -]?doors?\b",  # of a program that runs another
    r"\bwall[ -](?:time|clock)\b",
    r"\bffn_gate\b",  # a tensor of language models
]
"""Lines in which the word has a meaning of the field's."""

OWN_WORDS = {
    "agentnb/policy/audit.py",  # keeps `Record.door` until 0.3
    "docs/decisions/0270-tests-of-0.1.md",  # says what the tests were called
    "docs/how-to/upgrade.md",  # says what the old names were
    "tests/unit/policy/test_audit.py",
    "agentnb/policy/commands/programs.toml",  # programs that have such names
    "agentnb/plugins/eliza/script.toml",  # the therapist speaks of everyday life
    "tests/unit/test_words.py",
    "CHANGELOG.md",  # says what the old names were
}
SOURCES = ("*.py", "*.ts", "*.tsx", "*.mjs", "*.css", "*.md", "*.toml", "*.yml", "Makefile", "*.ipynb")


@lru_cache(1)
def sources() -> tuple[str, ...]:
    """Every text of the project that people write."""
    listed = subprocess.run(["git", "ls-files", *SOURCES], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(path for path in listed.split("\n") if path and path not in OWN_WORDS and (ROOT / path).is_file())


def words(text: str) -> list[str]:
    """The words of a text or a name: ``openDoor`` and ``open_door`` have two."""
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)


def private(line: str) -> list[str]:
    """The private nouns in a line."""
    found = [word for word in words(line) if word.lower() in FORMS]
    return [] if any(re.search(meant, line, re.IGNORECASE) for meant in MEANT if found) else found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("class LiveStage(Stage):", ["Stage", "Stage"]),
        ("DESK.waited_at", ["DESK"]),
        ("a firewall, a desktop, years and lanes", ["lanes"]),
        ("`git add` stages a file", []),
        ("`make test-peers bench`", []),
    ],
)
def test_the_reader_of_words_when_a_name_is_joined_sees_its_parts(line: str, expected: list[str]) -> None:
    """Whole words only, in camelCase and snake_case."""
    assert private(line) == expected


def test_sources_when_they_are_read_have_no_private_noun() -> None:
    """Names, docstrings, comments, messages, tests and documentation."""
    found = [
        f"{path}:{number}: {word!r}: say {NOUNS[FORMS[word.lower()]]!r}"
        for path in sources()
        for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines(), 1)
        for word in private(line)
    ]
    assert found == []


def test_file_names_when_they_are_read_have_no_private_noun() -> None:
    """A file is named for its job."""
    found = [path for path in sources() if {each.lower() for each in words(path)} & (FORMS.keys() | NAMED.keys())]
    assert found == []
