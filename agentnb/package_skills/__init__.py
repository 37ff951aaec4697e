"""Skills that come with installed packages and with the workspace: found, shown, trusted by the user, read by agents.

The format is that of Agent Skills (https://agentskills.io/specification): a folder with a file ``SKILL.md``, whose
front matter has a name and a description. Nothing of a skill is ever run here; to an agent it is text.
"""

from __future__ import annotations

from agentnb.package_skills.library import FoundSkill as FoundSkill
from agentnb.package_skills.library import SkillLibrary as SkillLibrary
from agentnb.package_skills.scan import SkillScan as SkillScan
from agentnb.package_skills.trust import SkillTrust as SkillTrust
