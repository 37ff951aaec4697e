"""Ask, Edit and Auto: each freedom with every kind of request and every rating."""

from __future__ import annotations

import itertools
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.policy.engine import judge
from agentnb.policy.keys import FREEDOMS, Freedom, Mode, capped, freedom_of, lowest
from agentnb.policy.request import PolicyRequest, Situation
from agentnb.policy.rules import AccessRule, InForce, rule_words
from agentnb.policy.settings import PolicySettings, parse, tightened
from agentnb.policy.store import PolicyFiles

CELL = ("replace_cell", '{"cell": 1}')
READS = [
    PolicyRequest(kind="read", title="x", path="/w/a.py"),
    PolicyRequest(kind="read", title="x", path="/w/sub/b.csv"),
]
EDITS = [
    PolicyRequest(kind="write", title="x", path="/w/a.py"),
    PolicyRequest(kind="permission", title="x", asked="edit", paths=("/w/a.py", "/w/b.py")),
    PolicyRequest(kind="cell", title="x", path="/w/a.ipynb", call=CELL),
]
RUNS = {
    "none": [PolicyRequest(kind="terminal", title="x", path="/w", command="ls")],
    "low": [PolicyRequest(kind="terminal", title="x", path="/w", command="python fit.py")],
    "medium": [
        PolicyRequest(kind="terminal", title="x", path="/w", command="cp a b"),
        PolicyRequest(kind="permission", title="x", path="/w", asked="execute", command="pip install x"),
    ],
    "high": [PolicyRequest(kind="terminal", title="x", path="/w", command="sudo ls")],
}
CODE = [PolicyRequest(kind="kernel", title="x", command="x = 1")]
ALWAYS = {
    "critical": [
        PolicyRequest(kind="terminal", title="x", path="/w", command="rm -rf build"),
        PolicyRequest(kind="kernel", title="x", command="import shutil; shutil.rmtree('x')"),
    ],
    "sensitive": [
        PolicyRequest(kind="write", title="x", path="/w/.env"),
        PolicyRequest(kind="read", title="x", path="/w/id_rsa"),
        PolicyRequest(kind="terminal", title="x", path="/w", command="cat .env"),
    ],
    "outside": [
        PolicyRequest(kind="write", title="x", path="/etc/motd"),
        PolicyRequest(kind="read", title="x", path="/home/x/a.py"),
        PolicyRequest(kind="terminal", title="x", path="/w", command="cp a /home/x/a"),
    ],
}
OTHERS = [
    PolicyRequest(kind="delete", title="x", path="/w/a.py"),
    PolicyRequest(kind="move", title="x", paths=("/w/a.py", "/w/b.py")),
    PolicyRequest(kind="permission", title="x", asked="other"),
    PolicyRequest(kind="permission", title="x", asked="edit", vague=True),
    PolicyRequest(kind="cell", title="x", path="/w/a.ipynb"),  # any request can claim this kind
]


def at(freedom: Mode, request: PolicyRequest, *, confined: bool = False, **more: object) -> str:
    situation = Situation(agent="a", mode=freedom, root=PurePosixPath("/w"), confined=confined, **more)  # type: ignore[arg-type]
    return judge(request, situation).outcome


@pytest.mark.parametrize(("freedom", "confined"), [*itertools.product(FREEDOMS, [False, True])])
def test_each_freedom_decides_every_kind_of_request(freedom: Freedom, confined: bool) -> None:
    """Reads are allowed; edits ask only in Ask; commands ask except mild ones of a confined agent in Auto."""
    assert {at(freedom, each, confined=confined) for each in READS} == {"allow"}
    edits = "ask" if freedom == "ask" else "allow"
    assert {at(freedom, each, confined=confined) for each in EDITS} == {edits}
    for rating, requests in RUNS.items():
        runs = "allow" if freedom == "auto" and confined and rating != "high" else "ask"
        assert {at(freedom, each, confined=confined) for each in requests} == {runs}, rating
    for each in (*CODE, *OTHERS, *itertools.chain(*ALWAYS.values())):
        assert at(freedom, each, confined=confined) == "ask", each


EVERY = [*READS, *EDITS, *CODE, *OTHERS, *itertools.chain(*RUNS.values(), *ALWAYS.values())]


@given(
    st.sampled_from(EVERY),
    st.booleans(),
    st.sampled_from([None, *FREEDOMS]),
    st.sampled_from([None, *FREEDOMS]),
    st.sampled_from([*FREEDOMS, "allow", "deny"]),
)
def test_more_freedom_never_asks_more_and_a_ceiling_caps_it(
    request: PolicyRequest, confined: bool, user: Freedom | None, site: Freedom | None, mode: Mode
) -> None:
    """The user or the site may set the ceiling; a higher mode of the conversation has no effect."""
    outcomes = [at(each, request, confined=confined) for each in ("ask", "edit", "auto")]
    assert [each == "allow" for each in outcomes] == sorted(each == "allow" for each in outcomes)
    files = {"user": PolicySettings(freedom_at_most=user), "project": PolicySettings(freedom_at_most=site)}
    held = capped(mode, lowest((user, site)))
    assert at(mode, request, confined=confined, **files) == at(held, request, confined=confined)


def test_rules_override_the_freedom() -> None:
    """A deny and an ask hold in Auto; an allow holds in Ask; the project's review of cells holds too."""
    denies = PolicySettings(rules=(InForce(AccessRule(action="deny", path=("*.py",)), "user"),))
    asks = PolicySettings(rules=(InForce(AccessRule(action="ask", command=("ls *",)), "project"),))
    allows = PolicySettings(rules=(InForce(AccessRule(action="allow", command=("ls *",)), "user"),))
    assert at("auto", EDITS[0], user=denies) == "deny"
    assert at("auto", RUNS["none"][0], confined=True, project=asks) == "ask"
    assert at("ask", RUNS["none"][0], user=allows, trusted=True) == "allow"
    assert at("edit", EDITS[2], project=PolicySettings(cell_review="first")) == "ask"


def test_bypass_does_not_lift_a_ceiling() -> None:
    user = PolicySettings(bypass=frozenset({"a"}))
    assert at("ask", CODE[0], user=user, trusted=True) == "allow"
    assert at("ask", CODE[0], user=user, trusted=True, project=PolicySettings(freedom_at_most="auto")) == "ask"


@pytest.mark.parametrize(
    ("values", "freedom"),
    [
        ({"permissions": "ask"}, "ask"),
        ({"permissions": "ask", "kernel": "run", "cellReview": "first"}, "ask"),
        ({"permissions": "edit", "kernel": "run", "cellReview": "after"}, "edit"),
        ({"permissions": "auto", "kernel": "run", "cellReview": "first"}, "auto"),  # as a project's file may set
        ({"permissions": "ask", "kernel": "run", "cellReview": "after"}, "custom"),
        ({"permissions": "ask", "kernel": "look"}, "custom"),
        ({"permissions": "edit", "kernel": "off"}, "custom"),
        ({"permissions": "allow"}, "custom"),
        ({"permissions": "deny"}, "custom"),
        ({}, "custom"),
    ],
)
def test_freedom_follows_from_the_settings(values: dict[str, str], freedom: str) -> None:
    assert freedom_of(values) == freedom


def test_site_policy_file_can_only_tighten(tmp_path: Path) -> None:
    """Its ceiling and rules hold; loosening entries are ignored with a warning."""
    site = tmp_path / "site.toml"
    site.write_text('freedom_at_most = "edit"\n[[rule]]\naction = "deny"\ncommand = "git push *"\n')
    files = PolicyFiles(tmp_path / "policy.toml", site=(site, tmp_path / "none.toml"))
    held = files.project(tmp_path)
    assert (held.freedom_at_most, [each.rule.action for each in held.rules]) == ("edit", ["deny"])
    site.write_text('[[rule]]\naction = "allow"\n[agents.eliza]\nbypass = true\n')
    held = files.project(tmp_path)
    assert (held.rules, held.bypass, len(held.warnings)) == ((), frozenset(), 2)
    site.write_text("freedom_at_most = 3\n")
    assert "freedom_at_most" in (files.project(tmp_path).problem or "")
    loose = parse('freedom_at_most = "ask"\n', "policy.toml", "project")
    assert tightened(loose, "policy.toml").freedom_at_most == "ask"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            AccessRule(action="allow", agent=("eliza",), tool=("execute",), command=("python *",), severity="low"),
            "ELIZA may run `python …` without asking",
        ),
        (
            AccessRule(action="allow", agent=("eliza",), command=("git status *", "ls")),
            "ELIZA may run `git status …` or `ls` without asking",
        ),
        (
            AccessRule(action="allow", agent=("eliza",), tool=("edit",), path=("**",), folder=("/w",)),
            "ELIZA may edit files in /w without asking",
        ),
        (AccessRule(action="allow", agent=("a*b", "c")), "A*B or C may do anything without asking"),
        (AccessRule(action="allow", tool=("kernel",)), "Any agent may run code in the kernel without asking"),
        (AccessRule(action="deny", command=("rm `x`",)), "Any agent may not run `rm 'x'`"),
        (
            AccessRule(action="ask", tool=("cell", "edit"), path=("*.csv",)),
            "Any agent may change notebook cells or edit `*.csv` only after asking",
        ),
        (
            AccessRule(action="allow", path=("/x/.env",), sensitive=True),
            "Any agent may do anything with `/x/.env` without asking",
        ),
    ],
)
def test_rule_is_described_in_plain_words(rule: AccessRule, words: str) -> None:
    """Without the rule's syntax: no severity, tool kind or trailing star."""
    assert rule_words(rule, str.upper) == words
