"""The lines that the command line prints about agents: their names, their state, and what to type."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from agentnb.agent.catalog import run_by
from agentnb.agent.process import missing_installer
from agentnb.api import columns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.acp.doctor import Checkup
    from agentnb.agent.catalog import AgentSpec


MODELS = 3
"""How many of an agent's models are named."""


def row(spec: AgentSpec, path: Any) -> dict[str, Any]:
    """Returns what is known of one agent, as JSON; *path* is where its program is, None where it is not."""
    return {
        "name": spec.name,
        "title": spec.title,
        "installed": path is not None,
        "path": None if path is None else str(path),
        "command": [spec.url] if spec.url else list(spec.command),
        "install": spec.install,
        "requires": spec.requires,
        "login": spec.login,
        "runner": None if spec.runner is None else list(spec.runner.words),
        "runs": run_by(spec) is not None,
        "needs": None if path is not None else missing_installer(spec),
    }


def listing(rows: list[dict[str, Any]]) -> str:
    """The agents that are known, a line each."""
    if not rows:
        return "No agents found."
    lines = [("NAME", "AGENT", "", "WHAT TO TYPE")]
    lines += [(row["name"], row["title"], "installed" if row["installed"] else "missing", _next(row)) for row in rows]
    return "\n".join(columns.lines(lines))


def checkups(examined: Iterable[Checkup]) -> str:
    """Returns what was found when agents were started for a moment, a line each."""
    checked = list(examined)
    rows = [(each.name, each.state, each.version or "-", _prescription(each)) for each in checked]
    head, *lines = columns.lines([("NAME", "STATE", "VERSION", "WHAT TO DO"), *rows])
    whole = [head]
    for each, line in zip(checked, lines, strict=True):
        whole += [line, *(f"    {more}" for more in each.message.splitlines()[1:])]
    return "\n".join(whole)


def facts(checkup: Checkup) -> str:
    """Returns how long an agent took to start, and its models, in words; empty where that is not known.

    Example:
        >>> from agentnb.acp.doctor import Checkup
        >>> facts(Checkup(name="a", title="A", state="ready", seconds=1.4, models=("One", "Two")))
        'Starts in 1.4 s. Models: One, Two.'
    """
    words = [] if checkup.seconds is None else [f"Starts in {checkup.seconds:.1f} s."]
    if checkup.models:
        more = f" and {len(checkup.models) - MODELS} more" if len(checkup.models) > MODELS else ""
        words.append(f"Models: {', '.join(checkup.models[:MODELS])}{more}.")
    return " ".join(words)


def _prescription(checkup: Checkup) -> str:
    if checkup.state == "ready" and checkup.kind == "agent":
        hint = " ".join(filter(None, [checkup.message.removeprefix("It answers.").strip(), facts(checkup)]))
        return f"%agent -a {checkup.name}" + (f"   ({hint})" if hint else "")
    first_line = checkup.message.splitlines()[0] if checkup.message else ""
    return f"{checkup.todo}   ({first_line})" if checkup.todo else first_line


def _next(row: dict[str, Any]) -> str:
    if row["installed"]:
        return f"%agent -a {row['name']}"
    if row["runs"]:
        return f"%agent -a {row['name']}   ({row['runner'][0]} downloads it at the first start)"
    if row["needs"] and row["install"]:
        return f"{row['install']}   ({row['needs']})"
    if row["install"] and row["requires"]:
        return f"{row['install']}   (needs {row['requires']})"
    return row["install"] or row["needs"] or f"put `{shlex.join(row['command'][:1])}` on your PATH"
