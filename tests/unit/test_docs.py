"""The pages: their links lead somewhere, and they name nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
TARGET = re.compile(r"`make ((?:[a-z0-9-]+ ?)+)")
DEFINED = re.compile(r"^([a-z0-9-]+):", re.MULTILINE)


def test_every_link_leads_to_a_file() -> None:
    """Relative links, from the page that has them."""
    dead = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in PAGES
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert dead == []


def test_every_page_is_reached_from_the_index() -> None:
    """A page that nothing links to is not found by anybody."""
    linked = {
        (page.parent / link).resolve() for page in PAGES for link in LINK.findall(page.read_text(encoding="utf-8"))
    }
    assert [page for page in PAGES if page.parent != ROOT and page.resolve() not in linked] == []


def test_every_make_target_that_is_named_exists() -> None:
    """What a page tells to type can be typed."""
    defined = set(DEFINED.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    named = {
        word for page in PAGES for words in TARGET.findall(page.read_text(encoding="utf-8")) for word in words.split()
    }
    assert named - defined == set()


def test_decisions_are_listed_by_number_each_once() -> None:
    """And each file is in the list."""
    folder = ROOT / "docs/decisions"
    listed = re.findall(
        r"^- \[(\d+)\..*\((\d+)-.*\.md\)$", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    numbers = [int(number) for number, _ in listed]
    assert numbers == sorted(set(numbers)) == [int(file) for _, file in listed]
    assert len(numbers) == len([*folder.glob("0*.md")])
