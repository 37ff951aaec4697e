"""The user is asked once for the skills of an imported package: trust holds for the shown text."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentnb import UsageError
from tests.unit.plugins.knowledge.conftest import TEXT, Offers, Site

Install = Callable[..., Path]


@pytest.fixture
def imported(site: Site) -> Iterator[Install]:
    """Returns a function that installs and imports a package; it returns the folder of the package's last skill."""
    packages: list[str] = []

    def install(package: str, *skills: str) -> Path:
        folder = site.install(package, *skills)
        (site.folder / package / "__init__.py").touch()
        importlib.import_module(package)
        packages.append(package)
        return folder

    yield install
    for each in packages:
        del sys.modules[each]


def test_choice_fails_after_any_file_of_a_skill_has_changed(imported: Install, offers: Offers) -> None:
    """Agents can read each file, shown or not; trust or refusal holds for what was shown."""
    folder = imported("frames_files", "fit")
    for text in ("One.", "Two."):
        (shown,) = offers.open().values()
        (folder / "more.md").write_text(text)
        for action in ("trust", "refuse"):
            with pytest.raises(UsageError, match="changed since they were shown"):
                offers.decide(action, "frames-files", shown)
    offers.decide("trust", "frames-files")
    assert offers.open() == {}


def test_refusal_applies_to_one_version_and_text_of_a_skill(imported: Install, offers: Offers, site: Site) -> None:
    """Another version or text is offered again; a return to the refused one is not."""
    file = imported("frames_later", "fit") / "SKILL.md"
    text = file.read_text()
    offers.decide("refuse", "frames-later")
    file.write_text(TEXT.format(name="fit", description="Other."))
    assert [*offers.open()] == ["frames-later 1.0"]
    file.write_text(text)
    assert offers.open() == {}
    (site.folder / "frames_later-1.0.dist-info").rename(site.folder / "frames_later-1.1.dist-info")
    assert [*offers.open()] == ["frames-later 1.1"]


def test_workspace_and_broken_skills_are_not_offered(imported: Install, offers: Offers, site: Site) -> None:
    """Workspaces are trusted elsewhere; broken skills need no trust."""
    (imported("frames_broken", "fit") / "SKILL.md").write_text("no front matter")
    folder = site.workspace / ".agents/skills/own"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(TEXT.format(name="own", description="Own."))
    assert offers.open() == {}
    with pytest.raises(UsageError, match="if you trust the workspace"):
        site.trust("workspace")


def test_package_with_a_broken_skill_is_offered_only_once(imported: Install, offers: Offers, site: Site) -> None:
    """Broken skills and a duplicate name do not ask again after each answer."""
    folder = imported("frames_partly", "fit", "broken")
    (folder / "SKILL.md").write_text("no front matter")
    twice = site.folder / "frames_partly/skills/fit"
    twice.mkdir(parents=True)
    (twice / "SKILL.md").write_text(TEXT.format(name="fit", description="Twice."))
    record = site.folder / "frames_partly-1.0.dist-info/RECORD"
    record.write_text(record.read_text() + "\nframes_partly/skills/fit/SKILL.md,,")
    assert [*offers.open()] == ["frames-partly 1.0"]
    offers.decide("refuse", "frames-partly")
    assert offers.open() == {}
    site.trust("frames-partly")
    assert (offers.open(), len(site.offered())) == ({}, 1)


def test_no_package_is_offered_when_the_trust_file_is_damaged(
    imported: Install, offers: Offers, site: Site, tmp_path: Path
) -> None:
    """No answer could be saved; the list of skills names the fault."""
    imported("frames_damaged", "fit")
    (tmp_path / "config").mkdir()
    (tmp_path / "config/skills.json").write_text("[")
    assert offers.open() == {}
    assert "no skill is trusted" in site.problem()
