"""Policy files: valid content, and the errors for invalid content."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb.errors import PolicyError
from tests.unit.server.asking_page import Page

CASES: dict[str, list[Any]] = json.loads((Path(__file__).parents[2] / "cases/tables/settings.json").read_text("utf-8"))

FULL = """\
headless = "allow"
cell_review = "after"

[agents.claude]
bypass = true

[agents."my agent"]
bypass = false

[agents.free]
confine = false

[sensitive]
"**/*.csv" = true
"**/package.json" = false

[[rule]]
action = "allow"
tool = ["edit", "read"]
path = "src/**"
note = "mine"

[[rule]]
action = "deny"
agent = "codex"
command = ["curl *", "wget *"]
severity = "medium"
sensitive = true
"""


def what_if(command: str = "", **more: Any) -> str:
    """Returns the first words of the policy's answer."""
    return agentnb.settings().what_if(command, **more).partition(":")[0].partition(" by ")[0].rstrip(".")


ALLOWED, ASKED, DENIED = "It would be allowed", "You'd be asked", "It would be denied"


def test_policy_file_with_every_kind_of_setting_is_read(page: Page, user_file: Path) -> None:
    """A value may be one text or a list."""
    user_file.write_text(FULL)
    agentnb.trust()
    listing = page.ask("listSettings", {})["result"]
    assert [each["text"] for each in listing["rules"]] == [
        "allow edit or read src/**",
        "deny curl * or wget * for codex even if sensitive",
    ]
    assert listing["problems"] == []
    assert [what_if("curl x", agent=agent) for agent in ("codex", "claude", "my agent")] == [DENIED, ALLOWED, ASKED]
    paths = ("src/a.py", "b.py", "src/a.csv", "package.json")
    assert [what_if(path=path, agent="my agent") for path in paths] == [ALLOWED, ASKED, ASKED, ASKED]
    assert "A sensitive file, as **/*.csv says" in agentnb.settings().what_if(path="src/a.csv", agent="claude")
    assert what_if(path="package.json", agent="claude") == ALLOWED


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *CASES["a mistake is said with file line key and what to do"],
        ('cell_review = "never"', ["It can be 'first', 'after'"]),
    ],
)
def test_mistake_in_a_policy_file_is_reported_with_a_hint(user_file: Path, text: str, says: list[str]) -> None:
    user_file.write_text(text)
    with pytest.raises(PolicyError) as failure:
        agentnb.trust()
    assert all(words in str(failure.value) for words in says), str(failure.value)
    assert failure.value.hint


@pytest.mark.parametrize("content", [b"[[rule]]\naction = 1", b"\xff\xfe", b"["])
def test_everything_asks_until_a_bad_policy_file_is_fixed(user_file: Path, content: bytes) -> None:
    """Even in a session that allows; files are read again when they change."""
    agentnb.settings().set("permissions", "allow")
    assert what_if("ls") == ALLOWED
    user_file.write_bytes(content)
    assert "a policy file cannot be read, so everything asks" in agentnb.settings().what_if("ls")
    user_file.write_text("[[rule]]\naction = 'deny'\n")
    assert what_if("ls") == DENIED
    user_file.unlink()
    assert what_if("ls") == ALLOWED


def test_project_policy_ignores_loosening_entries_with_warnings(page: Page, project_file: Path) -> None:
    """Only the user may set allow rules, bypasses, looser patterns, headless and the time of a review."""
    project_file.write_text(FULL)
    listing = page.ask("listSettings", {})["result"]
    assert [each.partition(" ")[0] for each in listing["projectRules"]] == ["deny"]
    assert what_if(path="src/a.csv", agent="claude") == ASKED
    assert what_if("curl x", agent="codex") == DENIED
    loosening = ("headless", "cell_review", "bypass", "confine", "package.json", "allow edit or read src/**")
    for each in loosening:
        assert [warning for warning in listing["problems"] if each in warning and "is ignored" in warning] != [], each
    assert len(listing["problems"]) == len(loosening)
    assert all(str(project_file) in warning for warning in listing["problems"])


def test_added_rule_is_appended_to_the_user_policy_file(page: Page, user_file: Path) -> None:
    """The old content stays, including comments; the written rules are read back unchanged."""
    odd = 'quote " tab \t euro € bell \x07'
    agentnb.settings().add_rule("allow", tool="edit", path="**")
    assert stat.S_IMODE(user_file.stat().st_mode) == 0o600
    user_file.write_text(f"{user_file.read_text()}# mine\n")
    user_file.chmod(0o640)
    fields: dict[str, Any] = {"agent": "a", "tool": "edit", "path": odd, "severity": "low", "sensitive": True}
    assert agentnb.settings().add_rule("allow", note=f"back \\ {odd}", **fields) == user_file
    listing = page.ask("listSettings", {})["result"]
    assert [each["text"] for each in listing["rules"]] == [
        "allow edit **",
        f"allow edit {odd} for a up to low risk even if sensitive",
    ]
    assert ("# mine" in user_file.read_text(), stat.S_IMODE(user_file.stat().st_mode)) == (True, 0o640)
    assert sorted(each.name for each in user_file.parent.iterdir()) == [".policy.toml.lock", "policy.toml"]


def test_policy_file_that_is_a_link_stays_a_link(user_file: Path, tmp_path: Path) -> None:
    """Users often link their dot files."""
    user_file.symlink_to(tmp_path / "dotfiles.toml")
    agentnb.settings().add_rule("allow", tool="edit")
    assert (user_file.is_symlink(), stat.S_IMODE((tmp_path / "dotfiles.toml").stat().st_mode)) == (True, 0o600)


@pytest.mark.parametrize("before", ["[[rule]]\naction = 'alow'\n", "rule = [{action = 'ask'}]\n", "["])
def test_policy_file_that_cannot_take_a_rule_stays_unchanged(user_file: Path, before: str) -> None:
    """It has a mistake or rules in another TOML style."""
    user_file.write_text(before)
    with pytest.raises(PolicyError):
        agentnb.settings().add_rule("allow")
    assert user_file.read_text() == before


def test_unwritable_policy_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to do."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "file"))
    with pytest.raises(PolicyError, match="Add the rule by hand"):
        agentnb.settings().add_rule("allow")


def test_policy_file_is_in_the_jupyter_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or where agentnb's own variable says."""
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "jupyter"))
    assert agentnb.settings().add_rule("deny") == tmp_path / "jupyter/agentnb/policy.toml"
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "own"))
    assert agentnb.settings().add_rule("deny") == tmp_path / "own/policy.toml"


def test_site_policy_file_can_only_tighten(page: Page, site: Callable[[str], Path], tmp_path: Path) -> None:
    """Its ceiling and rules hold; loosening entries are ignored with a warning."""
    site('freedom_at_most = "ask"\n[[rule]]\naction = "deny"\ncommand = "git push *"\n')
    (tmp_path / "user").mkdir()
    (tmp_path / "user/policy.toml").write_text('[agents.claude]\nbypass = true\n[[rule]]\naction = "allow"\n')
    agentnb.trust()
    assert [what_if(each, agent="claude") for each in ("git push origin", "git status")] == [DENIED, ALLOWED]
    site('[[rule]]\naction = "allow"\n[agents.eliza]\nbypass = true\n')
    warnings = page.ask("listSettings", {})["result"]["problems"]
    assert len([each for each in warnings if "is ignored" in each]) == 2
    site("freedom_at_most = 3\n")
    assert "a policy file cannot be read" in agentnb.settings().what_if("git status", agent="claude")
