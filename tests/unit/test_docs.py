"""The pages' links work, and the pages name only existing things."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
TARGET = re.compile(r"`make ((?:[a-z0-9-]+ ?)+)")
DEFINED = re.compile(r"^([a-z0-9-]+):", re.MULTILINE)
CONTENTS = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_WORDS = 45_000
MOST_WORDS_OF_A_GUIDE = 900
ANCHOR = re.compile(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def contents(page: Path) -> list[Path]:
    """Returns the pages in the lists of contents of *page*, recursively."""
    pages: list[Path] = []
    for names in CONTENTS.findall(page.read_text(encoding="utf-8")):
        for name in (line for line in names.split() if not line.startswith(":")):
            below = (page.parent / f"{name}.md").resolve()
            pages += [below, *contents(below)] if below.exists() else []
    return pages


def words(page: Path) -> int:
    """Returns the number of words with a letter or digit, without the lists of contents."""
    return len(re.findall(r"\S*\w\S*", CONTENTS.sub("", page.read_text(encoding="utf-8"))))


SITE = [ROOT / "docs/index.md", *contents(ROOT / "docs/index.md")]
GUIDES = [page for page in SITE if page.parent == ROOT / "docs/how-to"]


def test_every_link_points_to_a_file() -> None:
    """Relative links, from their page."""
    dead = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in PAGES
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert dead == []


def anchors(page: Path) -> set[str]:
    """Returns the link names of *page*'s headings, on the site and on code hosts."""
    headings = HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in plain}


def test_every_link_to_a_heading_points_to_one() -> None:
    """A link to a renamed heading leads to the top of the page."""
    dead = [
        f"{page.relative_to(ROOT)}: {link}#{anchor}"
        for page in PAGES
        for link, anchor in ANCHOR.findall(page.read_text(encoding="utf-8"))
        if anchor not in anchors((page.parent / link) if link else page)
    ]
    assert dead == []


def test_every_page_is_linked() -> None:
    """Readers cannot find a page without links to it."""
    linked = {
        (page.parent / link).resolve() for page in PAGES for link in LINK.findall(page.read_text(encoding="utf-8"))
    }
    assert [page for page in PAGES if page.parent != ROOT and page.resolve() not in linked | set(SITE)] == []


def test_every_documented_make_target_exists() -> None:
    defined = set(DEFINED.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    named = {
        word for page in PAGES for words in TARGET.findall(page.read_text(encoding="utf-8")) for word in words.split()
    }
    assert named - defined == set()


def test_decisions_are_listed_once_in_order() -> None:
    """The list has every file."""
    folder = ROOT / "docs/decisions"
    listed = re.findall(
        r"^- \[(\d+)\..*\((\d+)-.*\.md\)$", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    numbers = [int(number) for number, _ in listed]
    assert numbers == sorted(set(numbers)) == [int(file) for _, file in listed]
    assert len(numbers) == len([*folder.glob("0*.md")])


def test_user_pages_stay_within_their_word_limits() -> None:
    """The limits are for all pages together and each guide. The changelog has another limit."""
    counted = {str(page.relative_to(ROOT)): words(page) for page in SITE if page.name != "CHANGELOG.md"}
    assert sum(counted.values()) <= MOST_WORDS, counted
    assert {page.name: words(page) for page in GUIDES if words(page) > MOST_WORDS_OF_A_GUIDE} == {}
    assert len(GUIDES) > 40


def test_pages_not_on_the_site_are_linked_for_contributors() -> None:
    """A page in no list of contents is not in the site's search; `docs/contributing.md` links it."""
    listed = [ROOT / "docs/contributing.md", *(ROOT / "docs/decisions").glob("*.md")]
    listed += [(ROOT / "docs" / link).resolve() for link in LINK.findall(listed[0].read_text(encoding="utf-8"))]
    assert set((ROOT / "docs").rglob("*.md")) - set(SITE) - set(listed) == set()
    assert set(SITE) & set((ROOT / "docs/decisions").iterdir()) == set()


def test_changelog_releases_are_short_without_duplicates() -> None:
    """Each release has at most 60 lines."""
    releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert [release.splitlines()[0] for release in releases if len(release.strip().splitlines()) > 60] == []
    entries = re.findall(r"^- .+$", "".join(releases), re.MULTILINE)
    assert [entry for entry in set(entries) if entries.count(entry) > 1] == []


def test_data_flow_names_every_package() -> None:
    """Otherwise a package could only be found by reading the code."""
    page = (ROOT / "docs/explanation/data-flow.md").read_text(encoding="utf-8")
    folder = ROOT / "agentnb"
    packages = {path.parent.relative_to(folder).as_posix() for path in folder.rglob("__init__.py")} - {"."}
    assert [name for name in sorted(packages) if f"`{name}`" not in page] == []
