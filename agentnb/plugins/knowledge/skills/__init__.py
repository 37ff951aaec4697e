"""Skills from installed packages and from the workspace: found, shown, trusted by the user, read by agents.

The format is that of Agent Skills (https://agentskills.io/specification): a folder with a file ``SKILL.md``, whose
front matter has a name and a description. Finding a skill runs and imports nothing; an agent gets it as text.
"""
