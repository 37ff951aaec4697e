"""Predicts the policy's answer to something that an agent might want, without asking or running anything."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.agent.catalog import TOUR
from agentnb.errors import UsageError
from agentnb.policy.engine import NO_RULE, judge
from agentnb.policy.keys import TOOLS
from agentnb.policy.request import PolicyRequest, Situation

if TYPE_CHECKING:
    from agentnb.policy.keys import Mode
    from agentnb.policy.request import Verdict
    from agentnb.policy.store import PolicyFiles

_WORDS = {"allow": "It would be allowed", "ask": "You'd be asked", "deny": "It would be denied"}
_OUTCOME_WORDS = {"allow": "allowed", "ask": "asks", "deny": "denied"}
"""The word that begins a reason, left out because the sentence already contains it."""


def what_if(
    files: PolicyFiles,
    workspace: Path,
    *,
    command: str = "",
    path: str = "",
    tool: str = "edit",
    agent: str = "",
    mode: Mode = "ask",
) -> Verdict:
    """Returns the policy's verdict on what an agent might want to do in a new conversation."""
    if not command.strip() and not path.strip():
        raise UsageError("Neither a command nor a file was given.", hint='For example command="git push".')
    if tool not in TOOLS:
        raise UsageError(f"There is no tool {tool!r:.100}.", hint=f"It is one of {', '.join(TOOLS)}.")
    if "\0" in path + command:
        raise UsageError("A name cannot contain NUL.")
    if command.strip():
        request = PolicyRequest(kind="terminal", title=command, command=command, path=str(workspace))
    else:
        file = os.path.realpath(workspace / Path(path).expanduser())
        request = PolicyRequest(kind="permission", title=f"{tool} {path}", asked=tool, paths=(file,))
    trusted = files.trusts(workspace)
    user, project = files.user, files.project(workspace)
    return judge(
        request, Situation(agent=agent or TOUR, mode=mode, root=workspace, user=user, project=project, trusted=trusted)
    )


def in_words(verdict: Verdict) -> str:
    """Describes what would happen, why, and how risky it is, in sentences."""
    word, reason = _OUTCOME_WORDS[verdict.outcome], verdict.reason
    why = reason.removeprefix(word) if reason.startswith((f"{word}: ", f"{word} by ")) else f": {reason}"
    if reason in ("", NO_RULE):
        why = f": {_as_clause(verdict.risk)}" if verdict.risk else ""
        return f"{_WORDS[verdict.outcome]}{why or '.'}"
    return " ".join(filter(None, [f"{_WORDS[verdict.outcome]}{why}.", verdict.risk]))


def _as_clause(sentences: str) -> str:
    """Returns *sentences* on what a command does, in a form that can follow a colon."""
    first = sentences.partition(" ")[0]
    lower = f"{sentences[0].lower()}{sentences[1:]}"
    return f"it {lower}" if first.endswith("s") and first.isalpha() else lower
