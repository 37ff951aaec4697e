"""The inside: text from an agent costs linear time in every expression and reader."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb.acp.files import write_request
from agentnb.agent.process import Ring
from agentnb.cassette.compare import diff, mcp_title
from agentnb.credentials import Credentials
from agentnb.errors import OutsideWorkspace
from agentnb.host.permissions.permission_request import asked_request
from agentnb.ipython.display_formulas import MarkdownLines, on_one_line
from agentnb.ipython.transcript import transcript
from agentnb.kernel.cell_changes import cell_title
from agentnb.kernel.code_runner import NotebookCell
from agentnb.policy.commands.names import rate_code
from agentnb.policy.commands.paths import NamedPath, insides, named, secret
from agentnb.policy.commands.rating import LONGEST_COMMAND, rate_command
from agentnb.policy.glob import any_path_matches, command_matches, path_matches
from agentnb.policy.rules import plainer
from agentnb.policy.sensitive import SENSITIVE
from agentnb.policy.shell.words import MOST_WORDS
from agentnb.policy.subjects import command_targets
from agentnb.policy.workspace import WorkspaceBoundary, real_path
from agentnb.state import ToolCallDetails, ToolCallRun, ToolCallStreamingState, ToolTextContent
from tests.thorough import some
from tests.unit.ipython.test_transcript import tool, turn
from tests.unit.linear import MORE_UNITS, UNITS, beginnings, expressions, growth, is_linear, searching

CREDENTIAL_UNITS = (
    "token",
    "token-",
    "-token",
    "eyJ-",
    "token=",
    'token="',
    "://",
    "://a:",
    "-u ",
    "-p",
    "key: ",
    "BEGIN ",
)
READER_UNITS = (
    "a/",
    "../",
    "x x\n",
    "secret",
    "```\n",
    '{"code":',
    "[[1,",
    "a[",
    "/*",
    "$a/",
    "open(",
    "open(,",
    "unlink ",
    "\n!",
    "](",
    "<a ",
)


def ring(text: str) -> str:
    kept = Ring()
    kept.append(text.encode())
    return kept.lines()


def titles(text: str) -> None:
    cell_title(NotebookCell(id="a", kind="code", count=1, source=text))
    mcp_title({"method": text, "params": {"name": text}})


def changes(text: str) -> None:
    write_request(Path("a.txt"), text.encode(), f"y\n{text}")
    write_request(Path("a.txt"), text.encode(), text.replace("x", "y"))
    write_request(Path("a.txt"), text.encode(), text[::-1])


def permission_request(text: str) -> None:
    details = ToolCallDetails(raw_input={"path": text, "title": text}, content=(ToolTextContent(text=text),))
    call = ToolCallStreamingState(tool_call_id="1", tool_name=text, display_name=text, details=details)
    asked_request(call, text, "/w", kernel=True)


def formulas(text: str) -> None:
    lines = text.split("\n")
    on_one_line(lines, [MarkdownLines(0, len(lines), is_code=False)])


def kernel_output(text: str) -> None:
    run = ToolCallRun(started_at=1, ended_at=2, content=(ToolTextContent(text=f"```\nx\n{text}"),))
    transcript(turn(tool(details=ToolCallDetails(kind="kernel", run=run))))


READERS: dict[str, Callable[[str], object]] = {
    "hidden": Credentials({"MY_TOKEN": "xxxxxxxy"}).hidden,
    "hidden_in_command": Credentials({"MY_TOKEN": "xxxxxxxy"}).hidden_in_command,
    "beginning_of_command": lambda text: Credentials().beginning_of_command(text, 2000),
    "ring": ring,
    "rate_code": rate_code,
    "rate_command": rate_command,
    "plainer": inspect.unwrap(plainer),  # without its cache
    "command_matches": lambda text: command_matches("*a*b*", text),
    "path_matches": lambda text: path_matches("**/{a,b}*c", text),
    "any_path_matches": lambda text: any_path_matches(tuple(SENSITIVE), text),
    "titles": titles,
    "command_targets": lambda text: command_targets([NamedPath(text)], "/"),
    "permission_request": permission_request,
    "changes": changes,
    "comparison": lambda text: diff(text.split("\n"), f"y\n{text[::-1]}".split("\n")),
    "secret": inspect.unwrap(secret),
    "named": named,
    "insides": insides,
    "formulas": formulas,
    "kernel_output": kernel_output,
}


def test_expressions_of_the_package_are_found() -> None:
    """Otherwise the tests below would check nothing."""
    assert len(expressions()) > 150
    assert expressions()["agentnb.credentials.ASSIGNMENT"][1] == {"match"}


def test_growth_detects_a_quadratic_expression() -> None:
    """Otherwise the tests below would always pass."""
    quadratic = searching(re.compile(r"\w+@"), {"search"})
    assert "characters take" in (growth(quadratic, "x") or "")
    assert growth(searching(re.compile(r"\w@"), {"search"}), "x") is None


def test_growth_detects_a_quadratic_loop() -> None:
    assert "characters take" in (growth(lambda text: [text[at:].count("yx") for at in range(len(text))], "x") or "")


def test_is_linear_detects_quadratic_work() -> None:
    """Linear work is not reported."""
    assert not is_linear(lambda length: [("x" * length)[at:].count("yx") for at in range(length)], 1_000)
    assert is_linear(lambda length: [str(at).count("yx") for at in range(length)], 1_000)


def slow_texts(pattern: re.Pattern[Any], methods: set[str]) -> Iterator[str | None]:
    """Yields the results for runs of characters and of beginnings of what *pattern* matches."""
    run, heads = searching(pattern, methods), beginnings(pattern)
    for unit in (*UNITS, *some(MORE_UNITS), *heads[:12:3], *some(heads[12::8])):
        yield growth(run, unit)
    for head in (*heads[:12:4], *some(heads[12::8])):
        yield growth(run, "x", head)
        yield growth(run, head[-1], head)


def test_every_expression_takes_linear_time_for_a_megabyte() -> None:
    """Limits an agent's repeated characters."""
    slow = {name: [each for each in slow_texts(*used) if each] for name, used in expressions().items()}
    assert {name: texts for name, texts in slow.items() if texts} == {}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_takes_linear_time(name: str) -> None:
    """Redaction, commands, paths and similar readers."""
    for unit in (*UNITS, *some((*MORE_UNITS, *CREDENTIAL_UNITS, *READER_UNITS))):
        assert growth(READERS[name], unit, largest=16_000) is None
    assert growth(READERS[name], "x", is_loop=True) is None


@pytest.mark.parametrize("unit", [*UNITS, *MORE_UNITS, "a;", "a|", "if ", "a\n", "<<a ", "a=b ", "(", "{a,b}"])
def test_too_long_command_is_not_parsed_and_asks(unit: str) -> None:
    """Its length costs nothing, and it is never allowed unread."""
    command = unit * (LONGEST_COMMAND // len(unit) + 1)
    rating = rate_command(command)
    assert (rating.severity, rating.readable, rating.asks) == ("high", False, True)
    assert rating.reason == "The command is too long to be read: more than 16,000 characters."


@pytest.mark.parametrize("words", ["x ", "x;", "x\n", "x|", "<x ", "x=y ", "$(x) "])
def test_command_with_too_many_words_is_not_parsed_and_asks(words: str) -> None:
    """Reading every word would block everything else; 999 words are read."""
    rating = rate_command(f"echo {words * MOST_WORDS}x")
    assert (rating.severity, rating.readable, rating.asks) == ("high", False, True)
    assert rating.reason == "The command is too long to be read: more than 1,000 words."
    assert rate_command(f"echo {'x ' * (MOST_WORDS - 1)}").severity == "none"


def test_here_document_with_many_words_is_readable() -> None:
    """Words of a file that a command writes do not count as the command's."""
    assert rate_command(f"cat > notes.txt <<'END'\n{'word ' * 2_000}\nEND").readable


@pytest.mark.parametrize("unit", ["a/", "../", "x", "./"])
def test_too_long_path_is_not_followed(unit: str) -> None:
    """Each folder is checked with its parents: a megabyte of them took minutes."""
    with pytest.raises(OutsideWorkspace, match="no more than 4,096 can be opened"):
        WorkspaceBoundary(Path("/nowhere")).follow(unit * 100_000)
    assert real_path("/nowhere", f"b/{unit * 100_000}").startswith("/")
