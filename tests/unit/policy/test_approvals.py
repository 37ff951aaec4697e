"""An approval covers exactly what was shown, done the same way, and nothing else; and where it is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.acp.conftest import Answer, Works
from tests.unit.host.talk import Talk

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def permission(kind: str | None, title: str = "x", **call: Any) -> tuple[str, Any]:
    tool_call = {"toolCallId": "c", "title": title, **({} if kind is None else {"kind": kind}), **call}
    return "session/request_permission", {"toolCall": tool_call, "options": OPTIONS}


def covers(works: Works, shown: tuple[str, Any], action: tuple[str, Any]) -> bool:
    """True if an approval of the request *shown* is enough for *action*."""
    answers = iter(["allow"])
    works.session.permissions = lambda _: next(answers, "deny")
    return "code" not in works.answers(shown, action)[1]


def test_approval_covers_a_command_only_as_it_was_shown(works: Works, workspace: Path) -> None:
    """The same line in the same folder, by any system shell and a tool that runs commands."""
    line = "echo {}"
    cases: list[tuple[str, dict[str, Any], bool]] = [
        ("execute", {"rawInput": {"command": line}}, True),
        ("execute", {"rawInput": {"command": ["echo", "{}"]}}, True),
        ("execute", {"rawInput": {"command": ["/bin/bash", "-lc", line], "cwd": str(workspace)}}, True),
        ("other", {"rawInput": {"command": line}}, True),
        ("execute", {"title": f"`{line}`"}, True),
        ("execute", {"rawInput": {"command": ["echo", line]}}, False),
        ("execute", {"rawInput": {"command": ["./bash", "-c", line]}}, False),
        ("execute", {"rawInput": {"command": line, "cwd": f"{workspace}/sub"}}, False),
        ("execute", {"rawInput": {"command": line, "env": {"PATH": "x"}}}, False),
        ("execute", {"rawInput": {"command": "echo"}}, False),
        *((kind, {"rawInput": {"command": line}}, False) for kind in ("read", "fetch", "think", "search", "edit")),
        ("execute", {"locations": [{"path": str(workspace)}]}, False),
    ]

    def numbered(value: Any, number: int) -> Any:
        if isinstance(value, dict):
            return {key: numbered(each, number) for key, each in value.items()}
        if isinstance(value, list):
            return [numbered(each, number) for each in value]
        return value.replace("{}", str(number))

    found = [
        covers(works, permission(kind, **numbered(call, at)), ("terminal/create", {"command": line.format(at)}))
        for at, (kind, call, _) in enumerate(cases)
    ]
    assert found == [covered for _, _, covered in cases]


@pytest.mark.parametrize(("name", "covered"), [("CLAUDECODE", True), ("LD_PRELOAD", False), ("PATH", False)])
def test_approval_does_not_cover_added_path_or_preload_variables(works: Works, name: str, covered: bool) -> None:
    """Other variables do not matter: agents mark their child processes with them."""
    create = "terminal/create", {"command": f"echo {name}", "env": [{"name": name, "value": "/usr/bin:/bin"}]}
    assert covers(works, permission("execute", rawInput={"command": f"echo {name}"}), create) == covered


def diff(old: str | None, new: str, path: str = "a.txt") -> dict[str, Any]:
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


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
        ([diff(None, "new\n", "b.txt")], None, "new\n", False),
        ([], "one\n", "new\n", False),
    ],
)
def test_approval_of_an_edit_covers_only_the_diff_shown(
    *, works: Works, workspace: Path, diffs: list[dict[str, Any]], old: str | None, new: str, covered: bool
) -> None:
    """Deletions too; agentnb's own service asks about a change that was not shown."""
    if old is not None:
        (workspace / "a.txt").write_text(old)
    shown = permission("edit", content=diffs, locations=[{"path": "a.txt"}])
    assert covers(works, shown, ("fs/write_text_file", {"path": "a.txt", "content": new})) == covered


@pytest.mark.parametrize("kind", ["read", "search", "think", "fetch", "execute", "switch_mode"])
def test_approval_of_another_tool_kind_does_not_cover_a_write(works: Works, kind: str) -> None:
    shown = permission(kind, content=[diff(None, "new\n")], locations=[{"path": "a.txt"}])
    assert not covers(works, shown, ("fs/write_text_file", {"path": "a.txt", "content": "new\n"}))


def test_approval_to_read_covers_only_reading_that_file(attended: Any, tmp_path: Path) -> None:
    """A sensitive file, since others are read without asking."""
    work = tmp_path / "work"
    (work / ".env").write_text("KEY=1")
    talk = Talk(attended, work, script="works")
    places = [("read", f"{work}/x/../.env"), ("read", f"{work}/a"), ("edit", f"{work}/.env")]
    shown = [permission(kind, locations=[{"path": place}]) for kind, place in places]
    read = "fs/read_text_file", {"path": str(work / ".env")}
    turn = talk.prompt(shown[0], read, shown[1], read, shown[2], read)
    for option in ("yes", "yes", "reject", "yes", "reject"):
        talk.answer(talk.questions()[0], option)
    answers = talk.done(turn)[1::2]
    assert [answer.get("content") for answer in answers] == ["KEY=1", None, None]


def deny(workspace: Path, **rule: str) -> None:
    """Makes the project's policy deny what *rule* says."""
    (workspace / ".agentnb").mkdir()
    keys = "".join(f'{key} = "{value}"\n' for key, value in rule.items())
    (workspace / ".agentnb/policy.toml").write_text(f'[[rule]]\naction = "deny"\n{keys}')


def chosen(works: Works, *requests: tuple[str, Any]) -> list[str]:
    return [answer["outcome"]["optionId"] for answer in works.answers(*requests)]


@pytest.mark.parametrize("key", ["file_path", "filePath", "path", "filepath", "abs_path", "notebook_path", "target"])
def test_request_finds_the_path_under_every_key_agents_use(works: Works, workspace: Path, key: str) -> None:
    """Relative paths start in the session's folder."""
    deny(workspace, path="a.txt")
    values: list[Any] = ["a.txt", f"{workspace}/b.txt", ["a.txt"], f"file://{workspace}/a.txt", 7]
    requests = (permission("edit", rawInput={key: value}) for value in values)
    assert chosen(works, *requests) == ["no", "yes", "no", "no", "yes"]


@pytest.mark.parametrize("rule", [{"command": "create"}, {"path": "a.txt"}, {"path": "b.txt"}], ids=str)
def test_request_has_both_its_command_and_its_files(works: Works, workspace: Path, rule: dict[str, str]) -> None:
    deny(workspace, **rule)
    call: dict[str, Any] = {
        "rawInput": {"command": "create", "path": "b.txt"},
        "locations": [{"path": f"{workspace}/a.txt"}],
    }
    kinds = ("execute", "other", "edit", "read", None)
    assert chosen(works, *(permission(kind, **call) for kind in kinds)) == ["no"] * len(kinds)


def test_unknown_option_kind_counts_as_a_denial(works: Works) -> None:
    """The agent's kinds may not be ACP's."""
    works.session.permissions = "deny"
    options = [OPTIONS[0], {"optionId": "explode", "name": "x", "kind": "explode"}]
    asked = "session/request_permission", {"toolCall": {"toolCallId": "c", "title": "x"}, "options": options}
    assert works.answers(asked) == [{"outcome": {"outcome": "selected", "optionId": "explode"}}]


WRITES = ("fs/write_text_file", {"path": "a.txt", "content": "x"})
LISTS = ("terminal/create", {"command": "ls -l"})


@pytest.mark.parametrize(
    ("call", "action", "belongs"),
    [
        ({"locations": [{"path": "{}/a.txt"}]}, WRITES, True),
        ({"content": [diff(None, "x", "{}/sub/../a.txt")]}, WRITES, True),
        ({"locations": [{"path": "{}/b.txt"}, {"path": "a.txt"}]}, WRITES, False),
        ({}, WRITES, False),
        ({"kind": "read", "locations": [{"path": "{}/a.txt"}]}, WRITES, False),
        ({"kind": "execute", "rawInput": {"command": "ls -l"}}, LISTS, True),
        ({"kind": "execute", "rawInput": {"command": ["ls", "-l"]}}, LISTS, True),
        ({"kind": "execute", "rawInput": {"command": "rm -r"}}, LISTS, False),
        ({"locations": [{"path": "{}/"}]}, LISTS, False),
    ],
)
def test_request_is_asked_on_the_tool_call_that_it_belongs_to(
    *, works: Works, workspace: Path, call: dict[str, Any], action: tuple[str, Any], belongs: bool
) -> None:
    """The call names its file in its locations or its diff, or its command as a line or as words."""
    works.session.permissions = deny = Answer("deny")
    called = json.loads(json.dumps(call).replace("{}/", f"{workspace}/"))
    running = {"sessionUpdate": "tool_call", "toolCallId": "call", "title": "x", "status": "in_progress", **called}
    turn = works.turn(("session/update", running), action)
    assert [request.id == turn.tool_calls[0].id for request in deny.requests] == [belongs]
