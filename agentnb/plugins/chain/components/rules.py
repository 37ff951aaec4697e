"""`rules`: gives the agent the workspace's AGENTS.md, for agents that do not read it themselves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from agentnb.acp.fields import mapping
from agentnb.plugins.chain.components.component import Component

FILE = "AGENTS.md"
LONGEST = 32 * 1024
"""How much of the file the agent gets, in characters."""
READERS = ("codex", "opencode", "copilot", "cursor", "goose", "kimi", "auggie")
"""Agents that read the file themselves: words in the name that they give."""


class RulesComponent(Component):
    """Puts AGENTS.md before the first prompt of each session."""

    name = "rules"
    about = "Gives the agent the workspace's AGENTS.md if the agent does not read it itself."

    def __init__(self) -> None:
        self._reads_itself = False
        self._folders: dict[str, Path] = {}

    async def on_initialize(self, answer: dict[str, Any]) -> dict[str, Any]:
        """See :meth:`Component.on_initialize`."""
        info = mapping(answer.get("agentInfo"))
        name = f"{info.get('name')} {info.get('title')}".lower()
        self._reads_itself = any(word in name for word in READERS)
        return answer

    async def on_opened(self, session_id: str, params: dict[str, Any]) -> None:
        """See :meth:`Component.on_opened`."""
        cwd = params.get("cwd")
        if isinstance(cwd, str) and not self._reads_itself:
            self._folders[session_id] = Path(cwd)

    async def on_prompt(self, session_id: str, prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """See :meth:`Component.on_prompt`."""
        folder = self._folders.pop(session_id, None)
        rules = read_rules(folder) if folder is not None else ""
        if not rules:
            return prompt
        return [{"type": "text", "text": f"The rules of this workspace, from its {FILE}:\n\n{rules}"}, *prompt]

    def tokens(self, folder: Path) -> tuple[int, int]:
        """See :meth:`Component.tokens`."""
        return 0, len(read_rules(folder)) // 4


def read_rules(folder: Path) -> str:
    """The text of the folder's AGENTS.md, cut where it is too long; empty where there is none."""
    try:
        path = (folder / FILE).resolve(strict=True)
        if not path.is_relative_to(folder.resolve()) or not path.is_file():
            return ""
        with path.open("rb") as file:
            text = file.read(4 * LONGEST + 1).decode("utf-8", "replace").strip()
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return ""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n\n(The file goes on; it has {size} bytes.)"
