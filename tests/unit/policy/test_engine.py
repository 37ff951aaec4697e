"""The policy engine: modes, kinds of request, rules and their order, floors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.policy.decisions import Row, judge, request, rule, run, situation, write

CASES: dict[str, list[Any]] = json.loads((Path(__file__).parents[2] / "cases/tables/engine.json").read_text("utf-8"))

FLOORS = [
    (run("rm -rf build"), "critical"),
    (run("cat .env"), "sensitive"),
    (run("ls 'unclosed"), "unreadable"),
    (write("/w/.env"), "sensitive"),
    (write("/w/.git/hooks/pre-commit"), "sensitive"),
    (write("/w/package.json"), "sensitive"),
    (write("/w/.ipynb_checkpoints/a.ipynb"), "sensitive"),
    (write("/w/.bashrc"), "sensitive"),
    (request("read", "/w/id_rsa"), "sensitive"),
    (request("read", "/w/.env"), "sensitive"),
    (write("/etc/motd"), "outside"),
    (request("permission", asked="edit", paths=("/w/a.py", "/home/x/a.py")), "outside"),
    (request("permission", asked="execute", command="rm -rf build"), "critical"),
    (request("kernel", command="import shutil; shutil.rmtree('x')"), "critical"),
]


def test_additional_directory_is_part_of_the_workspace() -> None:
    """The same floors hold there as in the first directory; outside they still apply."""
    directories = ("/data", "/data/in")
    loose = situation(mode="allow", directories=directories)
    assert judge(write("/data/a.csv"), loose).outcome == "allow"
    assert judge(write("/data/.env"), loose).floor == "sensitive"
    assert judge(write("/database/a.csv"), loose).floor == "outside"
    denying = situation(rule("deny", path=("raw/**",)), mode="allow", directories=directories)
    assert judge(write("/data/raw/a.csv"), denying).outcome == "deny"
    assert judge(write("/data/in/raw/a.csv"), denying).outcome == "deny"
    assert judge(write("/data/other/raw/a.csv"), denying).outcome == "allow"


@pytest.mark.parametrize(("asked", "floor"), FLOORS)
def test_floor_holds_in_every_mode_and_under_every_rule(asked: Row, floor: str) -> None:
    """They ask if a user is attached and deny otherwise; a rule needs ``sensitive`` or an absolute path."""
    for loose in (
        {"mode": "allow"},
        {"bypass": ["claude"]},
        {"mode": "allow", "bypass": ["claude"], "headless": "allow"},
    ):
        verdict = judge(asked, situation(**loose))
        assert (verdict.outcome, verdict.floor) == ("ask", floor)
        denied = judge(asked, situation(attached=False, **loose))
        assert (denied.outcome, denied.decided_by) == ("deny", "nobody")
        assert "no front end is attached" in denied.reason
    assert judge(asked, situation(rule("allow"), rule("allow", severity="critical"))).outcome == "ask"
    assert judge(asked, situation(mode="deny")).outcome == "deny"


@pytest.mark.parametrize(
    ("fields", "matches"),
    [
        ({}, True),
        ({"agent": ("claude",)}, True),
        ({"agent": ("cl*",)}, True),
        ({"agent": ("codex", "gemini")}, False),
        ({"tool": ("edit",)}, True),
        ({"tool": ("read", "execute")}, False),
        ({"path": ("*.txt",)}, True),
        ({"path": ("**/a.txt",)}, True),
        ({"path": ("/w/**",)}, True),
        ({"path": ("src/**",)}, False),
        ({"command": ("ls",)}, False),
        ({"agent": ("claude",), "tool": ("edit",), "path": ("*.csv",)}, False),
    ],
)
def test_rule_matches_only_if_every_key_matches(fields: dict[str, Any], matches: bool) -> None:
    """Missing keys match anything."""
    assert (judge(write(), situation(rule("deny", **fields))).outcome == "deny") == matches


@pytest.mark.parametrize(("pattern", "command", "outcome"), CASES["every command of a line must be allowed"])
def test_every_command_of_a_line_must_be_allowed(pattern: str, command: str, outcome: str) -> None:
    """Nested commands too: a rule for git does not allow a command inside git's line."""
    assert judge(run(command), situation(rule("allow", command=(pattern,)))).outcome == outcome


@pytest.mark.parametrize(
    "command", ["curl x", "ls; curl x", "ls | xargs curl", "bash -c 'curl x'", "echo $(curl x)", "sudo curl x"]
)
def test_one_denied_command_denies_the_line(command: str) -> None:
    """At any place in the line."""
    rules = (rule("allow", command=("*",)), rule("deny", command=("curl *",)))
    assert judge(run(command), situation(*rules, mode="allow")).outcome == "deny"


def test_headless_denial_says_what_to_do() -> None:
    """The reason names the remedy; critical commands have another."""
    assert judge(write(), situation(attached=False)).reason == (
        'denied: no front end is attached to ask; to let the agent act, start with permissions="allow" '
        "(`%agent -n --permissions allow`)"
    )
    assert judge(run("rm -rf x"), situation(attached=False, mode="allow")).reason == (
        "denied: critical commands always ask, and no front end is attached to ask; run it yourself, or in an open "
        "notebook"
    )


STRICTNESS = ["allow", "ask", "deny"]
RULES = st.builds(
    rule,
    st.sampled_from(["allow", "ask", "deny"]),
    path=st.sampled_from([(), ("**",), ("*.txt",), ("/w/**",)]),
    command=st.sampled_from([(), ("*",), ("ls *",)]),
    severity=st.sampled_from(["low", "medium", "high", "critical"]),
    sensitive=st.booleans(),
)


@given(
    st.lists(RULES, max_size=4),
    st.lists(RULES, max_size=3),
    st.sampled_from(["ask", "allow", "deny"]),
    st.sampled_from([each for each, _ in FLOORS] + [write(), run("ls"), run("git push -f"), request("read", "/w/a")]),
)
def test_project_rules_never_loosen_a_decision(user: list[Row], project: list[Row], mode: str, asked: Row) -> None:
    without = judge(asked, situation(*user, mode=mode)).outcome
    with_project = judge(asked, situation(*user, mode=mode, project=project)).outcome
    assert STRICTNESS.index(with_project) >= STRICTNESS.index(without)


@given(st.lists(RULES, max_size=5), st.sampled_from(["ask", "allow"]))
def test_no_rules_allow_a_critical_command_without_asking(user: list[Row], mode: str) -> None:
    assert judge(run("rm -rf x"), situation(*user, mode=mode)).outcome in {"ask", "deny"}


CALL = ("delete_cell", '{"cell": "a"}')
EDIT = request("cell", "/w/fit.ipynb", call=CALL)
CELLS = rule("allow", tool=("cell",))


@pytest.mark.parametrize(
    ("asked", "held", "by"),
    [
        (EDIT, situation(mode="allow"), "mode"),
        (EDIT, situation(cell_review="after"), "review"),
        (EDIT, situation(cell_review="after", bypass=["claude"]), "bypass"),
        (EDIT, situation(attached=False, headless="allow"), "headless"),
        (EDIT, situation(CELLS), "rule"),
        (request("read", "/w/fit.csv"), situation(mode="deny"), "reading"),
    ],
)
def test_allowed_request_names_the_setting_that_allows_it(asked: Row, held: Row, by: str) -> None:
    """A permission request can then say why: the session's permissions are one setting of several."""
    verdict = judge(asked, held)
    assert (verdict.outcome, verdict.decided_by) == ("allow", by)


@pytest.mark.parametrize(
    ("asked", "held", "outcome"),
    [
        (EDIT, {}, "ask"),
        (EDIT, {"cell_review": "after"}, "allow"),
        (EDIT, {"user_review": "after"}, "allow"),
        (EDIT, {"user_review": "after", "cell_review": "first"}, "ask"),
        (EDIT, {"user_review": "after", "trusted": False}, "ask"),
        (EDIT, {"cell_review": "after", "trusted": False}, "allow"),
        (EDIT, {"cell_review": "after", "project_review": "first"}, "ask"),
        (EDIT, {"cell_review": "after", "mode": "deny"}, "deny"),
        (EDIT, {"cell_review": "after", "attached": False}, "allow"),
        (EDIT, {"cell_review": "after", "user": [{**CELLS, "action": "deny"}]}, "deny"),
        (EDIT, {"cell_review": "after", "project": [{**CELLS, "action": "ask"}]}, "ask"),
        (request("cell", "/etc/fit.ipynb", call=CALL), {"cell_review": "after"}, "ask"),
        (request("kernel", command="x = 1", call=("run_cell", "{}")), {"cell_review": "after"}, "ask"),
        (request("permission", asked="cell", call=CALL), {"cell_review": "after"}, "allow"),
        (request("permission", "/w", asked="cell"), {"cell_review": "after"}, "ask"),
        (request("permission", "/w", "curl example.org", asked="cell"), {"cell_review": "after"}, "ask"),
        (write(), {"cell_review": "after"}, "ask"),
    ],
)
def test_cell_review_after_allows_only_cell_edits(asked: Row, held: Row, outcome: str) -> None:
    """Rules, floors and a session that denies come first; an agent cannot label another action a cell edit."""
    assert judge(asked, {**situation(), **held}).outcome == outcome


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (request("kernel", "/w", "fit(df)"), "Runs this code in your kernel."),
        (request("cell", "/w/a.ipynb"), "Changes cells of a notebook in your workspace."),
        (request("write", "/w/a.ipynb"), "Edits a file in your workspace."),
        (run("python -c 'fit(df)'"), "Runs code given on the command line."),
    ],
    ids=["code", "cells", "file", "command"],
)
def test_risk_of_code_names_where_it_runs(asked: Row, words: str) -> None:
    """The words "command line" are only for a command's code, not a cell's."""
    assert judge(asked, situation()).risk == words


@pytest.mark.parametrize(
    ("command", "words"),
    CASES["the effects of a command that has several are on the card the worst first"],
)
def test_risk_lists_the_worst_effect_of_a_command_first(command: str, words: str) -> None:
    """Among equally severe effects, a deletion comes first."""
    assert judge(run(command), situation()).risk == words
