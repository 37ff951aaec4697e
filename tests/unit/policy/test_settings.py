"""Policy files: valid content, and the errors for invalid content."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from agentnb.errors import PolicyError
from agentnb.policy.audit import AuditLog
from agentnb.policy.keys import FILE_KEYS, RULE_KEYS
from agentnb.policy.rules import AccessRule
from agentnb.policy.settings import load, parse, tightened
from agentnb.policy.store import PolicyFiles
from agentnb.policy.workspace import PROJECT

CASES: dict[str, list[Any]] = json.loads((Path(__file__).parents[2] / "cases/tables/settings.json").read_text("utf-8"))

FULL = """\
headless = "allow"

[agents.claude]
bypass = true

[agents."my agent"]
bypass = false

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


def test_policy_file_with_every_kind_of_setting_is_read() -> None:
    """A value may be one text or a list."""
    settings = parse(FULL, "policy.toml")
    assert [each.rule.text for each in settings.rules] == [
        "allow edit or read src/**",
        "deny curl * or wget * for codex even if sensitive",
    ]
    assert [each.where for each in settings.rules] == ["policy.toml rule 1", "policy.toml rule 2"]
    assert (settings.bypass, settings.headless) == (frozenset({"claude"}), "allow")
    assert settings.sensitive == (("**/*.csv", True), ("**/package.json", False))


@pytest.mark.parametrize(("text", "says"), CASES["a mistake is said with file line key and what to do"])
def test_mistake_in_a_policy_file_is_reported_with_a_hint(text: str, says: list[str]) -> None:
    with pytest.raises(PolicyError) as failure:
        parse(text, "policy.toml")
    assert all(words in str(failure.value) for words in says), str(failure.value)
    assert failure.value.hint


@pytest.mark.parametrize("content", [b"[[rule]]\naction = 1", b"\xff\xfe", b"["])
def test_bad_policy_file_sets_nothing_and_reports_why(tmp_path: Path, content: bytes) -> None:
    """Until the user fixes it, everything asks."""
    path = tmp_path / "policy.toml"
    path.write_bytes(content)
    settings = load(path, "user")
    assert (settings.rules, settings.headless) == ((), "deny")
    assert settings.problem is not None
    assert (str(path) in settings.problem, "everything asks" in settings.problem) == (True, True)


def test_missing_policy_file_gives_the_defaults(tmp_path: Path) -> None:
    settings = load(tmp_path / "none/policy.toml", "user")
    assert (settings.rules, settings.problem, settings.warnings) == ((), None, ())


def test_project_can_confine_agents_but_not_free_them() -> None:
    """``confine = false`` is ignored, with a warning."""
    text = "[agents.a]\nconfine = true\n[agents.b]\nconfine = false\n[agents.c]\nconfine = ['X.org']"
    settings = tightened(parse(text, "policy.toml"), "policy.toml")
    assert settings.confine == {"a": True, "c": ("x.org",)}
    (warning,) = settings.warnings
    assert "[agents.b] confine is ignored" in warning


def test_project_policy_ignores_loosening_entries_with_warnings(tmp_path: Path) -> None:
    """Only the user may set allow rules, bypasses, looser patterns and headless."""
    path = tmp_path / "policy.toml"
    path.write_text(FULL)
    settings = load(path, "project")
    assert [each.rule.action for each in settings.rules] == ["deny"]
    assert (settings.bypass, settings.headless, settings.sensitive) == (frozenset(), "deny", (("**/*.csv", True),))
    assert len(settings.warnings) == 4
    assert all(str(path) in warning and "is ignored" in warning for warning in settings.warnings)


def test_policy_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    files = PolicyFiles(tmp_path / "policy.toml")
    assert not files.user.rules
    files.user_path.write_text("[[rule]]\naction = 'deny'\n")
    assert [each.rule.action for each in files.user.rules] == ["deny"]
    files.user_path.unlink()
    assert not files.user.rules
    (tmp_path / PROJECT).parent.mkdir()
    (tmp_path / PROJECT).write_text("[[rule]]\naction = 'ask'\n")
    assert [each.source for each in files.project(tmp_path).rules] == ["project"]


ODD = 'quote " back \\ tab \t euro € bell \x07'


def test_always_rule_is_appended_to_the_user_policy_file(tmp_path: Path) -> None:
    """The old content stays, including comments; the written rules are read back unchanged."""
    path = tmp_path / "made" / "policy.toml"
    files = PolicyFiles(path)
    first = AccessRule(action="allow", tool=("edit",), path=("**",))
    odd = AccessRule(action="allow", agent=("a",), command=(ODD,), severity="low", sensitive=True, note=ODD)
    files.remember(first)
    path.write_text(f"{path.read_text()}# mine\n")
    path.chmod(0o640)
    files.remember(odd)
    assert [each.rule for each in files.user.rules] == [first, odd]
    assert "# mine" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(each.name for each in path.parent.iterdir()) == [".policy.toml.lock", "policy.toml"]


def test_new_policy_file_is_private_and_a_link_stays_a_link(tmp_path: Path) -> None:
    """Users often link their dot files."""
    path, real = tmp_path / "policy.toml", tmp_path / "dotfiles.toml"
    path.symlink_to(real)
    PolicyFiles(path).remember(AccessRule(action="allow", tool=("edit",)))
    assert (path.is_symlink(), stat.S_IMODE(real.stat().st_mode)) == (True, 0o600)


@pytest.mark.parametrize("before", ["[[rule]]\naction = 'alow'\n", "rule = [{action = 'ask'}]\n", "["])
def test_policy_file_that_cannot_take_a_rule_stays_unchanged(tmp_path: Path, before: str) -> None:
    """It has a mistake or rules in another TOML style."""
    path = tmp_path / "policy.toml"
    path.write_text(before)
    with pytest.raises(PolicyError):
        PolicyFiles(path).remember(AccessRule(action="allow"))
    assert path.read_text() == before


def test_unwritable_policy_folder_is_reported(tmp_path: Path) -> None:
    """The error says what to do."""
    (tmp_path / "file").write_text("")
    with pytest.raises(PolicyError, match="Add the rule by hand"):
        PolicyFiles(tmp_path / "file" / "policy.toml").remember(AccessRule(action="allow"))


@pytest.mark.parametrize(
    ("environment", "policy", "log"),
    [
        ({"JUPYTER_CONFIG_DIR": "/c", "JUPYTER_DATA_DIR": "/d"}, "/c/agentnb/policy.toml", "/d/agentnb/audit.jsonl"),
        ({"AGENTNB_CONFIG_DIR": "/e", "AGENTNB_DATA_DIR": "/f"}, "/e/policy.toml", "/f/audit.jsonl"),
    ],
)
def test_policy_and_audit_files_are_in_the_jupyter_folders(
    environment: dict[str, str], policy: str, log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or where agentnb's own variables say."""
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "AGENTNB_CONFIG_DIR", "AGENTNB_DATA_DIR")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    assert str(PolicyFiles().user_path).startswith(os.environ["HOME"])
    for name, folder in environment.items():
        monkeypatch.setenv(name, folder)
    assert (str(PolicyFiles().user_path), str(AuditLog().path)) == (policy, log)


def test_project_can_set_cell_review_only_to_first(tmp_path: Path) -> None:
    """A repository must not have its notebooks changed without a question."""
    file = tmp_path / "policy.toml"
    for text, expected in (('cell_review = "first"', "first"), ('cell_review = "after"', None), ("", None)):
        file.write_text(text)
        assert load(file, "project").cell_review == expected
        assert bool(load(file, "project").warnings) == ("after" in text)
    file.write_text('cell_review = "after"')
    assert load(file, "user").cell_review == "after"
    with pytest.raises(PolicyError, match="It can be 'first', 'after'"):
        parse('cell_review = "never"', "policy.toml")


def test_every_rule_key_can_be_written_and_read(tmp_path: Path) -> None:
    """A rule with all keys is read back unchanged; missing keys have the table's defaults."""
    values: dict[str, Any] = {"choice": "ask", "texts": ("read",), "switch": True, "text": "why"}
    full = AccessRule(**{key.name: values[key.kind] for key in RULE_KEYS} | {"severity": "low", "folder": ("/w",)})
    files = PolicyFiles(tmp_path / "policy.toml")
    files.remember(full)
    assert [each.rule for each in files.user.rules] == [full]
    assert {key.name for key in RULE_KEYS} == set(AccessRule.__struct_fields__)
    empty = parse("", "policy.toml")
    assert {key.name: getattr(empty, key.name) for key in FILE_KEYS} == {key.name: key.default for key in FILE_KEYS}
