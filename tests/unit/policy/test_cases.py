"""The policy against cases: those of the reference data, and agentnb's own, which are stricter."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from agentnb.policy.commands.rating import rate_command
from agentnb.policy.engine import judge
from agentnb.policy.keys import Mode
from agentnb.policy.request import PolicyRequest, RequestKind, Situation
from agentnb.policy.sensitive import SENSITIVE, rate_file, sensitive_pattern
from agentnb.policy.severity import Severity, rank
from scripts.gen_policy_cases import PAGE, judged

CASES: dict[str, list[Any]] = json.loads((Path(__file__).parents[2] / "cases/tables/cases.json").read_text("utf-8"))

OWN = Path(__file__).parents[2] / "cases/policy"


def rows(path: Path) -> list[dict[str, Any]]:
    data = json.loads(path.read_text("utf-8"))
    cases: list[dict[str, Any]] = data["cases"] if isinstance(data, dict) else data
    return cases


@pytest.fixture
def reference(shared: Path) -> Path:
    """The policy cases of the reference data."""
    folder = shared / "cases/policy"
    if not folder.is_dir():
        pytest.skip(f"no policy cases at {folder}")
    return folder


def test_command_rating_matches_the_table() -> None:
    """Neither looser nor stricter, and with a sentence unless the severity is ``none``."""
    wrong = []
    for row in rows(OWN / "commands.json"):
        rating = rate_command(row["command"])
        is_right = (rating.severity, bool(rating.reason)) == (row["severity"], row["severity"] != "none")
        if not is_right or (rating.reason is not None and not rating.reason.endswith(".")):
            wrong.append((row, rating))
    assert wrong == []


def test_attack_is_rated_at_least_as_severe_as_the_table() -> None:
    """Hidden in options, variables, encodings, other languages or names; critical and sensitive ones ask."""
    passed = []
    for row in rows(OWN / "attacks.json"):
        rating = rate_command(row["command"])
        is_loose = rank(rating.severity) < rank(row["least"]) or (rating.sensitive is None and row.get("sensitive"))
        if is_loose or ((row["least"] == "critical" or row.get("sensitive")) and not _asks(row["command"])):
            passed.append((row, rating))
    assert passed == []


def _asks(command: str) -> bool:
    request = PolicyRequest(kind="terminal", title="x", command=command)
    return judge(request, Situation(agent="a", mode="allow")).outcome == "ask"


def test_harmless_commands_are_rated_low_at_most() -> None:
    """Users switch off a policy that asks too often."""
    ratings = {command: rate_command(command) for command in CASES["harmless"]}
    assert {
        command: rating
        for command, rating in ratings.items()
        if rank(rating.severity) > rank("low") or rating.sensitive is not None
    } == {}


LISTED = ("requests", "commands", "attacks", "files", "dangerous", "everyday", "disguised")
REQUESTS = rows(OWN / "requests.json")


def test_decision_matches_the_table_for_every_request_and_mode() -> None:
    """No row has an unknown key."""
    known = {"kind", "path", "command", "asked", "vague", "mode", "attached", "trusted", "user", "project", "session"}
    known |= {"bypass", "headless", "file", "problem", "outcome", "floor"}
    verdicts = [(row, judged(row)) for row in REQUESTS]
    assert [
        (row, verdict)
        for row, verdict in verdicts
        if (verdict.outcome, verdict.floor) != (row["outcome"], row.get("floor")) or set(row) - known
    ] == []


def test_table_has_every_kind_of_request_in_every_mode() -> None:
    """A new kind or mode needs new rows."""
    pairs = {(row["kind"], row.get("mode", "ask")) for row in REQUESTS}
    assert {(kind, mode) for kind in get_args(RequestKind) for mode in get_args(Mode)} - pairs <= {("terminal", "deny")}


def test_page_of_cases_lists_every_case_as_plain_text() -> None:
    """A case adds no HTML tag, link, table syntax or line break to the page."""
    # `make check` compares the page with the engine: making it takes seconds.
    text = PAGE.read_text(encoding="utf-8")
    body = text.split("-->", 1)[1]
    cells = [line for line in body.splitlines() if line.startswith("|")]
    count = sum(len(rows(OWN / f"{name}.json")) for name in LISTED)
    assert sum(not line.startswith(("|---", "| kind", "| command", "| file")) for line in cells) == count
    inside = re.sub(r"</?code>|&#\d+;", "", "\n".join(cells))
    assert set(re.findall(r"[^\w\s|,./;=%()+'#?⟨⏎⟩-]", inside)) <= {"…"}
    assert re.search(r"://|www\.", inside) is None


def test_file_sensitivity_matches_the_table() -> None:
    """Relative, parent and absolute paths, in any letter case."""
    files = rows(OWN / "files.json")
    assert [row for row in files if (sensitive_pattern(row["path"]) is not None) != row["sensitive"]] == []


def test_reference_commands_are_rated_at_least_as_severe(reference: Path) -> None:
    """On every platform: the rating does not depend on it."""
    cases = rows(reference / "command-severity.json")
    loose = [each for each in cases if rank(rate_command(each["command"]).severity) < rank(each["severity"])]
    assert (len(cases), loose) == (417, [])


@pytest.mark.parametrize(
    ("command", "least"),
    [
        ("rm -fr build", "critical"),
        ("git push -f", "medium"),
        ("chmod 0777 f", "high"),
        ("dd of=/dev/sda if=x", "critical"),
        ("bash <(curl -s https://x)", "high"),
    ],
)
def test_commands_the_reference_underrates_are_rated_higher(command: str, least: Severity) -> None:
    """The reference's own notes name these."""
    assert rank(rate_command(command).severity) >= rank(least)


def test_reference_files_are_at_least_as_sensitive(reference: Path) -> None:
    """Under its six sets of patterns; ``false`` there means ask, ``true`` here."""
    data = json.loads((reference / "file-sensitivity.json").read_text("utf-8"))
    sets = {each["name"]: each.get("patterns") for each in data["patternSets"]}
    loose = []
    for each in data["cases"]:
        patterns = sets[each["patternSet"]]
        ours = SENSITIVE if patterns is None else {name: not free for name, free in patterns.items()}
        asks = sensitive_pattern(each["path"], ours) is not None
        severe = rank(rate_file(each["path"], ours, "").severity) >= rank(each["severity"])
        if (each["requiresApproval"] and not asks) or not severe:
            loose.append(each)
    assert (len(data["cases"]), loose) == (378, [])


def test_reference_default_patterns_are_all_sensitive(reference: Path) -> None:
    """Each one, by an example path."""
    patterns = json.loads((reference / "default-sensitive-patterns.json").read_text("utf-8"))["cases"]
    asking = [pattern for pattern, free in patterns.items() if not free]
    examples = [pattern.removeprefix("**/").replace("*", "x") for pattern in asking]
    assert [path for path in examples if sensitive_pattern(path) is None] == []


COMMANDS: dict[Severity, str] = {
    "none": "ls",
    "low": "pytest",
    "medium": "rm file.txt",
    "high": "sudo ls",
    "critical": "rm -rf x",
}


def test_terminal_requests_match_the_reference_approval_table(reference: Path) -> None:
    """Allowed by the session's mode, or asked with at least the reference's severity and a risk."""
    cases = rows(reference / "terminal-approval.json")
    for each in cases:
        mode: Mode = "allow" if each["autoApprove"] else "ask"
        command = COMMANDS[each["severity"]]
        verdict = judge(PolicyRequest(kind="terminal", title="x", command=command), Situation(agent="a", mode=mode))
        wanted = each["decision"]
        assert (verdict.outcome == "ask") == wanted["requiresApproval"], each
        assert bool(verdict.risk), each
        if verdict.outcome == "ask":
            assert rank(verdict.severity) >= rank(wanted["severity"]), each
    assert len(cases) == 16
