"""In a session that allows everything, dangerous commands always ask and everyday ones never."""

from __future__ import annotations

import json
import re
import statistics
import time
from collections import Counter
from pathlib import Path, PurePath

from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb.policy.commands.rating import rate_command
from agentnb.policy.engine import judge
from agentnb.policy.request import PolicyRequest, Situation
from agentnb.policy.rules import AccessRule, InForce
from agentnb.policy.settings import PolicySettings
from scripts.gen_policy_cases import PAGE
from tests.thorough import examples

CASES = Path(__file__).parents[2] / "cases/policy"
EVERYDAY: list[str] = json.loads((CASES / "everyday.json").read_text("utf-8"))
DANGEROUS: list[str] = json.loads((CASES / "dangerous.json").read_text("utf-8"))
ALLOWING = Situation(agent="a", mode="allow", root=PurePath("/home/ada/work"))
DENYING = Situation(
    agent="a",
    root=PurePath("/home/ada/work"),
    trusted=True,
    user=PolicySettings(
        rules=(
            InForce(AccessRule(action="allow"), "user"),
            InForce(AccessRule(action="deny", command=("rm *",)), "user"),
        )
    ),
)
DISGUISED: list[str] = json.loads((CASES / "disguised.json").read_text("utf-8"))


def outcome(command: str, situation: Situation = ALLOWING) -> str:
    """Returns the outcome for *command*, run in the workspace's folder."""
    request = PolicyRequest(kind="terminal", title="Run", command=command, path="/home/ada/work")
    return judge(request, situation).outcome


def outcomes(section: str) -> Counter[str]:
    """Counts the outcomes in a section of the page of cases, which `make check` compares with the engine."""
    text = PAGE.read_text("utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    headings = re.findall(r"^### (\w+), \w+ \((\d+)\)$", text, re.MULTILINE)
    return sum((Counter({outcome: int(count)}) for outcome, count in headings), Counter[str]())


def test_everyday_commands_are_allowed_without_asking() -> None:
    assert outcomes("Everyday commands") == {"Allowed": len(EVERYDAY)}


def test_dangerous_commands_ask() -> None:
    assert outcomes("Dangerous commands") == {"Asked": len(DANGEROUS)}


def test_command_that_may_hide_a_denied_one_is_not_allowed() -> None:
    """A rule that allows everything does not cover it if another denies ``rm *``."""
    counts = outcomes("Disguises")
    assert counts["Denied"] + counts["Asked"] == counts.total() == len(DISGUISED)


def test_glob_that_can_match_a_denied_program_is_denied() -> None:
    """``/bin/r?`` can be ``rm``."""
    assert outcome("/bin/r? a", DENYING) == "deny"


def test_python_module_is_rated_as_its_program() -> None:
    """``python -m pip install`` is ``pip install``, for rules too."""
    assert rate_command("python -m pip install numpy").severity == rate_command("pip install numpy").severity
    assert "pip install numpy" in rate_command("python3.11 -Im pip install numpy").units


BASES = (
    ("rm", "-rf", "src"),
    ("git", "push", "--force"),
    ("git", "clean", "-fdx"),
    ("shred", "-u", "data.db"),
    ("truncate", "-s", "0", "data.db"),
    ("tar", "--remove-files", "-cf", "a.tar", "src"),
    ("rsync", "-a", "--delete", "a/", "b/"),
    ("crontab", "-r"),
    ("docker", "system", "prune", "-af"),
    ("terraform", "destroy"),
)


def _quoted(word: str, how: int) -> str:
    middle = max(1, len(word) // 2)
    return (
        word,
        f"'{word}'",
        f'"{word}"',
        f"\\{word}" if word[0].isalpha() else word,
        f"'{word[:middle]}''{word[middle:]}'",
        f'{word[:middle]}""{word[middle:]}',
        "$'" + "".join(f"\\x{ord(char):02x}" for char in word) + "'",
        "$'" + "".join(f"\\{ord(char):03o}" for char in word) + "'",
    )[how]


WRAPPERS = (
    "{}",
    "command {}",
    "env {}",
    "env A=1 {}",
    "timeout 5 {}",
    "nice -n 5 {}",
    "nohup {}",
    "exec {}",
    "sudo {}",
    "sudo -u ada {}",
    "stdbuf -o0 {}",
    "time {}",
    "A=1 {}",
    "! {}",
)
PLACES = (
    "{}",
    "ls; {}",
    "ls && {}",
    "false || {}",
    "ls\n{}",
    "ls | {}",
    "({})",
    "{{ {}; }}",
    "if true; then {}; fi",
    "for x in a b; do {}; done",
    "while true; do {}; done",
    "case a in a) {};; esac",
    "echo $({})",
    "echo `{}`",
    "cat <({})",
    "f() {{ {}; }}; f",
    "{} > out.txt 2>&1",
    "{} &",
    "cd src && {}",
)


@st.composite
def disguised(draw: st.DrawFn) -> str:
    """Draws a dangerous command with quoting, wrappers and a place."""
    words = draw(st.sampled_from(BASES))
    hows = draw(st.lists(st.integers(0, 7), min_size=len(words), max_size=len(words)))
    line = " ".join(_quoted(word, how) for word, how in zip(words, hows, strict=True))
    for _ in range(draw(st.integers(0, 2))):
        line = draw(st.sampled_from(WRAPPERS)).format(line)
    return draw(st.sampled_from(PLACES)).format(line)


@settings(max_examples=examples(300), deadline=None)
@given(command=disguised())
def test_disguised_dangerous_command_asks(command: str) -> None:
    assert outcome(command) == "ask"


@settings(max_examples=examples(100), deadline=None)
@given(
    words=st.sampled_from(BASES),
    at=st.integers(0, 9),
    sign=st.sampled_from("?*"),
    folder=st.sampled_from(["/bin/", "./"]),
)
def test_glob_as_program_name_asks(words: tuple[str, ...], at: int, sign: str, folder: str) -> None:
    """The result does not depend on existing files."""
    name, *rest = words
    at %= len(name)
    assert outcome(f"{folder}{name[:at]}{sign}{name[at + 1 :]} {' '.join(rest)}") == "ask"


@settings(max_examples=examples(100), deadline=None)
@given(words=st.sampled_from(BASES), how=st.integers(0, 4))
def test_dangerous_command_in_a_variable_or_pipe_asks(words: tuple[str, ...], how: int) -> None:
    """The text is known, or the policy asks because it is not."""
    line = " ".join(words)
    shapes = (
        f"X='{line}'; $X",
        f"X='{line}'; eval \"$X\"",
        f"echo '{line}' | sh",
        f"bash -c '{line}'",
        f"sh <<E\n{line}\nE",
    )
    assert outcome(shapes[how]) == "ask"


def test_rating_a_command_takes_a_few_milliseconds() -> None:
    """Nothing should wait for a rating. Measures the median of the everyday commands."""
    rate_command("warm up")
    took = []
    for command in EVERYDAY:
        began = time.thread_time()
        rate_command(f"{command} ")
        took.append(time.thread_time() - began)
    assert statistics.median(took) < 0.005
