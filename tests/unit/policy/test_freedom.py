"""Ask, Edit and Auto: each freedom with every kind of request and every rating."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.policy.decisions import Row, judge, request, rule, run, situation, write
from tests.unit.server.asking_page import Page

FREEDOMS = ("ask", "edit", "auto")
CELL = ("replace_cell", '{"cell": 1}')
READS = [request("read", "/w/a.py"), request("read", "/w/sub/b.csv")]
EDITS = [
    write("/w/a.py"),
    request("permission", asked="edit", paths=("/w/a.py", "/w/b.py")),
    request("cell", "/w/a.ipynb", call=CELL),
]
RUNS = {
    "none": [run("ls")],
    "low": [run("python fit.py")],
    "medium": [run("cp a b"), request("permission", "/w", "pip install x", asked="execute")],
    "high": [run("sudo ls")],
}
CODE = [request("kernel", command="x = 1")]
ALWAYS = [
    *(run("rm -rf build"), request("kernel", command="import shutil; shutil.rmtree('x')")),  # critical
    *(write("/w/.env"), request("read", "/w/id_rsa"), run("cat .env")),  # sensitive
    *(write("/etc/motd"), request("read", "/home/x/a.py"), run("cp a /home/x/a")),  # outside
]
OTHERS = [
    request("delete", "/w/a.py"),
    request("move", paths=("/w/a.py", "/w/b.py")),
    request("permission", asked="other"),
    request("permission", asked="edit", vague=True),
    request("cell", "/w/a.ipynb"),  # any request can claim this kind
]


def at(freedom: str, asked: Row, **more: object) -> str:
    return judge(asked, {**situation(mode=freedom, trusted=False), **more}).outcome


@pytest.mark.parametrize(("freedom", "confined"), [*itertools.product(FREEDOMS, [False, True])])
def test_each_freedom_decides_every_kind_of_request(freedom: str, confined: bool) -> None:
    """Reads are allowed; edits ask only in Ask; commands ask except mild ones of a confined agent in Auto."""
    assert {at(freedom, each, confined=confined) for each in READS} == {"allow"}
    edits = "ask" if freedom == "ask" else "allow"
    assert {at(freedom, each, confined=confined) for each in EDITS} == {edits}
    for rating, requests in RUNS.items():
        runs = "allow" if freedom == "auto" and confined and rating != "high" else "ask"
        assert {at(freedom, each, confined=confined) for each in requests} == {runs}, rating
    for each in (*CODE, *OTHERS, *ALWAYS):
        assert at(freedom, each, confined=confined) == "ask", each


EVERY = [*READS, *EDITS, *CODE, *OTHERS, *itertools.chain(*RUNS.values()), *ALWAYS]
CEILINGS = st.sampled_from([None, *FREEDOMS])


@given(st.sampled_from(EVERY), st.booleans(), CEILINGS, CEILINGS, st.sampled_from([*FREEDOMS, "allow", "deny"]))
def test_more_freedom_never_asks_more_and_a_ceiling_caps_it(
    asked: Row, confined: bool, user: str | None, site: str | None, mode: str
) -> None:
    """The user or the site may set the ceiling; a higher mode of the conversation has no effect."""
    outcomes = [at(each, asked, confined=confined) for each in FREEDOMS]
    assert [each == "allow" for each in outcomes] == sorted(each == "allow" for each in outcomes)
    order = ("deny", *FREEDOMS, "allow")
    held = min((each for each in (mode, user, site) if each is not None), key=order.index)
    limited = at(mode, asked, confined=confined, ceiling=user, project_ceiling=site)
    assert limited == at(held, asked, confined=confined)


def test_rules_override_the_freedom() -> None:
    """A deny and an ask hold in Auto; an allow holds in Ask; the project's review of cells holds too."""
    lists = run("ls")
    assert at("auto", write("/w/a.py"), user=[rule("deny", path=("*.py",))]) == "deny"
    assert at("auto", lists, confined=True, project=[rule("ask", command=("ls *",))]) == "ask"
    assert at("ask", lists, user=[rule("allow", command=("ls *",))], trusted=True) == "allow"
    assert at("edit", request("cell", "/w/a.ipynb", call=CELL), project_review="first") == "ask"


def test_bypass_does_not_lift_a_ceiling() -> None:
    free = {"bypass": ["claude"], "trusted": True}
    assert at("ask", CODE[0], **free) == "allow"
    assert at("ask", CODE[0], **free, project_ceiling="auto") == "ask"


def test_granting_rule_is_described_in_plain_words(page: Page) -> None:
    """Without the rule's syntax: no severity, tool kind or trailing star."""
    rules = {
        "Tour may run `python …` without asking": rule(
            "allow", agent=["eliza"], tool=["execute"], command=["python *"], severity="low"
        ),
        "Any agent may run `git status …` or `ls` without asking": rule("allow", command=["git status *", "ls"]),
        "Any agent may run `rm 'x'` without asking": rule("allow", command=["rm `x`"]),
        "a*b or c may do anything without asking": rule("allow", agent=["a*b", "c"]),
        "Any agent may run code in the kernel without asking": rule("allow", tool=["kernel"]),
        "Any agent may change notebook cells or edit `*.csv` without asking": rule(
            "allow", tool=["cell", "edit"], path=["*.csv"]
        ),
        "Any agent may do anything with `/x/.env` without asking": rule("allow", path=["/x/.env"], sensitive=True),
    }
    for each in rules.values():
        change = {"action": "add", "rule": each}
        question = page.ask("changePolicy", change)["result"]["confirm"]
        assert page.ask("changePolicy", {**change, "confirmed": question})["result"] == {}
    assert [grant["text"] for grant in page.ask("listGrants", {})["result"]["grants"]] == [*rules]
