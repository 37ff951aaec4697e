"""The inside: the parser of shell scripts, with hundreds of cases: which commands run with which words."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentnb.policy.commands.rating import LONGEST_COMMAND, rate_command
from agentnb.policy.shell.parser import Dialect, parse
from agentnb.policy.shell.tree import Compound, Function, Pipeline, ShellScript, Simple, fields
from agentnb.policy.shell.words import Unreadable, split_words
from tests.unit.policy.decisions import judge, run, situation

CASES: dict[str, list[Any]] = json.loads((Path(__file__).parents[2] / "cases/policy/shell.json").read_text("utf-8"))


def commands(script: ShellScript) -> list[list[str]]:
    """Returns every simple command, including nested ones; marks computed text."""
    simple_commands: list[list[str]] = []
    for command in script.commands:
        match command:
            case Simple():
                words = [field for word in command.words for field in fields(word, {})]
                simple_commands.append([f"{field.text}?" if field.dynamic else field.text for field in words])
                places = (*command.words, *(redirect.word for redirect in command.redirects))
                for word in (*places, *(value for _, value in command.assignments)):
                    for inner in word.scripts:
                        simple_commands += commands(inner)
            case Pipeline():
                simple_commands += commands(ShellScript(commands=command.commands))
            case Compound():
                simple_commands += [
                    each for word in command.words for inner in word.scripts for each in commands(inner)
                ]
                simple_commands += [each for body in command.bodies for each in commands(body)]
            case Function():
                simple_commands += commands(command.body)
    return simple_commands


@pytest.mark.parametrize(("text", "expected"), CASES["bash"])
def test_bash_script_is_parsed_into_commands(text: str, expected: list[list[str]]) -> None:
    """Words, lists, pipelines, compound commands, substitutions, here-documents."""
    assert commands(parse(text)) == expected


@pytest.mark.parametrize(("text", "expected"), CASES["posix"])
def test_posix_script_is_parsed_as_posix(text: str, expected: list[list[str]]) -> None:
    """One text is two different scripts."""
    assert commands(parse(text, "posix")) == expected


@pytest.mark.parametrize("text", CASES["no script"])
@pytest.mark.parametrize("dialect", ["bash", "posix"])
def test_text_that_is_no_script_is_unreadable(text: str, dialect: Dialect) -> None:
    """It raises no other error and never guesses."""
    if dialect == "posix" and text == "[[ a":
        assert commands(parse(text, dialect)) == [["[[", "a"]]
        return
    with pytest.raises(Unreadable):
        parse(text, dialect)
    if dialect == "bash":
        assert judge(run(text), situation(mode="allow")).floor == "unreadable"


PIECES = st.sampled_from(
    [
        *"abc ;&|<>(){}$`'\"\\\n#!=*?[]~-1",
        "rm ",
        "if ",
        "then ",
        "fi",
        "do ",
        "done",
        "case ",
        "in ",
        "esac",
        "$(",
        "${",
        "<<E\n",
        "[[ ",
        "]]",
        "$'",
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=30))
def test_any_text_is_parsed_or_unreadable(text: str) -> None:
    """It raises no other error and never hangs."""
    for dialect in ("bash", "posix"):
        try:
            commands(parse(text, dialect))
        except Unreadable:
            continue


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)


@given(st.lists(WORDS, min_size=1, max_size=4))
def test_quoted_words_keep_every_character(words: list[str]) -> None:
    """Single quotes keep every character, in both dialects."""
    line = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    for dialect in ("bash", "posix"):
        assert commands(parse(line, dialect)) == [words]


@given(st.text(st.sampled_from("ab '\"\\$x{},`"), max_size=12))
def test_words_match_those_of_bash(text: str) -> None:
    """Compares with bash, for texts that it accepts as words of ``printf``."""
    bash = shutil.which("bash")
    assert bash is not None
    line = f"printf '%s\\n' {text}"
    ran = subprocess.run([bash, "-fc", line], capture_output=True, check=False, env={"PATH": "", "x": ""})
    try:
        script = parse(line)
    except Unreadable:
        return
    if ran.returncode == 0 and not ran.stderr and len(script.commands) == 1 and isinstance(script.commands[0], Simple):
        words = [each for word in script.commands[0].words[2:] for each in fields(word, {"x": ""})]
        if not any(word.dynamic for word in words):
            assert ran.stdout.decode() == "".join(f"{text}\n" for text in [word.text for word in words] or [""])


UNITS = (
    "$(",
    "`",
    "(",
    "[[ ",
    "((",
    "$[",
    "${x:-",
    "<<E\n",
    "a | ",
    "a;",
    "x=(",
    "if ",
    "nohup ",
    "env ",
    "'",
    "\\\n",
    "{a,",
)


@pytest.mark.parametrize("unit", UNITS)
def test_long_command_is_rated_in_seconds(unit: str) -> None:
    """With any number of nested parts, below and above the longest readable command."""
    began = time.thread_time()
    for length in (1_000, LONGEST_COMMAND, 1_000_000):
        assert rate_command(f"$x {unit * length}"[:length]).asks
    assert time.thread_time() - began < 10


def test_redirection_at_the_end_belongs_to_the_last_command() -> None:
    """As in the shell, for any connection of the commands."""
    for text in ("a && b > f", "a | b > f", "a || c | b > f"):
        last = parse(text).commands[-1]
        last = last.commands[-1] if isinstance(last, Pipeline) else last
        assert isinstance(last, Simple)
        assert ([word.source for word in last.words], [each.target.source for each in last.redirects]) == (["b"], ["f"])


@pytest.mark.parametrize(
    "text", ["$a $b\t${a} $(c) ", " $b", "\v${a}\v$b\v", "a$", "$", "$ b", "5$ b", "\\$a \\\\ \\x $a"]
)
def test_blanks_in_a_string_are_kept(text: str) -> None:
    """Between computed parts, and at both ends."""
    [command] = parse(f'echo "{text}"').commands
    assert isinstance(command, Simple)
    [field] = fields(command.words[1], {"a": "1", "b": "2"})
    plain = text.replace("\\$a", "\0").replace("${a}", "1").replace("$a", "1").replace("$b", "2")
    assert field.text == plain.replace("$(c)", "$(…)").replace("\0", "$a").replace("\\\\", "\\")


MARKS = ("a", "b=1", " ", "\t", "\n", "\r", "\u00a0", "'", '"', "\\", "''", '"x"', "#", ";", "|", "$(", "\x00")


def split(line: str, by: Callable[[str], list[str]]) -> list[str] | str:
    try:
        return by(line)
    except ValueError as error:
        return str(error)


@given(st.one_of(st.lists(st.sampled_from(MARKS)).map("".join), st.text()))
@example("a''b \"\\\"\\\\\\n\" '' \\\n")
def test_split_words_gives_the_same_words_as_shlex(line: str) -> None:
    """Or the same error."""
    assert split(line, split_words) == split(line, shlex.split)
