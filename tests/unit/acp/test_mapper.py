"""What an agent's updates become in its turn: every kind of update and block, and everything that can be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentnb.state import (
    AgentCommand,
    ContentResponsePart,
    MarkdownResponsePart,
    PlanEntry,
    PlanResponsePart,
    RawResponsePart,
    TerminalView,
    ToolBlockContent,
    ToolCallCompletedState,
    ToolCallLocation,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
    ToolDiffContent,
    ToolRawContent,
    ToolTerminalContent,
    ToolTextContent,
    UserMessageResponsePart,
)
from tests.unit.acp.conftest import Answer, Works

CASES: dict[str, list[Any]] = json.loads((Path(__file__).parents[2] / "cases/tables/mapper.json").read_text("utf-8"))

IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
END: tuple[str, Any] = ("session/prompt", {})
"""The turn ends here; updates after it are late."""


def update(kind: str, /, **fields: Any) -> tuple[str, Any]:
    return "session/update", {"sessionUpdate": kind, **fields}


def block(text: Any) -> dict[str, Any]:
    return {"type": "text", "text": text}


def chunk(text: str, kind: str = "agent_message_chunk", **more: Any) -> tuple[str, Any]:
    return update(kind, content=block(text), **more)


def call(
    status: str | None = None, kind: str = "tool_call_update", call_id: str = "c1", /, **more: Any
) -> tuple[str, Any]:
    """Returns an update of a tool call."""
    return update(kind, toolCallId=call_id, **({} if status is None else {"status": status}), **more)


def parts(works: Works, *updates: tuple[str, Any]) -> list[Any]:
    """Returns the parts of a turn with *updates*."""
    turn = works.turn(*updates)
    assert turn.snapshot is not None
    return [*turn.snapshot.response_parts]


def calls(works: Works, *updates: tuple[str, Any]) -> list[Any]:
    return [part.tool_call for part in parts(works, *updates) if isinstance(part, ToolCallResponsePart)]


def test_each_message_id_has_its_own_part(works: Works) -> None:
    """ACP `messageId` separates them."""
    updates = chunk("a"), chunk("b", messageId="1"), chunk("c", messageId="1"), chunk("d", messageId="2")
    assert parts(works, *updates) == [
        MarkdownResponsePart(id="p1", content="a"),
        MarkdownResponsePart(id="p2", content="bc", message_id="1"),
        MarkdownResponsePart(id="p3", content="d", message_id="2"),
    ]


def test_blocks_other_than_text_are_kept_as_sent(works: Works) -> None:
    """Known or not."""
    blocks: list[dict[str, Any]] = [
        IMAGE,
        {"type": "audio", "data": "", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///a", "name": "a"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "x"}},
        {"type": "hologram", "depth": 3},
    ]
    shown = parts(works, *(update("agent_message_chunk", content=each) for each in blocks))
    assert shown == [ContentResponsePart(id=f"p{at}", block=each) for at, each in enumerate(blocks, 1)]


def test_other_user_messages_appear_in_the_turn(works: Works) -> None:
    """Sent during the turn."""
    user = "user_message_chunk"
    assert parts(works, chunk("Hi"), chunk("Wait, ", user), chunk("there", user)) == [
        MarkdownResponsePart(id="p1", content="Hi"),
        UserMessageResponsePart(id="p2", content="Wait, there"),
    ]


def test_tool_call_has_the_latest_of_each_field(works: Works) -> None:
    """Status sets the state, other fields go to the details, content is replaced."""
    begun = call("pending", "tool_call", title="Run", kind="execute", rawInput={"command": ["bash", "-lc", "ls"]})
    running = call("in_progress", title="Run ls", content=[{"type": "content", "content": block("a")}])
    ended = call("completed", rawOutput={"code": 0}, content=[{"type": "terminal", "terminalId": "t"}])
    (state,) = calls(works, begun, running, ended)
    assert isinstance(state, ToolCallCompletedState)
    assert (state.success, state.tool_name, state.display_name, state.tool_input, state.confirmed) == (
        True,
        "execute",
        "Run ls",
        "ls",
        "not-needed",
    )
    assert state.details is not None
    assert (state.details.content, state.details.raw_output) == ((ToolTerminalContent(terminal_id="t"),), {"code": 0})


def test_every_kind_of_tool_content_is_mapped(works: Works) -> None:
    """Text, other blocks, diffs, terminals, and unknown types; invalid locations are left out."""
    odd: list[Any] = [{"type": "content"}, {"type": "diff", "path": 1}, {"type": "chart"}, "text", None]
    items = [
        {"type": "content", "content": block("a")},
        {"type": "content", "content": IMAGE},
        {"type": "diff", "path": "/a", "newText": "n"},
        {"type": "diff", "path": "/a", "oldText": "o", "newText": "n"},
        {"type": "terminal", "terminalId": "t"},
        *odd,
    ]
    locations = [{"path": "/a", "line": 3}, {"path": "/b", "line": "x"}, {"line": 1}, None]
    (state,) = calls(works, call("completed", title="x", content=items, locations=locations))
    assert state.details.content == (
        ToolTextContent(text="a"),
        ToolBlockContent(block=IMAGE),
        ToolDiffContent(path="/a", new_text="n"),
        ToolDiffContent(path="/a", old_text="o", new_text="n"),
        ToolTerminalContent(terminal_id="t"),
        *(ToolRawContent(raw=item) for item in odd),
    )
    assert state.details.locations == (ToolCallLocation(path="/a", line=3), ToolCallLocation(path="/b"))


def test_tool_has_the_name_that_the_agent_gives_it(works: Works) -> None:
    """`name`, else `toolName` in `_meta`, else the kind."""
    meta = {"claudeCode": {"toolName": "Write"}}
    ways: list[dict[str, Any]] = [{"kind": "edit", "_meta": meta}, {"kind": "edit"}, {}]
    named = update("tool_call", toolCallId="c", title="x", name="write_file", kind="edit")
    states = calls(works, named, *(call(None, "tool_call", str(at), title="x", **way) for at, way in enumerate(ways)))
    assert [state.tool_name for state in states] == ["write_file", "Write", "edit", "other"]


def test_plans_are_replaced_and_removed_by_plan_id(works: Works) -> None:
    """One part per plan id; the id of a removed part is never used again."""
    step = {"content": "Look", "priority": "high", "status": "pending"}
    named = update("plan_update", plan={"type": "items", "planId": "b", "entries": [step]})
    again = update("plan", entries=[{**step, "status": "completed"}, {}, "x"])
    shown = parts(works, update("plan", entries=[step]), named, again)
    completed = PlanEntry(content="Look", priority="high", status="completed")
    pending = PlanEntry(content="Look", priority="high", status="pending")
    assert shown == [
        PlanResponsePart(id="p1", entries=(completed, PlanEntry(content="", status="pending"))),
        PlanResponsePart(id="p2", plan_id="b", entries=(pending,)),
    ]
    removed = update("plan_removed", planId="b")
    left = parts(works, named, chunk("a"), removed, removed, chunk("b", "agent_thought_chunk"))
    assert [part.id for part in left] == ["p2", "p3"]


def compaction(kind: str = "compaction_update", name: str = "k1", /, **more: Any) -> tuple[str, Any]:
    return update(kind, compactionId=name, **more)


def test_compaction_is_one_call_that_grows_and_completes(works: Works) -> None:
    """The summary is streamed, or comes whole at the end, which wins; it may complete after its turn."""
    began = compaction(status="in_progress")
    chunks = [compaction("compaction_summary_chunk", content=block(text)) for text in ("Kept: ", "all.")]
    late = works.turn(began, *chunks, END, compaction(status="completed"))
    works.turn()
    (state,) = (part.tool_call for part in getattr(late.snapshot, "response_parts", ()))
    assert (state.tool_name, state.display_name) == ("compaction", "Compacted the conversation")
    assert state.details.content == (ToolTextContent(text="Kept: all."),)
    whole = compaction(status="completed", summary=[block("Less.")])
    none = compaction("compaction_update", "k2", status="completed", summary=None)
    assert [state.details.content for state in calls(works, began, *chunks, whole, none)] == [
        (ToolTextContent(text="Less."),),
        (),
    ]


def test_failed_compaction_says_why(works: Works) -> None:
    """Cancelled counts as failed."""
    ends = {"k1": {"status": "failed", "error": "no room"}, "k2": {"status": "cancelled"}}
    begun = [compaction("compaction_update", name, status="in_progress") for name in ends]
    states = calls(works, *begun, *(compaction("compaction_update", name, **end) for name, end in ends.items()))
    assert [(state.success, state.error.message) for state in states] == [
        (False, "no room"),
        (False, "It was cancelled."),
    ]


def test_notice_is_plain_text_and_not_repeated_in_a_row(works: Works) -> None:
    """An unknown severity has no prefix; a repeated notice is shown once."""
    notice = update("notice", severity="error", title="**Quota**", description="Half of it.")
    odd = update("notice", severity="_mine", title="Well")
    texts = [part.content for part in parts(works, notice, notice, odd)]
    assert texts == ["Error: **Quota**\nHalf of it.", "Well"]


def test_unknown_or_invalid_update_is_kept_raw(works: Works) -> None:
    """Unknown kinds, and known ones with unreadable fields."""
    updates = CASES["what is not understood is kept raw"]
    shown = parts(works, *(("session/update", each) for each in updates))
    assert shown == [
        RawResponsePart(id=f"p{at}", name=each.get("sessionUpdate") or "update", payload=each)
        for at, each in enumerate(updates, 1)
    ]


def test_session_updates_are_in_the_state_of_the_session(works: Works) -> None:
    """Also the mode under its former name; what is not readable in them is left out."""
    commands = [{"name": "web", "description": "Search", "input": {"hint": "words"}}, {"name": "x"}, 1]
    works.turn(
        update("available_commands_update", availableCommands=commands),
        update("current_mode_update", currentModeId="ask"),
        update("config_option_update", configOptions=[{"id": "a"}, 3]),
        update("session_info_update", title="T"),
        update("usage_update", used=5.0, size=9, cost={"amount": 1, "currency": "USD"}),
    )
    state = works.session.state
    assert state.commands == (
        AgentCommand(name="web", description="Search", hint="words"),
        AgentCommand(name="x", description=""),
    )
    assert (state.config_options, state.title) == (({"id": "a"},), "T")
    assert state.context_usage is not None
    assert state.context_usage.cost is not None
    assert (state.context_usage.used, state.context_usage.size, state.context_usage.cost.amount) == (5, 9, 1.0)
    works.turn(update("usage_update", used=6, size=9, cost={"amount": "much"}))
    assert works.session.state.context_usage is not None
    assert works.session.state.context_usage.used == 6


def suggested(works: Works, *prompts: Any) -> tuple[str, ...]:
    """Returns the suggestions after a turn."""
    works.turn(update("prompt_suggestions_update", suggestions=[{"prompt": each} for each in prompts]))
    return works.session.suggestions


def link(uri: str) -> dict[str, Any]:
    return {"type": "resource_link", "name": "it", "uri": uri}


def test_suggested_prompt_becomes_text_a_user_could_type(works: Works) -> None:
    """Files become mentions; characters that hide or reorder text go, unless a language needs them."""
    texts: list[tuple[Any, str]] = [
        ([block(" Plot it\n")], "Plot it"),
        ([block("Plot it"), block("and save it")], "Plot it\nand save it"),
        ([block("Explain"), link("file:///work/fit.py#L3"), block("to me")], "Explain @/work/fit.py to me"),
        ([link("file:///my%20data/a.csv")], '@"/my data/a.csv"'),
        ([block("Read"), link("https://example.org/a")], "Read https://example.org/a"),
        ([block("<b>bold</b> [x](javascript:alert(1))")], "<b>bold</b> [x](javascript:alert(1))"),
        ([block("a\r\nb\u2028c\x1b[2J\x00")], "a\nb\nc[2J"),
        ([block("\u202egnp.exe\u200b \U000e0041\U000e0042")], "gnp.exe"),
        ([block("\u0645\u06cc\u200c\u062e")], "\u0645\u06cc\u200c\u062e"),
        ([block("x" * 2_000)], "x" * 2_000),
    ]
    for at in range(0, len(texts), 3):
        some = texts[at : at + 3]
        assert suggested(works, *(prompt for prompt, _ in some)) == tuple(text for _, text in some)


def test_suggested_prompt_that_is_not_plain_text_is_left_out(works: Works) -> None:
    """A part of it would be another prompt."""
    odd: list[Any] = [
        *(None, 1, "Plot it", {}, [], [1], [{}], [[]], [block("")], [block(" \n\u200d")]),
        *([{"type": "text"}], [{"type": "text", "text": 1}], [block("x" * 2_001)], [block("x" * 1_000_000)]),
        [block("Look"), {"type": "image", "data": "", "mimeType": "image/png"}],
        *([block("x")] * 101, [link("file:///a%0Ab")], [link('file:///a"b')], [link("file://server/share/a")]),
        *([link("javascript:alert(1)")], [link("agentnb://context/a")], [link("file:///" + "x" * 1_000_000)]),
    ]
    assert suggested(works, *odd, [block("Plot it")]) == ("Plot it",)
    assert suggested(works, *([block(f"Plot {number // 2}")] for number in range(1_000))) == (
        "Plot 0",
        "Plot 1",
        "Plot 2",
    )
    assert suggested(works) == ()


def test_late_tool_call_update_goes_to_the_turn_of_the_call(works: Works) -> None:
    """The next turn gets nothing."""
    first = works.turn(call("in_progress", title="x"), END, call("completed", rawOutput="done"))
    second = works.turn()
    assert [each.raw_output for each in first.tool_calls] == ["done"]
    assert second.snapshot is not None
    assert second.snapshot.response_parts == ()


OPTIONS = [
    {"optionId": "a", "name": "Always", "kind": "allow_always"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
    {"optionId": "odd", "kind": "explode"},
    {"name": "no id"},
    None,
]


def permission(tool_call: Any) -> tuple[str, Any]:
    return "session/request_permission", {"toolCall": tool_call, "options": OPTIONS}


def test_permission_request_for_an_unknown_call_creates_it(works: Works) -> None:
    """Options keep their names; unknown kinds are denials."""
    works.session.permissions = deny = Answer("deny")
    works.turn(permission({"toolCallId": "c9", "title": "Fetch it", "kind": "fetch"}))
    (request,) = deny.requests
    assert (request.title, request.kind) == ("Fetch it", "fetch")
    assert [(each.id, each.label, each.kind, each.option_kind) for each in request.options[:3]] == [
        ("a", "Always", "approve", "allow_always"),
        ("n", "No", "deny", "reject_once"),
        ("odd", "odd", "deny", "explode"),
    ]


@pytest.mark.parametrize("status", ["pending", "in_progress"])
def test_permission_request_keeps_the_known_fields_of_its_call(works: Works, status: str) -> None:
    """Title, input and details stay."""
    works.session.permissions = allow = Answer("allow")
    begun = call(status, "tool_call", title="Run ls", rawInput={"a": 1})
    turn = works.turn(begun, permission({"toolCallId": "c1"}))
    assert [request.title for request in allow.requests] == ["Run ls"]
    assert [each.raw_input for each in turn.tool_calls] == [{"a": 1}]


@pytest.mark.parametrize(
    ("announced", "requested", "kind"),
    [("read", "other", "read"), ("search", "other", "search"), ("execute", "other", "other"), ("read", "edit", "edit")],
)
def test_permission_request_of_kind_other_gets_a_read_kind(
    works: Works, announced: str, requested: str, kind: str
) -> None:
    """OpenCode requests access outside the workspace this way; a kind beyond reading is kept."""
    begun = call("in_progress", "tool_call", title="x", kind=announced)
    (state,) = calls(works, begun, permission({"toolCallId": "c1", "kind": requested}))
    assert state.details.kind == kind


def test_permission_request_without_a_running_call_gets_its_own(works: Works) -> None:
    """If the call has ended or is missing, the request gets its own call."""
    works.session.permissions = deny = Answer("deny")
    ended = call("completed", "tool_call", title="x")
    found = calls(works, ended, permission({"toolCallId": "c1"}), permission({}))
    asked = {request.id for request in deny.requests}
    assert (len(found), len(asked), found[0].tool_call_id in asked) == (3, 2, False)
    assert not any(isinstance(state, ToolCallPendingConfirmationState) for state in found)


def test_terminals_reported_in_meta_are_mapped(works: Works) -> None:
    """From `_meta`, with ids that agentnb did not create."""
    opened = call("in_progress", "tool_call", title="ls", _meta={"terminal_info": {"terminal_id": "y", "cwd": "/w"}})
    printed = call(_meta={"terminal_output": {"terminal_id": "y", "data": "a\n"}})
    ended = call("completed", _meta={"terminal_exit": {"terminal_id": "y", "exit_code": 0, "signal": None}})
    works.turn(opened, printed, ended)
    view = TerminalView(id="y", command="ls", cwd="/w", output="a\n", exit_code=0, exited=True)
    assert view in (works.session.chat.terminals or ())


def ended(works: Works, status: str, ends: list[dict[str, Any]]) -> list[Any]:
    """Returns the tool calls of commands with their own terminals, each of which *ends* so."""
    updates = []
    for at, end in enumerate(ends):
        renamed = json.loads(json.dumps(end).replace('"z"', f'"{status}-{at}"'))
        terminal = [{"type": "terminal", "terminalId": f"{status}-{at}"}]
        info = {"terminal_info": {"terminal_id": f"{status}-{at}", "cwd": "/w"}}
        begun = {"kind": "execute", "title": "make", "content": terminal, "_meta": info}
        updates += [
            call("in_progress", "tool_call", str(at), **begun),
            call(status, "tool_call_update", str(at), **renamed),
        ]
    return calls(works, *updates)


def test_completed_command_with_a_bad_exit_code_has_failed(works: Works) -> None:
    """By its terminal or the exit code in its raw output; other tools' exit codes are ignored."""
    cases = CASES["a command that ended badly has failed when the agent calls it completed"]
    states = ended(works, "completed", [end for end, _ in cases])
    assert [(state.success, state.error and state.error.message) for state in states] == [
        (failure is None, None if failure is None else f"The command ended with {failure}.") for _, failure in cases
    ]


def test_failed_call_with_raw_output_says_why(works: Works) -> None:
    """Raw output with an error text or exit code is not shown as JSON."""
    cases = CASES["a failed call with raw output says why in words"]
    states = ended(works, "failed", [end for end, _ in cases])
    assert [state.error and state.error.message for state in states] == [message for _, message in cases]
