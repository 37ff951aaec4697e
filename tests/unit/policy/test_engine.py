"""The policy engine: modes, kinds of request, rules and their order, floors, wider answers."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.policy.engine import judge, opens
from agentnb.policy.keys import Mode
from agentnb.policy.offers import offers, similar_rule
from agentnb.policy.request import PolicyRequest, RequestKind, Situation
from agentnb.policy.rules import STRICTNESS, AccessRule, InForce, Outcome
from agentnb.policy.settings import PolicySettings

CASES: dict[str, list[Any]] = json.loads((Path(__file__).parents[2] / "cases/tables/engine.json").read_text("utf-8"))

ROOT = PurePosixPath("/w")


def request(kind: RequestKind, path: str | None = None, command: str | None = None, **more: Any) -> PolicyRequest:
    return PolicyRequest(kind=kind, title="x", path=path, command=command, **more)


def run(command: str) -> PolicyRequest:
    return request("terminal", "/w", command)


def write(path: str = "/w/a.txt") -> PolicyRequest:
    return request("write", path)


def rule(action: Outcome, source: Any = "user", **fields: Any) -> InForce:
    return InForce(AccessRule(action=action, **fields), source)


def situation(*rules: InForce, project: tuple[InForce, ...] = (), **fields: Any) -> Situation:
    user = PolicySettings(
        rules=rules, bypass=frozenset(fields.pop("bypass", ())), headless=fields.pop("user_headless", "deny")
    )
    held = {"trusted": True, **fields}
    return Situation(agent="claude", root=ROOT, user=user, project=PolicySettings(rules=project), **held)


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
    directories = (PurePosixPath("/data"), PurePosixPath("/data/in"))
    loose = situation(mode="allow", directories=directories)
    assert judge(write("/data/a.csv"), loose).outcome == "allow"
    assert judge(write("/data/.env"), loose).floor == "sensitive"
    assert judge(write("/database/a.csv"), loose).floor == "outside"
    denying = situation(rule("deny", path=("raw/**",)), mode="allow", directories=directories)
    assert judge(write("/data/raw/a.csv"), denying).outcome == "deny"
    assert judge(write("/data/in/raw/a.csv"), denying).outcome == "deny"
    assert judge(write("/data/other/raw/a.csv"), denying).outcome == "allow"


@pytest.mark.parametrize(("policy_request", "floor"), FLOORS)
@pytest.mark.parametrize(
    "loose",
    [
        {"mode": "allow"},
        {"bypass": ["claude"]},
        {"mode": "allow", "bypass": ["claude"], "headless": "allow"},
    ],
)
def test_floor_holds_in_every_mode_and_with_bypass(
    policy_request: PolicyRequest, floor: str, loose: dict[str, Any]
) -> None:
    """They ask if a user is attached and deny otherwise."""
    verdict = judge(policy_request, situation(**loose))
    assert (verdict.outcome, verdict.floor) == ("ask", floor)
    denied = judge(policy_request, situation(attached=False, **loose))
    assert (denied.outcome, denied.decided_by) == ("deny", "nobody")
    assert "no front end is attached" in denied.reason


@pytest.mark.parametrize(("policy_request", "floor"), FLOORS)
def test_rule_that_allows_everything_lowers_no_floor(policy_request: PolicyRequest, floor: str) -> None:
    """It needs ``sensitive`` or an absolute path; critical commands ask in any case."""
    assert judge(policy_request, situation(rule("allow"), rule("allow", severity="critical"))).outcome == "ask"


@pytest.mark.parametrize(("policy_request", "floor"), FLOORS)
def test_session_that_denies_also_denies_floors(policy_request: PolicyRequest, floor: str) -> None:
    assert judge(policy_request, situation(mode="deny")).outcome == "deny"


def test_last_matching_rule_wins() -> None:
    """In either order of allow and deny."""
    first, second = rule("allow", path=("src/**",)), rule("deny", path=("src/private/**",))
    assert judge(write("/w/src/private/a"), situation(first, second)).outcome == "deny"
    assert judge(write("/w/src/private/a"), situation(second, first)).outcome == "allow"
    assert judge(write("/w/src/b"), situation(first, second)).outcome == "allow"
    assert judge(write("/w/b"), situation(first, second)).outcome == "ask"


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


def test_allow_rule_holds_up_to_its_severity() -> None:
    """``git push *`` up to ``low`` does not cover ``git push -f``."""
    rules = rule("allow", command=("git push *",), severity="low")
    assert judge(run("git push origin main"), situation(rules)).outcome == "allow"
    assert judge(run("git push -f"), situation(rules)).outcome == "ask"


def test_allow_rule_for_sensitive_files_needs_the_sensitive_key() -> None:
    """``sensitive = true`` covers only the files that the rule names."""
    rules = rule("allow", path=("package.json", ".env"), sensitive=True)
    assert judge(write("/w/package.json"), situation(rules)).outcome == "allow"
    assert judge(request("read", "/w/.env"), situation(rules)).outcome == "allow"
    assert judge(write("/w/yarn.lock"), situation(rules)).outcome == "ask"


@pytest.mark.parametrize(
    ("action", "path", "opened"),
    [("allow", "/data/**", True), ("ask", "/data/**", True), ("deny", "/data/**", False), ("allow", "**", False)],
)
def test_only_an_absolute_path_rule_opens_files_outside(action: Outcome, path: str, opened: bool) -> None:
    """An ``ask`` rule lets the user approve them."""
    held = situation(rule(action, path=(path,)))
    assert opens("/data/a.csv", "read", held) == opened
    assert not opens("/etc/passwd", "read", held)


def test_project_rules_can_only_tighten() -> None:
    """Its ask and deny override the user's rules, its allow never does."""
    loose = rule("allow", "project", path=("**",))
    assert judge(write(), situation(project=(loose,))).outcome == "ask"
    free = rule("allow", tool=("edit",))
    for action in ("ask", "deny"):
        strict = rule(action, "project", path=("*.txt",))
        verdict = judge(write(), situation(free, project=(strict, loose), mode="allow"))
        assert (verdict.outcome, verdict.source) == (action, "project")
    assert judge(write(), situation(rule("deny"), project=(rule("ask", "project"),))).outcome == "deny"


def test_approval_overrides_a_project_ask_but_not_a_project_deny() -> None:
    """The project wants the user to decide, and the user did."""
    answered = (rule("allow", "session", tool=("edit",)),)
    assert judge(write(), situation(project=(rule("ask", "project"),), grants=answered)).outcome == "allow"
    assert judge(write(), situation(project=(rule("deny", "project"),), grants=answered)).outcome == "deny"


@pytest.mark.parametrize(
    ("environment", "user", "outcome"),
    [
        (None, "deny", "deny"),
        ("allow", "deny", "allow"),
        (None, "allow", "allow"),
        ("deny", "allow", "deny"),
    ],
)
def test_headless_environment_overrides_the_user_policy(environment: Any, user: str, outcome: str) -> None:
    """Without either the answer is no."""
    held = situation(attached=False, headless=environment, user_headless=user)
    assert judge(write(), held).outcome == outcome


def test_ask_rule_denies_when_no_user_is_attached() -> None:
    """``headless = "allow"`` is only for requests that match no rule."""
    held = situation(rule("ask", path=("*.txt",)), attached=False, headless="allow")
    assert judge(write(), held).outcome == "deny"


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


def test_broken_policy_file_makes_every_write_ask() -> None:
    """The unreadable rules may have denied the request."""
    held = Situation(agent="claude", mode="allow", root=ROOT, user=PolicySettings(problem="line 3"))
    assert (judge(write(), held).outcome, judge(write(), held).floor) == ("ask", "broken")
    assert judge(request("read", "/w/a.py"), held).outcome == "allow"


@pytest.mark.parametrize(
    ("policy_request", "words", "text"),
    [
        (run("git status -s"), "`git status`", "allow execute git status * for claude up to low risk"),
        (run("ls; pwd"), "`ls, pwd`", "allow execute ls * or pwd * for claude up to low risk"),
        (run("python fit.py"), "`python`", "allow execute python * for claude up to low risk"),
        (run("ls > x"), "`ls > x`", "allow execute ls > x for claude up to medium risk"),
        (run("sudo ls"), "`sudo ls`", "allow execute sudo ls or ls for claude"),
        (write(), "edits", "allow edit ** for claude"),
        (
            write("/w/package.json"),
            "changing package.json",
            "allow edit /w/package.json for claude even if sensitive",
        ),
        (request("permission", asked="fetch"), "fetches", "allow fetch for claude"),
    ],
)
def test_similar_rule_is_as_wide_as_is_safe(policy_request: PolicyRequest, words: str, text: str) -> None:
    """The program and its verb, or edits in the workspace; sensitive or severe requests only exactly."""
    similar = similar_rule(policy_request, judge(policy_request, situation()), "claude")
    assert similar is not None
    assert (similar.words, similar.rule.text) == (words, text)


@pytest.mark.parametrize(
    "policy_request", [run("rm -rf x"), run("cat .env"), run("ls 'x"), request("permission", asked="other")]
)
def test_request_that_must_always_ask_offers_no_wider_approval(policy_request: PolicyRequest) -> None:
    """Critical, secret, unreadable or unknown."""
    assert offers(similar_rule(policy_request, judge(policy_request, situation()), "claude"), ROOT) == ()


@pytest.mark.parametrize(
    "policy_request",
    [run("git status -s"), run("ls; pwd"), run("sudo ls"), write(), write("/w/package.json"), run("echo 'a*b'")],
)
def test_wider_approval_allows_the_request_it_was_given_for(policy_request: PolicyRequest) -> None:
    """Otherwise the same request would ask again at once."""
    offered = offers(similar_rule(policy_request, judge(policy_request, situation()), "claude"), ROOT)
    held = situation(grants=(InForce(offered[0].rule, "turn"),))
    assert judge(policy_request, held).outcome == "allow"
    assert judge(policy_request, Situation(agent="codex", root=ROOT, grants=held.grants)).outcome == "ask"


def test_always_is_not_offered_for_sensitive_or_project_asks() -> None:
    """It would have no effect."""
    assert [
        each.scope for each in offers(similar_rule(write("/w/.env"), judge(write("/w/.env"), situation()), "a"), ROOT)
    ] == [
        "turn",
        "session",
    ]
    raised = judge(write(), situation(rule("allow"), project=(rule("ask", "project"),)))
    assert [each.scope for each in offers(similar_rule(write(), raised, "a"), ROOT)] == ["turn", "session"]


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
def test_project_rules_never_loosen_a_decision(
    user: list[InForce], project: list[InForce], mode: Mode, policy_request: PolicyRequest
) -> None:
    without = judge(policy_request, situation(*user, mode=mode)).outcome
    strict = tuple(InForce(each.rule, "project") for each in project)
    assert STRICTNESS[judge(policy_request, situation(*user, mode=mode, project=strict)).outcome] >= STRICTNESS[without]


@given(st.lists(RULES, max_size=5), st.sampled_from(["ask", "allow"]))
def test_no_rules_allow_a_critical_command_without_asking(user: list[InForce], mode: Mode) -> None:
    assert judge(run("rm -rf x"), situation(*user, mode=mode)).outcome in {"ask", "deny"}


EDIT = request("cell", "/w/fit.ipynb", call=("delete_cell", '{"cell": "a"}'))
AFTER = PolicySettings(cell_review="after")


@pytest.mark.parametrize(
    ("policy_request", "fields", "by"),
    [
        (EDIT, {"mode": "allow"}, "mode"),
        (EDIT, {"cell_review": "after"}, "review"),
        (EDIT, {"user": PolicySettings(bypass=frozenset({"claude"})), "cell_review": "after"}, "bypass"),
        (EDIT, {"attached": False, "headless": "allow"}, "headless"),
        (EDIT, {"user": PolicySettings(rules=(rule("allow", tool=("cell",)),))}, "rule"),
        (request("read", "/w/fit.csv"), {"mode": "deny"}, "reading"),
    ],
)
def test_allowed_request_names_the_setting_that_allows_it(
    policy_request: PolicyRequest, fields: dict[str, Any], by: str
) -> None:
    """A permission request can then say why: the session's permissions are one setting of several."""
    verdict = judge(policy_request, Situation(**{"agent": "claude", "root": ROOT, "trusted": True, **fields}))
    assert (verdict.outcome, verdict.decided_by) == ("allow", by)


@pytest.mark.parametrize(
    ("policy_request", "fields", "outcome"),
    [
        (EDIT, {}, "ask"),
        (EDIT, {"cell_review": "after"}, "allow"),
        (EDIT, {"user": AFTER}, "allow"),
        (EDIT, {"user": AFTER, "cell_review": "first"}, "ask"),
        (EDIT, {"user": AFTER, "trusted": False}, "ask"),
        (EDIT, {"cell_review": "after", "trusted": False}, "allow"),
        (EDIT, {"cell_review": "after", "project": PolicySettings(cell_review="first")}, "ask"),
        (EDIT, {"cell_review": "after", "mode": "deny"}, "deny"),
        (EDIT, {"cell_review": "after", "attached": False}, "allow"),
        (EDIT, {"cell_review": "after", "user": PolicySettings(rules=(rule("deny", tool=("cell",)),))}, "deny"),
        (
            EDIT,
            {"cell_review": "after", "project": PolicySettings(rules=(rule("ask", "project", tool=("cell",)),))},
            "ask",
        ),
        (request("cell", "/etc/fit.ipynb", call=EDIT.call), {"cell_review": "after"}, "ask"),
        (request("kernel", command="x = 1", call=("run_cell", "{}")), {"cell_review": "after"}, "ask"),
        (request("permission", asked="cell", call=EDIT.call), {"cell_review": "after"}, "allow"),
        (request("permission", "/w", asked="cell"), {"cell_review": "after"}, "ask"),
        (request("permission", "/w", "curl example.org", asked="cell"), {"cell_review": "after"}, "ask"),
        (write(), {"cell_review": "after"}, "ask"),
    ],
)
def test_cell_review_after_allows_only_cell_edits(
    policy_request: PolicyRequest, fields: dict[str, Any], outcome: str
) -> None:
    """Rules, floors and a session that denies come first; an agent cannot label another action a cell edit."""
    held = Situation(**{"agent": "claude", "root": ROOT, "trusted": True, **fields})
    assert judge(policy_request, held).outcome == outcome


@pytest.mark.parametrize(
    ("kind", "command", "words"),
    [
        ("kernel", "fit(df)", "Runs this code in your kernel."),
        ("cell", None, "Changes cells of a notebook in your workspace."),
        ("write", None, "Edits a file in your workspace."),
        ("terminal", "python -c 'fit(df)'", "Runs code given on the command line."),
    ],
)
def test_risk_of_code_names_where_it_runs(kind: RequestKind, command: str | None, words: str) -> None:
    """The words "command line" are only for a command's code, not a cell's."""
    request = PolicyRequest(kind=kind, title="x", command=command, path="/w/a.ipynb" if command is None else "/w")
    assert judge(request, Situation(agent="a", root=PurePosixPath("/w"))).risk == words


@pytest.mark.parametrize(
    ("command", "words"),
    CASES["the effects of a command that has several are on the card the worst first"],
)
def test_risk_lists_the_worst_effect_of_a_command_first(command: str, words: str) -> None:
    """Among equally severe effects, a deletion comes first."""
    request = PolicyRequest(kind="terminal", title="Run", command=command)
    assert judge(request, Situation(agent="a", root=PurePosixPath("/w"))).risk == words
