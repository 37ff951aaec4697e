"""Commands and the files that they name: the boundary, the working folder, path rules, sensitive files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.policy.decisions import Row, judge, request, rule, run, situation

CASES: dict[str, list[str]] = json.loads((Path(__file__).parents[2] / "cases/policy/targets.json").read_text("utf-8"))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace with a folder, a link out of it, a link inside, and secrets."""
    root = tmp_path.resolve() / "work"
    (root / "sub/deep").mkdir(parents=True)
    (root / ".aws").mkdir()
    (root / ".git/hooks").mkdir(parents=True)
    (root / "data/raw").mkdir(parents=True)
    (root / "out").symlink_to(tmp_path)
    (root / "link").symlink_to(root / "sub/deep")
    (root.parent / "notes").write_text("x")
    for name in ("a.py", "a.csv", "data/raw/x", ".aws/config"):
        (root / name).write_text("x")
    return root


def judged(
    root: Path, command: str, *rules: Row, mode: str = "allow", cwd: str = ".", kind: str = "terminal", **more: Any
) -> Any:
    path = str((root / cwd).resolve())
    return judge(request(kind, path, command, **more), situation(*rules, root=root, mode=mode))


@pytest.mark.parametrize("command", CASES["outside"])
def test_command_with_a_file_outside_the_workspace_asks(work: Path, command: str) -> None:
    """Even in a session that allows, with a rule that allows all commands."""
    for rules in ((), (rule("allow", command=("*",)),)):
        verdict = judged(work, command, *rules)
        assert (verdict.outcome, verdict.floor) == ("ask", "outside"), verdict


@pytest.mark.parametrize("command", CASES["inside"])
def test_command_with_files_inside_the_workspace_is_allowed(work: Path, command: str) -> None:
    """Users switch off a policy that asks too often."""
    verdict = judged(work, command)
    assert (verdict.outcome, verdict.floor) == ("allow", None), verdict


@pytest.mark.parametrize("attached", [True, False])
def test_headless_denies_files_outside_the_workspace(work: Path, attached: bool) -> None:
    held = situation(root=work, attached=attached, headless="allow")
    outcomes = [judge(run(command, str(work)), held).outcome for command in ("cat ../x", "cat a.py")]
    assert outcomes == (["ask", "ask"] if attached else ["deny", "allow"])


@pytest.mark.parametrize(
    ("command", "opened"),
    [("cat ../data/x", True), ("cp ../data/x .", True), ("touch ../data/x", False), ("cat ../other", False)],
)
def test_rule_allows_only_the_outside_files_it_names(work: Path, command: str, opened: bool) -> None:
    """Only for reading here; the command still needs permission to run."""
    there = rule("allow", tool=("read",), path=(f"{work.parent}/data/**",))
    assert (judged(work, command, there).outcome == "allow") == opened
    assert judged(work, command, there, mode="ask").outcome == "ask"


@pytest.mark.parametrize("command", CASES["data/raw"])
@pytest.mark.parametrize("whose", ["user", "project"])
def test_rule_that_denies_a_path_denies_commands_that_name_it(work: Path, command: str, whose: str) -> None:
    """The manual's own example; a rule that allows a path allows no command."""
    raw = rule("deny", path=("data/raw/**",))
    held = situation(root=work, mode="allow", **{whose: (raw,)})
    assert judge(run(command, str(work)), held).outcome == "deny"
    assert judged(work, "cat data/other", raw).outcome == "allow"
    assert judged(work, "cat a.py", rule("allow", path=("**",)), mode="ask").outcome == "ask"


@pytest.mark.parametrize(
    ("cwd", "command", "floor"),
    [
        (".aws", "cat config", "sensitive"),
        (".git/hooks", "cp ../../a.py pre-commit", "sensitive"),
        (".", "cd .aws && cat config", "sensitive"),
        (".", "true || cd sub; cd .aws; cat config", "sensitive"),
        ("sub", "cat ../a.py", None),
        ("sub", "cat ../../x", "outside"),
        ("sub", "cat config", None),
    ],
)
def test_command_paths_start_in_its_working_folder(work: Path, cwd: str, command: str, floor: str | None) -> None:
    """The agent names a folder, and the line may enter others."""
    assert judged(work, command, cwd=cwd).floor == floor


@pytest.mark.parametrize("command", ["cat a.csv", "cat *.csv", "python -c \"open('a.csv')\"", "python a.py sub/b.csv"])
def test_user_sensitive_patterns_hold_for_commands_that_read(work: Path, command: str) -> None:
    held = situation(root=work, mode="allow", sensitive=(("**/*.csv", True),))
    verdict = judge(run(command, str(work)), held)
    assert (verdict.outcome, verdict.floor) == ("ask", "sensitive")
    assert judged(work, command).outcome == "allow"


@pytest.mark.parametrize("command", CASES["git push"])
@pytest.mark.parametrize("action", ["deny", "ask"])
def test_rule_stops_a_command_in_every_spelling(work: Path, command: str, action: Any) -> None:
    """An allow rule needs the exact spelling."""
    assert judged(work, command, rule(action, command=("git push *",))).outcome == action
    allowing = judged(work, command, rule("allow", command=("git push *",)), mode="ask")
    assert (allowing.outcome == "allow") == (command in {"git push", "X=1 git push"})


@pytest.mark.parametrize(
    ("variable", "outcome"),
    [("GIT_PAGER", "ask"), ("LD_PRELOAD", "ask"), ("PATH", "ask"), ("BASH_ENV", "ask"), ("CLAUDECODE", "allow")],
)
def test_command_rule_does_not_cover_path_or_preload_variables(work: Path, variable: str, outcome: str) -> None:
    """A rule for the command alone does not cover them."""
    logs = rule("allow", command=("git log *", "true"))
    for command in ("git log", "true; git log"):
        assert judged(work, command, logs, mode="ask", env=((variable, "x"),)).outcome == outcome
        assert judged(work, command, logs, mode="ask").outcome == "allow"


@pytest.mark.parametrize("kind", ["read", "fetch", "think", "search", "edit", "execute", "other"])
def test_permission_request_with_a_command_is_rated_by_it(work: Path, kind: str) -> None:
    """For any kind of tool, and despite rules that allow such tools."""
    for rules in ((), (rule("allow", tool=("read", "fetch", "think", "search", "edit")),)):
        verdict = judged(work, "rm -rf x", *rules, kind="permission", asked=kind)
        assert (verdict.outcome, verdict.floor, verdict.severity) == ("ask", "critical", "critical")
    assert judged(work, "ls", rule("allow", tool=("fetch",)), mode="ask", kind="permission", asked=kind).outcome == (
        "ask"
    )
    assert judged(work, "ls", rule("deny", tool=(kind,)), kind="permission", asked=kind).outcome == "deny"


@pytest.mark.parametrize("kind", ["execute", "other", "edit", "read"])
def test_request_gets_the_strictest_rating_of_command_and_files(work: Path, kind: str) -> None:
    for path, floor in (
        ("/etc/shadow", {"outside", "sensitive"}),
        (f"{work}/.env", {"sensitive"}),
        (f"{work}/a", {None}),
    ):
        verdict = judged(work, "create", kind="permission", asked=kind, paths=(path,))
        assert verdict.floor in floor
    denied = rule("deny", path=("a.py",))
    assert judged(work, "create", denied, kind="permission", asked=kind, paths=(f"{work}/a.py",)).outcome == "deny"
    assert judged(work, "ls", kind="permission", asked=kind, cwd="..").floor == "outside"


PATTERNS = st.sampled_from(("**/.env*", "*.{pem,key}", "!src/**", "a/**", "**/x/**", "src/?[ab]", "**", "!**/b"))
PATHS = st.lists(st.sampled_from(["a", "b", "x", ".env", ".env.local", "src", "k.pem", "K.KEY", "\n"])).map("/".join)


@given(patterns=st.lists(PATTERNS), path=PATHS)
def test_combined_path_patterns_match_like_single_ones(patterns: list[str], path: str) -> None:
    """One combined search, also with negated patterns."""

    def floor(*sensitive: str) -> str | None:
        held = situation(mode="allow", sensitive=tuple((each, True) for each in sensitive))
        return judge(request("read", f"/w/{path}"), held).floor

    assert (floor(*patterns) == "sensitive") == ("sensitive" in {floor(), *map(floor, patterns)})


@pytest.mark.parametrize("command", ["cat {}", "{} x", "ls {}"])
def test_command_with_a_very_long_glob_asks(command: str) -> None:
    """Unclosed brackets took seconds to match."""
    assert judge(run(command.format("a*[b" * 1_000)), situation(mode="allow")).outcome == "ask"
