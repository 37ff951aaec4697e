"""``%agents policy``: the rules in force with their source, and the last decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentnb.api.settings import Policy
from agentnb.ipython.manage import PolicyTable
from agentnb.policy.audit import Record
from agentnb.policy.rules import AccessRule, InForce


def policy(**fields: Any) -> Policy:
    held: dict[str, Any] = {
        "rules": (),
        "bypass": (),
        "sensitive": (),
        "headless": "deny",
        "folder": Path("/w"),
        "trusted": False,
        "trusted_folders": (),
        "mode": None,
        "warnings": (),
        "records": (),
        "user_file": Path("/c/policy.toml"),
        "project_file": Path("/w/.agentnb/policy.toml"),
        "log_file": Path("/d/audit.jsonl"),
    }
    return Policy(**{**held, **fields})


RECORD = Record(
    time="2026-01-02T03:04:05.678+00:00",
    agent="claude",
    session="claude:/1",
    tab="t",
    turn="1",
    kind="terminal",
    tool="execute",
    what="ls | wc <b>",
    outcome="allow",
    by="user",
    scope="session",
    severity="medium",
)


def test_table_without_rules_shows_the_defaults() -> None:
    """The defaults, the floors, the paths of the files."""
    text = repr(PolicyTable(policy()))
    assert all(words in text for words in ("/c/policy.toml", "/d/audit.jsonl", "Always asks", "no decisions yet"))


def test_table_shows_every_rule_with_its_source() -> None:
    """The user's, a card's, the project's; also patterns and bypasses."""
    rules = (
        InForce(AccessRule(action="allow", command=("ls *",)), "user", "policy.toml rule 1"),
        InForce(AccessRule(action="allow", tool=("edit",)), "session"),
        InForce(AccessRule(action="deny", path=("x",)), "project", ".agentnb/policy.toml rule 2"),
    )
    confine = {"a": True, "b": False, "c": "no network", "d": ("x.org", "*.y.org")}
    held = policy(
        rules=rules,
        bypass=("claude",),
        confine=confine,
        sensitive=(("**/*.csv", True),),
        mode="ask",
        warnings=("Mend it.",),
    )
    lines = [" ".join(line.split()) for line in repr(PolicyTable(held)).splitlines()]
    assert "Warning: Mend it." in lines
    assert "Doesn't need to ask: claude." in lines
    assert "Confined: a, not b, c (no network), d (x.org, *.y.org)." in lines
    assert "user allow ls * policy.toml rule 1" in lines
    assert "session allow edit answered on a card" in lines
    assert "project deny x .agentnb/policy.toml rule 2" in lines
    assert "settings sensitive **/*.csv [sensitive]" in lines


def test_decisions_table_escapes_the_text_of_agents() -> None:
    table = PolicyTable(policy(records=(RECORD,)))
    assert "2026-01-02 03:04:05  claude  execute ls | wc <b>  medium    allow (session)  user" in repr(table)
    markdown = table._repr_markdown_()
    assert ("<b>" in markdown, "\\|" in markdown, "| --- |" in markdown) == (False, True, True)


def test_table_shows_when_cell_changes_are_reviewed() -> None:
    assert "Cell changes are reviewed before they are made (cell_review)." in repr(PolicyTable(policy()))
    assert "are reviewed after they are made" in repr(PolicyTable(policy(cell_review="after")))


def test_table_shows_if_the_folder_is_trusted_and_how_to_trust() -> None:
    text = repr(PolicyTable(policy(trusted_folders=("/home/ada/work",))))
    assert "/w is not trusted" in text
    assert "`%agents trust` trusts it. (Trusted: /home/ada/work.)" in text
    assert "/w is trusted: your file's allow rules apply here." in repr(PolicyTable(policy(trusted=True)))
