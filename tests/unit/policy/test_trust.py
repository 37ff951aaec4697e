"""Trust in a workspace: where the user's allow rules hold, and where they ask."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from agentnb.errors import PolicyError
from agentnb.policy.engine import judge
from agentnb.policy.offers import offers, similar_rule
from agentnb.policy.request import PolicyRequest, RequestKind, Situation
from agentnb.policy.rules import AccessRule, InForce, Outcome
from agentnb.policy.settings import PolicySettings, load, parse
from agentnb.policy.store import PolicyFiles
from agentnb.policy.workspace import PROJECT

ROOT = PurePosixPath("/w")


def request(kind: RequestKind, **fields: Any) -> PolicyRequest:
    return PolicyRequest(kind=kind, title="x", **fields)


ACTING = [
    request("write", path="/w/a.txt"),
    request("terminal", path="/w", command="pytest"),
    request("kernel", command="1 + 1"),
    request("cell", path="/w/a.ipynb"),
    request("permission", asked="edit", paths=("/w/a.txt",)),
    request("permission", asked="execute", command="pytest"),
    request("permission", asked="fetch"),
    request("permission", asked="other"),
]
LOOKING = [request("read", path="/w/a.txt"), request("permission", asked="read", paths=("/w/a.txt",))]
STANDING: list[dict[str, Any]] = [
    {"rules": (InForce(AccessRule(action="allow"), "user"),)},
    {"bypass": frozenset({"claude"})},
    {"headless": "allow"},
]


def situation(standing: dict[str, Any], **fields: Any) -> Situation:
    return Situation(agent="claude", root=ROOT, user=PolicySettings(**standing), **fields)


@pytest.mark.parametrize("policy_request", ACTING, ids=lambda each: f"{each.kind}-{each.tool}")
@pytest.mark.parametrize(
    ("standing", "attached"),
    [(STANDING[0], True), (STANDING[0], False), (STANDING[1], True), (STANDING[1], False), (STANDING[2], False)],
    ids=["rule", "rule-headless", "bypass", "bypass-headless", "headless"],
)
def test_user_policy_allows_only_reading_without_trust(
    policy_request: PolicyRequest, standing: dict[str, Any], attached: bool
) -> None:
    """It asks with the reason; if no user is attached it denies and says what to type."""
    assert judge(policy_request, situation(standing, attached=attached, trusted=True)).outcome == "allow"
    verdict = judge(policy_request, situation(standing, attached=attached))
    assert (verdict.outcome, verdict.distrusted) == ("ask" if attached else "deny", True)
    assert "this folder is not trusted" in verdict.reason
    if attached:
        assert verdict.risk.endswith("Your policy file allows it, but this folder is not trusted: /w.")
    else:
        assert "type `agentnb trust` in it" in verdict.reason


@pytest.mark.parametrize("policy_request", LOOKING, ids=lambda each: each.kind)
def test_rule_that_allows_reading_needs_no_trust(policy_request: PolicyRequest) -> None:
    assert judge(policy_request, situation(STANDING[0])).outcome == "allow"


@pytest.mark.parametrize("policy_request", ACTING, ids=lambda each: f"{each.kind}-{each.tool}")
@pytest.mark.parametrize(
    "consent",
    [
        {"mode": "allow"},
        {"attached": False, "headless": "allow"},
        {"grants": (InForce(AccessRule(action="allow"), "session"),)},
        {"grants": (InForce(AccessRule(action="allow"), "turn"),)},
    ],
    ids=["mode", "environment", "session", "turn"],
)
def test_approval_of_this_session_needs_no_trust(policy_request: PolicyRequest, consent: dict[str, Any]) -> None:
    """Code that the user runs, an environment variable, an approval on a card."""
    assert judge(policy_request, situation({}, **consent)).outcome == "allow"


@pytest.mark.parametrize("trusted", [True, False])
def test_without_a_policy_file_trust_changes_nothing(trusted: bool) -> None:
    for policy_request in ACTING:
        assert judge(policy_request, situation({}, trusted=trusted)) == judge(policy_request, situation({}))
        denied = judge(policy_request, situation({}, trusted=trusted, attached=False))
        assert (denied.outcome, "trust" in denied.reason) == ("deny", False)


def test_trust_lowers_no_floor_and_no_deny_rule() -> None:
    """Trust only makes allow rules hold."""
    allow = STANDING[0]
    assert judge(request("terminal", command="rm -rf x"), situation(allow, trusted=True)).floor == "critical"
    assert judge(request("write", path="/w/.env"), situation(allow, trusted=True)).floor == "sensitive"
    rules = (*allow["rules"], InForce(AccessRule(action="deny", path=("*.txt",)), "user"))
    denied = judge(ACTING[0], situation({"rules": rules}))
    assert (denied.outcome, denied.distrusted) == ("deny", False)
    assert judge(ACTING[0], situation(allow, mode="deny")).reason == 'denied: this session has permissions="deny"'


def test_denial_without_trust_names_the_deny_rule_and_the_trust() -> None:
    rules = (InForce(AccessRule(action="deny", tool=("edit",)), "user"), *STANDING[0]["rules"])
    verdict = judge(ACTING[0], situation({"rules": rules}))
    assert verdict.outcome == "deny"
    assert "denied by a rule of the user (deny edit), and this folder is not trusted" in verdict.reason


@pytest.mark.parametrize(("trusted", "outcome"), [(True, "allow"), (False, "ask")])
def test_rule_for_a_sensitive_file_holds_only_with_trust(trusted: bool, outcome: Outcome) -> None:
    """The rule is the user's, but the file is the folder's."""
    rules = (InForce(AccessRule(action="allow", path=("package.json",), sensitive=True), "user"),)
    assert (
        judge(request("write", path="/w/package.json"), situation({"rules": rules}, trusted=trusted)).outcome == outcome
    )


def test_always_approval_holds_only_in_its_folder() -> None:
    """It holds there and in subfolders without trust, and nowhere else."""
    similar = similar_rule(ACTING[0], judge(ACTING[0], situation({})), "claude")
    offered = offers(similar, Path("/w"))
    assert [each.label for each in offered] == [
        "Any edit of files in the workspace, this turn",
        "Any edit of files in the workspace, this conversation",
        "Any edit of files in this folder, until I revoke it",
    ]
    kept = PolicySettings(rules=(InForce(offered[-1].rule, "user"),))
    for root, outcome in [("/w", "allow"), ("/w/below", "allow"), ("/wide", "ask"), ("/", "ask")]:
        policy_request = PolicyRequest(kind="write", title="x", path=f"{root}/a.py")
        assert judge(policy_request, Situation(agent="claude", root=PurePosixPath(root), user=kept)).outcome == outcome


@pytest.mark.parametrize(
    ("command", "permits"),
    [
        ("python fit.py", "Any Python code"),
        ("git status -s", "Any `git status …`"),
        ("git add a && git commit -m b", "Any `git add, git commit …`"),
        ("ls > x", "Exactly `ls > x`"),
        ("npx left-pad", "Exactly `npx left-pad`"),
    ],
)
def test_wider_approval_names_exactly_what_it_permits(command: str, permits: str) -> None:
    policy_request = request("terminal", path="/w", command=command)
    similar = similar_rule(policy_request, judge(policy_request, situation({})), "claude")
    assert similar is not None
    assert similar.permits == permits


# --- which folders ---


@pytest.fixture
def files(tmp_path: Path) -> PolicyFiles:
    return PolicyFiles(tmp_path / "config/policy.toml")


def test_trust_covers_subfolders_but_not_siblings(tmp_path: Path, files: PolicyFiles) -> None:
    """A folder whose name starts the same is another one."""
    (tmp_path / "work/fit").mkdir(parents=True)
    (tmp_path / "workshop").mkdir()
    files.trust(tmp_path / "work")
    assert files.trusts(tmp_path / "work")
    assert files.trusts(tmp_path / "work/fit")
    assert files.trusts(tmp_path / "workshop/../work/fit")
    assert not files.trusts(tmp_path / "work/../workshop")
    assert not files.trusts(tmp_path / "workshop")
    assert not files.trusts(tmp_path)


def test_trust_follows_symbolic_links(tmp_path: Path, files: PolicyFiles) -> None:
    """A link inside a trusted folder may lead out of it; a trusted link stands for its target."""
    (tmp_path / "work").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "work/link").symlink_to(tmp_path / "foreign")
    (tmp_path / "alias").symlink_to(tmp_path / "work")
    files.trust(tmp_path / "alias")
    assert files.trusts(tmp_path / "work")
    assert files.trusts(tmp_path / "alias")
    assert not files.trusts(tmp_path / "work/link")
    assert not files.trusts(tmp_path / "foreign")


def test_trusted_link_follows_its_new_target(tmp_path: Path, files: PolicyFiles) -> None:
    """The target is looked up each time, so the old target loses its trust."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "now").symlink_to(tmp_path / "one")
    files.user_path.parent.mkdir()
    files.user_path.write_text(f'[trust]\nfolders = ["{tmp_path}/now"]\n')
    assert (files.trusts(tmp_path / "one"), files.trusts(tmp_path / "two")) == (True, False)
    (tmp_path / "now").unlink()
    (tmp_path / "now").symlink_to(tmp_path / "two")
    assert (files.trusts(tmp_path / "one"), files.trusts(tmp_path / "two")) == (False, True)


@pytest.mark.parametrize("entry", ["~", "~/work"])
def test_trusted_folder_can_start_with_a_tilde(entry: str) -> None:
    assert parse(f"[trust]\nfolders = ['{entry}']", "policy.toml").trusted == (entry.replace("~", os.environ["HOME"]),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[trust]\nfolders = 'work'", ["line 2 in trust: 'folders' is not a list of strings"]),
        ("[trust]\nfolders = [1]", ["line 2 in trust: 'folders' is not a list of strings"]),
        ("[trust]\nfolders = ['work']", ["line 2 in trust: 'work' is not an absolute path", "Start it with / or ~/"]),
        ("[trust]\nfolders = ['../work']", ["'../work' is not an absolute path"]),
        ("[trust]\nfolders = ['']", ["'' is not an absolute path"]),
        ('[trust]\nfolders = ["/a\\u0000"]', ["is not an absolute path"]),
        ("[trust]\nfolder = ['/work']", ["line 2 in trust: 'folder' is not known", "Did you mean 'folders'?"]),
        ("trust = ['/work']", ["line 1: 'trust' is not a table"]),
    ],
)
def test_mistake_in_the_trust_list_is_reported(text: str, says: list[str]) -> None:
    """With the line and what to do."""
    with pytest.raises(PolicyError) as failure:
        parse(text, "policy.toml")
    assert all(words in str(failure.value) for words in says), str(failure.value)


def test_broken_policy_file_trusts_no_folder(tmp_path: Path, files: PolicyFiles) -> None:
    """Everything asks as well."""
    files.trust(tmp_path)
    files.user_path.write_text(f"{files.user_path.read_text()}[[rule]]\naction = 'alow'\n")
    assert not files.trusts(tmp_path)
    with pytest.raises(PolicyError):
        files.trust(tmp_path)


def test_project_that_trusts_itself_is_ignored_with_a_warning(tmp_path: Path, files: PolicyFiles) -> None:
    """Only the user can grant trust."""
    path = tmp_path / PROJECT
    path.parent.mkdir()
    path.write_text(f'[trust]\nfolders = ["{tmp_path}"]\n')
    settings = load(path, "project")
    assert settings.trusted == ()
    (warning,) = settings.warnings
    assert all(words in warning for words in (str(path), f"[trust] {str(tmp_path)!r}", "is ignored", "your own"))
    assert files.project(tmp_path).trusted == ()
    assert not files.trusts(tmp_path)


# --- how it is written ---

KEPT = """\
# mine
headless = "deny"  # [not this]

[trust]  # folders = ["/no"]
folders = [
    "/a",  # the first
    '/b c',
    "/it's",
]

[[rule]]
action = "ask"
path = ["x[ab]", "/a"]
"""


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# nothing\n",
        "headless = 'deny'\n",
        "[[rule]]\naction = 'ask'\npath = ['a']\n",
        "[trust]\n",
        "[trust]\n[[rule]]\naction = 'ask'\n",
        "[trust]\nfolders = []\n",
        "trust = {folders = ['/x']}\n",
        "trust.folders = [\n  # none yet\n]\n",
        KEPT,
    ],
)
def test_trusted_folder_is_added_to_any_policy_file_and_removed(
    tmp_path: Path, files: PolicyFiles, before: str
) -> None:
    """Other settings and comments stay; adding twice has no further effect."""
    files.user_path.parent.mkdir()
    files.user_path.write_text(before)
    old, odd = files.user, tmp_path / 'a "quoted" back\\slash ü'
    odd.mkdir()
    files.trust(odd)
    once = files.user_path.read_text()
    files.trust(odd)
    assert files.user_path.read_text() == once
    assert sorted(files.user.trusted) == sorted([*old.trusted, str(odd)])
    assert (files.user.rules, files.user.headless) == (old.rules, old.headless)
    assert all(comment in once for comment in ("# mine", "# the first", "# [not this]")) or before != KEPT
    files.untrust(odd)
    assert sorted(files.user.trusted) == sorted(old.trusted)


def test_untrust_fails_when_a_parent_folder_is_trusted(tmp_path: Path, files: PolicyFiles) -> None:
    """The file stays unchanged."""
    (tmp_path / "work/fit").mkdir(parents=True)
    files.trust(tmp_path / "work/fit")
    files.trust(tmp_path / "work")
    before = files.user_path.read_text()
    with pytest.raises(PolicyError, match=r"fit is in .*work, which is trusted") as failure:
        files.untrust(tmp_path / "work/fit")
    assert ("Remove the trust in that folder" in str(failure.value), files.user_path.read_text()) == (True, before)
    files.untrust(tmp_path / "work")
    files.untrust(tmp_path / "work/fit")
    files.untrust(tmp_path / "never")
    assert files.user.trusted == ()


def test_untrust_removes_every_spelling_of_a_folder(tmp_path: Path, files: PolicyFiles) -> None:
    """As a link, with dots, or twice."""
    (tmp_path / "work").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "work")
    entries = ", ".join(f'"{tmp_path}/{name}"' for name in ("work", "alias", "x/../work", "work", "other"))
    files.user_path.parent.mkdir()
    files.user_path.write_text(f"[trust]\nfolders = [{entries}]\n")
    files.untrust(tmp_path / "work")
    assert files.user.trusted == (f"{tmp_path}/other",)


def test_untrust_leaves_a_list_it_cannot_edit_unchanged(tmp_path: Path, files: PolicyFiles) -> None:
    """A multi-line string is not supported."""
    text = f'[trust]\nfolders = ["""{tmp_path}"""]\n'
    files.user_path.parent.mkdir()
    files.user_path.write_text(text)
    with pytest.raises(PolicyError, match="by hand"):
        files.untrust(tmp_path)
    assert files.user_path.read_text() == text
