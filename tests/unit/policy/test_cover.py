"""An approval covers exactly what was shown, done the same way, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from agentnb.host.permissions.permission_request import asked_request
from agentnb.policy.request import PolicyRequest
from agentnb.state import ToolCallDetails, ToolCallLocation, ToolCallRunningState, ToolDiffContent


def agent_request(kind: str | None, title: str = "x", raw: Any = None, **details: Any) -> PolicyRequest:
    """Returns an agent's request, in a session in /w."""
    call = ToolCallRunningState(
        tool_call_id="c",
        tool_name="x",
        display_name="x",
        invocation_message="x",
        confirmed="not-needed",
        details=ToolCallDetails(kind=kind, raw_input=raw, **details),
    )
    return asked_request(call, title, "/w")


def at(*paths: str) -> dict[str, Any]:
    return {"locations": tuple(ToolCallLocation(path=path) for path in paths)}


def diff(old: str | None, new: str, path: str = "/w/a.txt") -> ToolDiffContent:
    return ToolDiffContent(path=path, old_text=old, new_text=new)


def writing(old: str | None, new: str) -> PolicyRequest:
    return PolicyRequest(kind="write", title="Write a.txt", path="/w/a.txt", preview=(diff(old, new),))


RUN = PolicyRequest(kind="terminal", title="Run ls -l", command="ls -l", path="/w")


@pytest.mark.parametrize(
    ("wanted", "covered"),
    [
        (agent_request("execute", raw={"command": "ls -l"}), True),
        (agent_request("execute", raw={"command": ["ls", "-l"]}), True),
        (agent_request("execute", raw={"command": ["/bin/bash", "-lc", "ls -l"], "cwd": "/w"}), True),
        (agent_request("other", raw={"command": "ls -l"}), True),
        (agent_request("execute", title="`ls -l`"), True),
        (agent_request("execute", raw={"command": ["echo", "ls -l"]}), False),
        (agent_request("execute", raw={"command": ["./bash", "-c", "ls -l"]}), False),
        (agent_request("execute", raw={"command": "ls -l", "cwd": "/w/sub"}), False),
        (agent_request("execute", raw={"command": "ls -l", "env": {"PATH": "x"}}), False),
        (agent_request("execute", raw={"command": "ls"}), False),
        *(
            (agent_request(kind, raw={"command": "ls -l"}), False)
            for kind in ("read", "fetch", "think", "search", "edit")
        ),
        (agent_request("execute", **at("/w")), False),
    ],
)
def test_approval_covers_a_command_only_as_it_was_shown(wanted: PolicyRequest, covered: bool) -> None:
    """The same line in the same folder, by any system shell and a tool that runs commands."""
    assert RUN.covered_by(wanted) == covered


def test_approval_does_not_cover_added_path_or_preload_variables() -> None:
    """Other variables do not matter: agents mark their child processes with them."""
    wanted = agent_request("execute", raw={"command": "ls -l"})
    covered = [
        PolicyRequest(kind="terminal", title="x", command="ls -l", path="/w", env=(pair,)).covered_by(wanted)
        for pair in (("CLAUDECODE", "1"), ("LD_PRELOAD", "x.so"), ("PATH", "."))
    ]
    assert covered == [True, False, False]


@pytest.mark.parametrize(
    ("diffs", "old", "new", "covered"),
    [
        ([diff("two\n", "2\n")], "one\ntwo\n", "one\n2\n", True),
        ([diff("two\n", "2\n")], "one\ntwo\n", "2\nand much else\n", False),
        ([diff("two\n", "")], "one\ntwo\n", "one\n", True),
        ([diff("two\n", "")], "one\ntwo\n", "something else\n", False),
        ([diff("a", "b")], "a a", "b b", True),
        ([diff("a", "b")], "a a", "a b", True),
        ([diff("a", "b")], "a a", "b", False),
        ([diff("a", "b"), diff("c", "d")], "a c", "b d", True),
        ([diff(None, "new\n")], None, "new\n", True),
        ([diff("", "new\n")], "old\n", "new\n", True),
        ([diff("one\r\n", "1\r\n")], "one\ntwo\n", "1\ntwo\n", True),
        ([diff("one\n", "1\n")], "the user's own words\n", "1\n", False),
        ([diff(None, "new\n", "/w/b.txt")], None, "new\n", False),
        ([], "one\n", "new\n", False),
    ],
)
def test_approval_of_an_edit_covers_only_the_diff_shown(
    diffs: list[ToolDiffContent], old: str | None, new: str, covered: bool
) -> None:
    """Deletions too; agentnb's own service asks about a change that was not shown."""
    wanted = agent_request("edit", content=tuple(diffs), **at("/w/a.txt"))
    assert writing(old, new).covered_by(wanted) == covered


@pytest.mark.parametrize("kind", ["read", "search", "think", "fetch", "execute", "switch_mode"])
def test_approval_of_another_tool_kind_does_not_cover_a_write(kind: str) -> None:
    wanted = agent_request(kind, content=(diff(None, "new\n"),), **at("/w/a.txt"))
    assert not writing(None, "new\n").covered_by(wanted)


def test_approval_to_read_covers_only_reading_that_file() -> None:
    read = PolicyRequest(kind="read", title="Read .env", path="/w/.env")
    all_wanted = [
        agent_request("read", **at("/w/x/../.env")),
        agent_request("read", **at("/w/a")),
        agent_request("edit", **at("/w/.env")),
    ]
    assert [read.covered_by(wanted) for wanted in all_wanted] == [True, False, False]


def test_terminal_request_does_not_cover_itself() -> None:
    """An approval at one of agentnb's services is used at once."""
    assert not RUN.covered_by(RUN)


@pytest.mark.parametrize("key", ["file_path", "filePath", "path", "filepath", "abs_path", "notebook_path", "target"])
def test_request_finds_the_path_under_every_key_agents_use(key: str) -> None:
    """Relative paths start in the session's folder."""
    all_wanted = [
        agent_request("edit", raw={key: value}) for value in ("a.txt", "/etc/hosts", ["a.txt"], "file:///w/a.txt", 7)
    ]
    assert [wanted.files for wanted in all_wanted] == [("/w/a.txt",), ("/etc/hosts",), ("/w/a.txt",), ("/w/a.txt",), ()]


@pytest.mark.parametrize("kind", ["execute", "other", "edit", "read", None])
def test_request_has_both_its_command_and_its_files(kind: str | None) -> None:
    wanted = agent_request(kind, raw={"command": "create", "path": "b.txt"}, **at("/w/a.txt"))
    assert (wanted.command, wanted.files) == ("create", ("/w/a.txt", "/w/b.txt"))
