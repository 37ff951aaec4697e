"""Scanning 300 installed distributions for skills, after the first time."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from agentnb.plugins.knowledge.skills.library import SkillLibrary
from agentnb.plugins.knowledge.skills.scan import SkillScan
from agentnb.plugins.knowledge.skills.trust import SkillTrust
from tests.benchmarks.row import Row

DISTRIBUTIONS = 300
WITH_SKILLS = 30
FILES = 200
LIMIT_MS = 50.0
_SKILL = "---\nname: {name}\ndescription: What it is for.\n---\nUse it.\n"


def measure() -> list[Row]:
    """The row of ``make bench``."""
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "site")
        for number in range(DISTRIBUTIONS):
            _install(site, f"package{number}", skill=number < WITH_SKILLS)
        library = SkillLibrary(scan=SkillScan([str(site)]), trust=SkillTrust(Path(folder, "skills.json")))
        assert len(library.skills()) == WITH_SKILLS
        taken = []
        for _ in range(20):
            begun = time.perf_counter()
            library.skills()
            taken.append((time.perf_counter() - begun) * 1000)
    what = f"skills of {DISTRIBUTIONS} distributions, after the first scan"
    return [Row(what=what, value=statistics.median(taken), unit="ms", at_most=LIMIT_MS)]


def _install(site: Path, name: str, *, skill: bool) -> None:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    record = [f"{name}/module{number}.py,sha256=x,1" for number in range(FILES)]
    if skill:
        place = site / name / ".agents/skills" / name
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(_SKILL.format(name=name))
        record.append(f"{name}/.agents/skills/{name}/SKILL.md,,")
    (info / "RECORD").write_text("\n".join(record))
