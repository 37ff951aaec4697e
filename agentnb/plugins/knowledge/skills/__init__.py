"""Skills that come with installed packages and with the workspace: found, shown, trusted by the user, read by agents.

The format is that of Agent Skills (https://agentskills.io/specification): a folder with a file ``SKILL.md``, whose
front matter has a name and a description. Nothing is run or imported to find one; to an agent it is text.
"""
