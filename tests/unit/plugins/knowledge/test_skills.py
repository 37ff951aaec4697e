"""Skills of installed packages: found without an import, off until trusted, refused if hostile."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.skills.library import SkillLibrary
from agentnb.plugins.knowledge.skills.offers import SkillTrust
from agentnb.plugins.knowledge.skills.scan import SkillScan
from agentnb.plugins.knowledge.skills.skill_files import read_front_matter

TEXT = "---\nname: {name}\ndescription: {description}\n---\nUse it well.\n"


class Site:
    """A folder of installed packages, and the user's choices."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "site"
        self.workspace = folder / "work"
        self.workspace.mkdir()
        self.trusted_folders: set[Path] = set()
        self.trust = SkillTrust(folder / "skills.json")
        self.scan = SkillScan([str(self.folder)])

    def install(
        self, package: str, *skills: str, version: str = "1.0", under: str = ".agents/skills", text: str = TEXT
    ) -> Path:
        """Installs a package with skills; returns the folder of the last one."""
        folder = self.folder / package
        info = self.folder / f"{package}-{version}.dist-info"
        info.mkdir(parents=True)
        record = [f"{package}/__init__.py,,"]
        for skill in skills:
            folder = self.folder / package / under / skill
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_text(text.format(name=skill, description=f"About {skill}."))
            record.append(f"{package}/{under}/{skill}/SKILL.md,,")
        (info / "RECORD").write_text("\n".join(record))
        return folder

    @property
    def library(self) -> SkillLibrary:
        trusts = self.trusted_folders.__contains__
        return SkillLibrary(self.workspace, scan=self.scan, trust=self.trust, trusts_workspace=trusts)

    def offered(self) -> list[str]:
        return [each.id for each in self.library.offered()]

    def problem(self) -> str:
        (skill,) = self.library.skills()
        return skill.problem


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_skill_is_off_until_its_package_is_trusted(site: Site) -> None:
    """Agents then get its name and description, and can read it."""
    site.install("frames", "lazy-frames")
    assert [(each.id, each.description, each.trusted) for each in site.library.skills()] == [
        ("frames/lazy-frames", "About lazy-frames.", False)
    ]
    assert site.offered() == []
    with pytest.raises(UsageError, match="no skill 'lazy-frames' for agents"):
        site.library.read("lazy-frames")
    site.library.trust("Frames")
    assert site.offered() == ["frames/lazy-frames"]
    assert site.library.read("lazy-frames").endswith("Use it well.\n")
    assert [(each.package, each.version) for each in site.trust.trusted()] == [("frames", "1.0")]
    assert (site.library.revoke("frames"), site.library.revoke("frames"), site.offered()) == (True, False, [])


def test_trust_applies_to_one_version_and_text_of_a_skill(site: Site) -> None:
    folder = site.install("frames", "fit")
    site.library.trust("frames")
    (folder / "SKILL.md").write_text(TEXT.format(name="fit", description="Other."))
    assert site.offered() == []
    assert "changed since you trusted" in site.problem()
    site.library.trust("frames")
    assert site.offered() == ["frames/fit"]
    info = site.folder / "frames-1.0.dist-info"
    info.rename(site.folder / "frames-1.1.dist-info")
    assert site.offered() == []


def test_skills_with_the_same_name_need_the_package_name(site: Site) -> None:
    """The package's name tells them apart; the bare name's error lists both."""
    site.install("one", "fit")
    site.install("two", "fit", under="skills")
    site.library.trust("one")
    site.library.trust("two")
    assert site.offered() == ["one/fit", "two/fit"]
    assert "Use it well" in site.library.read("two/fit")
    with pytest.raises(UsageError, match="2 skills are called 'fit'"):
        site.library.read("fit")


def test_skills_are_found_in_every_kind_of_installation(site: Site, tmp_path: Path) -> None:
    """The search imports nothing."""
    site.install("space", "deep", under="inner/skills")
    entry = site.install("pointing")
    entry.joinpath("guides", "guide").mkdir(parents=True)
    entry.joinpath("guides", "guide", "SKILL.md").write_text(TEXT.format(name="guide", description="Guides."))
    (site.folder / "pointing-1.0.dist-info/entry_points.txt").write_text("[agentnb.skills]\nx = pointing.guides\n")
    source = tmp_path / "source dir/src/linked/.agents/skills/edit"
    source.mkdir(parents=True)
    (source / "SKILL.md").write_text(TEXT.format(name="edit", description="Edits."))
    site.install("linked")
    direct_url = {"url": (tmp_path / "source dir").as_uri(), "dir_info": {"editable": True}}
    (site.folder / "linked-1.0.dist-info/direct_url.json").write_text(json.dumps(direct_url))
    loaded = {*sys.modules}
    assert [each.id for each in site.library.skills()] == ["linked/edit", "pointing/guide", "space/deep"]
    assert {"space", "pointing", "linked"}.isdisjoint({*sys.modules} - loaded)


def test_workspace_skills_are_offered_in_a_trusted_workspace(site: Site) -> None:
    """They are the user's, or those of a repository that the user opened."""
    folder = site.workspace / "project/.agents/skills/own"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(TEXT.format(name="own", description="Own."))
    assert ([each.id for each in site.library.skills()], site.offered()) == (["workspace/own"], [])
    site.trusted_folders.add(site.workspace)
    assert site.offered() == ["workspace/own"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no front matter", "does not start with"),
        ("---\nname: fit", "does not end"),
        ("---\nname: other\ndescription: x\n---\n", "folder is called 'fit'"),
        ("---\nname: Fit\ndescription: x\n---\n", "lowercase letters"),
        ("---\nname: fit\n---\n", "1 to 1,024 characters"),
        ("---\nname: fit\ndescription: " + "x" * 2_000 + "\n---\n", "1 to 1,024 characters"),
        ("---\na: &a [x, x]\nb: &b [*a, *a]\nname: fit\ndescription: x\n---\n", "not plain text"),
        ("---\nname: fit\ndescription: !!python/object:os.system x\n---\n", "not plain text"),
        ("---\nname: fit\nname: fit\ndescription: x\n---\n", "twice"),
        ("x" * 10_000_000, "more than 500,000 bytes"),
        ("---\nname: fit\ndescription: \ud800\n---\n", "not text in UTF-8"),
    ],
)
def test_broken_or_hostile_skill_is_rejected_with_the_reason(site: Site, text: str, why: str) -> None:
    """The user sees it in the list, but no agent gets it, even if its package is trusted."""
    folder = site.install("frames", "fit")
    (folder / "SKILL.md").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert why in site.problem()
    site.library.trust("frames")
    assert site.offered() == []


def test_skill_outside_its_package_is_ignored(site: Site, tmp_path: Path) -> None:
    """A package's list of files is untrusted, too."""
    site.install("frames")
    folder = tmp_path / "skills/out"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(TEXT.format(name="out", description="Out."))
    record = f"frames/../../skills/out/SKILL.md,,\n{folder}/SKILL.md,,\n../skills/out/SKILL.md,,\n"
    (site.folder / "frames-1.0.dist-info/RECORD").write_text(record)
    assert site.library.skills() == []


def test_skill_installed_after_a_scan_is_found(site: Site) -> None:
    """The scan keeps its results and reads only new packages."""
    site.install("one", "fit")
    assert [each.id for each in site.library.skills()] == ["one/fit"]
    site.install("two", "go")
    assert [each.id for each in site.library.skills()] == ["one/fit", "two/go"]


def test_damaged_trust_file_trusts_no_skill(site: Site) -> None:
    """A message says so."""
    site.install("frames", "fit")
    site.trust.path.write_text('[{"package": "frames"}]')
    assert site.offered() == []
    assert "no skill is trusted" in site.problem()


@given(st.lists(st.sampled_from([*"ab:-|>'\"&*!{[\n #\\", "---\n", "name: "])).map("".join))
def test_any_front_matter_is_read_or_rejected(text: str) -> None:
    """No other exception is raised, and values are text."""
    with contextlib.suppress(ValueError):
        front_matter = read_front_matter(f"---\n{text}\n---\nBody")
        assert all(isinstance(value, str | dict) for value in front_matter.values())
