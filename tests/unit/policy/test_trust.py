"""Trust in a workspace: where the user's allow rules hold, and where they ask."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb.errors import PolicyError
from tests.unit.policy.decisions import Row, judge, request, rule, run, situation, write
from tests.unit.server.asking_page import Page

ACTING = [
    write(),
    run("pytest"),
    request("kernel", command="1 + 1"),
    request("cell", "/w/a.ipynb"),
    request("permission", asked="edit", paths=("/w/a.txt",)),
    request("permission", asked="execute", command="pytest"),
    request("permission", asked="fetch"),
    request("permission", asked="other"),
]
LOOKING = [request("read", "/w/a.txt"), request("permission", asked="read", paths=("/w/a.txt",))]
ALLOW = rule("allow")
STANDING: list[Row] = [{"user": (ALLOW,)}, {"bypass": ["claude"]}, {"user_headless": "allow"}]
"""Permissions in the user's file; the last is only for requests that nobody can be asked about."""


def in_folder(**fields: Any) -> Row:
    """Returns the circumstances in a folder that is not trusted."""
    return {**situation(trusted=False), **fields}


@pytest.mark.parametrize("asked", ACTING, ids=lambda each: f"{each['kind']}-{each.get('asked')}")
def test_user_policy_allows_only_reading_without_trust(asked: Row) -> None:
    """It asks with the reason; if no user is attached it denies and says what to type."""
    for standing in STANDING:
        for attached in (True, False) if "user_headless" not in standing else (False,):
            held = {**in_folder(attached=attached), **standing}
            assert judge(asked, {**held, "trusted": True}).outcome == "allow"
            verdict = judge(asked, held)
            assert (verdict.outcome, verdict.distrusted) == ("ask" if attached else "deny", True)
            assert "this folder is not trusted" in verdict.reason
            if attached:
                assert verdict.risk.endswith("Your policy file allows it, but this folder is not trusted: /w.")
            else:
                assert "type `agentnb trust` in it" in verdict.reason
    assert [judge(looking, in_folder(user=(ALLOW,))).outcome for looking in LOOKING] == ["allow", "allow"]


@pytest.mark.parametrize("asked", ACTING, ids=lambda each: f"{each['kind']}-{each.get('asked')}")
def test_approval_of_this_session_needs_no_trust(asked: Row) -> None:
    """Code that the user runs, an environment variable, an approval on a card; without any, trust changes nothing."""
    for consent in (
        {"mode": "allow"},
        {"attached": False, "headless": "allow"},
        {"session": (ALLOW,)},
        {"turn": (ALLOW,)},
    ):
        assert judge(asked, in_folder(**consent)).outcome == "allow"
    assert judge(asked, situation()) == judge(asked, in_folder())
    for trusted in (True, False):
        denied = judge(asked, situation(trusted=trusted, attached=False))
        assert (denied.outcome, "trust" in denied.reason) == ("deny", False)


def test_trust_lowers_no_floor_and_no_deny_rule() -> None:
    """Trust only makes allow rules hold."""
    assert judge(run("rm -rf x"), situation(ALLOW)).floor == "critical"
    assert judge(write("/w/.env"), situation(ALLOW)).floor == "sensitive"
    denied = judge(write(), in_folder(user=(ALLOW, rule("deny", path=("*.txt",)))))
    assert (denied.outcome, denied.distrusted) == ("deny", False)
    assert judge(write(), in_folder(user=(ALLOW,), mode="deny")).reason == 'denied: this session has permissions="deny"'
    both = judge(write(), in_folder(user=(rule("deny", tool=("edit",)), ALLOW)))
    assert both.outcome == "deny"
    assert "denied by a rule of the user (deny edit), and this folder is not trusted" in both.reason


@pytest.mark.parametrize(("trusted", "outcome"), [(True, "allow"), (False, "ask")])
def test_rule_for_a_sensitive_file_holds_only_with_trust(trusted: bool, outcome: str) -> None:
    """The rule is the user's, but the file is the folder's."""
    held = {**situation(rule("allow", path=("package.json",), sensitive=True)), "trusted": trusted}
    assert judge(write("/w/package.json"), held).outcome == outcome


def test_rule_for_a_folder_holds_only_in_it_and_without_trust() -> None:
    """It holds there and in subfolders, and nowhere else."""
    there = rule("allow", tool=("edit",), path=("**",), folder=("/w",))
    for root, outcome in [("/w", "allow"), ("/w/below", "allow"), ("/wide", "ask"), ("/", "ask")]:
        assert judge(write(f"{root}/a.py"), in_folder(user=(there,), root=root)).outcome == outcome


# --- which folders ---


@pytest.fixture
def allowing(user_file: Path) -> Path:
    """The user's file, which allows everything in trusted folders."""
    user_file.write_text('[[rule]]\naction = "allow"\n')
    return user_file


def trusts(monkeypatch: pytest.MonkeyPatch, folder: Path) -> bool:
    """True if the user's rule that allows everything holds in *folder*."""
    monkeypatch.chdir(folder)
    return agentnb.settings().what_if("pytest").startswith("It would be allowed")


@pytest.mark.usefixtures("allowing")
def test_trust_covers_subfolders_but_not_siblings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder whose name starts the same is another one."""
    (tmp_path / "work/fit").mkdir(parents=True)
    (tmp_path / "workshop").mkdir()
    agentnb.trust(tmp_path / "work")
    folders = ("work", "work/fit", "workshop/../work/fit", "work/../workshop", "workshop", ".")
    assert [trusts(monkeypatch, tmp_path / each) for each in folders] == [True, True, True, False, False, False]


def test_trust_follows_symbolic_links(tmp_path: Path, allowing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link inside a trusted folder may lead out of it; a trusted link stands for its target, as it is now."""
    (tmp_path / "foreign").mkdir()
    (tmp_path / "work/link").symlink_to(tmp_path / "foreign")
    (tmp_path / "alias").symlink_to(tmp_path / "work")
    agentnb.trust(tmp_path / "alias")
    folders = ("work", "alias", "work/link", "foreign")
    assert [trusts(monkeypatch, tmp_path / each) for each in folders] == [True, True, False, False]
    allowing.write_text(f'[trust]\nfolders = ["{tmp_path}/alias"]\n[[rule]]\naction = "allow"\n')
    for target in ("work", "foreign"):
        (tmp_path / "alias").unlink()
        (tmp_path / "alias").symlink_to(tmp_path / target)
        trusted = [trusts(monkeypatch, tmp_path / each) for each in ("work", "foreign")]
        assert trusted == [target == "work", target == "foreign"]


@pytest.mark.parametrize("entry", ["~", "~/work"])
def test_trusted_folder_can_start_with_a_tilde(page: Page, user_file: Path, entry: str) -> None:
    user_file.write_text(f"[trust]\nfolders = ['{entry}']\n")
    assert page.ask("listSettings", {})["result"]["trusted"] == [entry.replace("~", os.environ["HOME"])]


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
def test_mistake_in_the_trust_list_is_reported(user_file: Path, text: str, says: list[str]) -> None:
    """With the line and what to do; no folder is trusted, and everything asks."""
    user_file.write_text(text)
    agentnb.settings().set("permissions", "allow")
    with pytest.raises(PolicyError) as failure:
        agentnb.trust()
    assert all(words in str(failure.value) for words in says), str(failure.value)
    assert user_file.read_text() == text
    assert "a policy file cannot be read, so everything asks" in agentnb.settings().what_if("pytest")


@pytest.mark.usefixtures("allowing")
def test_project_that_trusts_itself_is_ignored_with_a_warning(
    page: Page, project_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the user can grant trust."""
    project_file.write_text(f'[trust]\nfolders = ["{tmp_path}"]\n')
    (warning,) = page.ask("listSettings", {})["result"]["problems"]
    words = (str(project_file), f"[trust] {str(tmp_path)!r}", "is ignored", "your own")
    assert all(each in warning for each in words)
    assert not trusts(monkeypatch, tmp_path / "work")


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
    page: Page, user_file: Path, tmp_path: Path, before: str
) -> None:
    """Other settings and comments stay; adding twice has no further effect."""

    def listed() -> tuple[list[str], object]:
        listing = page.ask("listSettings", {})["result"]
        return sorted(listing["trusted"]), listing["rules"]

    user_file.write_text(before)
    odd = tmp_path / 'a "quoted" back\\slash ü'
    odd.mkdir()
    trusted, rules = listed()
    agentnb.trust(odd)
    once = user_file.read_text()
    agentnb.trust(odd)
    assert user_file.read_text() == once
    assert listed() == (sorted([*trusted, str(odd)]), rules)
    kept = ("# mine", "# the first", "# [not this]", 'headless = "deny"')
    assert all(comment in once for comment in kept) or before != KEPT
    agentnb.untrust(odd)
    assert listed() == (trusted, rules)


def test_untrust_fails_when_a_parent_folder_is_trusted(page: Page, user_file: Path, tmp_path: Path) -> None:
    """The file stays unchanged."""
    (tmp_path / "work/fit").mkdir(parents=True)
    agentnb.trust(tmp_path / "work/fit")
    agentnb.trust(tmp_path / "work")
    before = user_file.read_text()
    with pytest.raises(PolicyError, match=r"fit is in .*work, which is trusted") as failure:
        agentnb.untrust(tmp_path / "work/fit")
    assert ("Remove the trust in that folder" in str(failure.value), user_file.read_text()) == (True, before)
    for name in ("work", "work/fit", "never"):
        agentnb.untrust(tmp_path / name)
    assert page.ask("listSettings", {})["result"]["trusted"] == []


def test_untrust_removes_every_spelling_of_a_folder(page: Page, user_file: Path, tmp_path: Path) -> None:
    """As a link, with dots, or twice."""
    (tmp_path / "alias").symlink_to(tmp_path / "work")
    entries = [f"{tmp_path}/{name}" for name in ("work", "alias", "x/../work", "work", "other")]
    user_file.write_text(f"[trust]\nfolders = {json.dumps(entries)}\n")
    agentnb.untrust(tmp_path / "work")
    assert page.ask("listSettings", {})["result"]["trusted"] == [f"{tmp_path}/other"]


def test_untrust_leaves_a_list_it_cannot_edit_unchanged(user_file: Path, tmp_path: Path) -> None:
    """A multi-line string is not supported."""
    text = f'[trust]\nfolders = ["""{tmp_path}"""]\n'
    user_file.write_text(text)
    with pytest.raises(PolicyError, match="by hand"):
        agentnb.untrust(tmp_path)
    assert user_file.read_text() == text
