"""The mapper: every kind of update and block, and everything that can be wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.acp.mapper import map_permission, map_update
from agentnb.acp.updates import map_session
from agentnb.state import (
    AgentCommand,
    ChatState,
    ChatTurnComplete,
    ContentResponsePart,
    Cost,
    MarkdownResponsePart,
    PlanEntry,
    PlanResponsePart,
    RawResponsePart,
    SessionMode,
    SessionModes,
    SessionTitleChanged,
    TerminalView,
    ToolBlockContent,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallLocation,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
    ToolCallRunningState,
    ToolCallStreamingState,
    ToolDiffContent,
    ToolRawContent,
    ToolTerminalContent,
    ToolTextContent,
    UserMessageResponsePart,
    XCommandsChanged,
    XConfigOptionsChanged,
    XContextUsageChanged,
    XModeChanged,
    XModesChanged,
    XPromptSuggestionsChanged,
    decode,
    encode,
    reduce_chat,
)
from tests.unit.acp.recording_listener import applied, empty_chat, text_of

CASES: dict[str, list[Any]] = json.loads((Path(__file__).parents[2] / "cases/tables/mapper.json").read_text("utf-8"))

IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


def chunk(text: Any, kind: str = "agent_message_chunk", **more: Any) -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}, **more}


def call(status: str | None = None, update: str = "tool_call_update", **more: Any) -> dict[str, Any]:
    """Returns an update of tool call `c1`."""
    return {"sessionUpdate": update, "toolCallId": "c1", **({} if status is None else {"status": status}), **more}


def after(*updates: dict[str, Any], prompt: str = "Hello there", turn_id: str | None = "t1") -> ChatState:
    """Returns a chat in which the agent has sent *updates*."""
    chat = empty_chat(prompt)
    for update in updates:
        chat = applied(chat, update, turn_id)
    return chat


def parts(*updates: dict[str, Any], prompt: str = "Hello there") -> list[Any]:
    """Returns the parts of a turn after *updates*."""
    turn = after(*updates, prompt=prompt).active_turn
    assert turn is not None
    return list(turn.response_parts)


def only_call(*updates: dict[str, Any]) -> Any:
    """Returns the only tool call after *updates*."""
    (part,) = parts(*updates)
    assert isinstance(part, ToolCallResponsePart)
    return part.tool_call


def finished() -> ChatState:
    """Returns a chat whose only turn is over."""
    return reduce_chat(after(chunk("Hi")), ChatTurnComplete(turn_id="t1", time=2))


def test_each_message_id_has_its_own_part() -> None:
    """ACP `messageId` separates them."""
    assert parts(chunk("a"), chunk("b", messageId="1"), chunk("c", messageId="1"), chunk("d", messageId="2")) == [
        MarkdownResponsePart(id="p1", content="a"),
        MarkdownResponsePart(id="p2", content="bc", message_id="1"),
        MarkdownResponsePart(id="p3", content="d", message_id="2"),
    ]


@pytest.mark.parametrize(
    "block",
    [
        IMAGE,
        {"type": "audio", "data": "", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///a", "name": "a"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "x"}},
        {"type": "hologram", "depth": 3},
    ],
)
def test_blocks_other_than_text_are_kept_as_sent(block: dict[str, Any]) -> None:
    """Known or not."""
    assert parts({"sessionUpdate": "agent_message_chunk", "content": block}) == [
        ContentResponsePart(id="p1", block=block)
    ]


def test_echo_of_the_prompt_does_not_show_again() -> None:
    """Whole, or in pieces before the answer."""
    user = "user_message_chunk"
    assert parts(chunk("Hello ", user), chunk("there", user), chunk("Hi"), chunk("Hello there", user)) == [
        MarkdownResponsePart(id="p1", content="Hi")
    ]


def test_other_user_messages_appear_in_the_turn() -> None:
    """Sent during the turn."""
    user = "user_message_chunk"
    assert parts(chunk("Hi"), chunk("Wait, ", user), chunk("there", user)) == [
        MarkdownResponsePart(id="p1", content="Hi"),
        UserMessageResponsePart(id="p2", content="Wait, there"),
    ]


def test_tool_call_starts_runs_and_completes() -> None:
    """Status sets the state, other fields go to the details, content is replaced."""
    begun = call("pending", "tool_call", title="Run", kind="execute", rawInput={"command": ["bash", "-lc", "ls"]})
    running = call(
        "in_progress", title="Run ls", content=[{"type": "content", "content": {"type": "text", "text": "a"}}]
    )
    ended = call("completed", rawOutput={"code": 0}, content=[{"type": "terminal", "terminalId": "t"}])
    assert isinstance(only_call(begun), ToolCallStreamingState)
    state = only_call(begun, running)
    assert isinstance(state, ToolCallRunningState)
    assert (state.tool_name, state.display_name, state.tool_input, state.confirmed) == (
        "execute",
        "Run ls",
        "ls",
        "not-needed",
    )
    assert state.details is not None
    assert state.details.content == (ToolTextContent(text="a"),)
    state = only_call(begun, running, ended)
    assert isinstance(state, ToolCallCompletedState)
    assert state.details is not None
    assert (state.success, state.details.content, state.details.raw_output) == (
        True,
        (ToolTerminalContent(terminal_id="t"),),
        {"code": 0},
    )


def test_every_kind_of_tool_content_is_mapped() -> None:
    """Text, other blocks, diffs, terminals, and unknown types."""
    odd: list[Any] = [{"type": "content"}, {"type": "diff", "path": 1}, {"type": "chart"}, "text", None]
    items = [
        {"type": "content", "content": {"type": "text", "text": "a"}},
        {"type": "content", "content": IMAGE},
        {"type": "diff", "path": "/a", "newText": "n"},
        {"type": "diff", "path": "/a", "oldText": "o", "newText": "n"},
        {"type": "terminal", "terminalId": "t"},
        *odd,
    ]
    assert only_call(call(title="x", content=items)).details.content == (
        ToolTextContent(text="a"),
        ToolBlockContent(block=IMAGE),
        ToolDiffContent(path="/a", new_text="n"),
        ToolDiffContent(path="/a", old_text="o", new_text="n"),
        ToolTerminalContent(terminal_id="t"),
        *(ToolRawContent(raw=item) for item in odd),
    )


def test_tool_has_the_name_that_the_agent_gives_it() -> None:
    """`name`, else `toolName` in `_meta`, else the kind."""
    meta = {"claudeCode": {"toolName": "Write"}}
    ways: list[dict[str, Any]] = [
        {"name": "write_file", "kind": "edit"},
        {"_meta": meta, "kind": "edit"},
        {"kind": "edit"},
        {},
    ]
    names = [only_call(call(None, "tool_call", title="x", **way)).tool_name for way in ways]
    assert names == ["write_file", "Write", "edit", "other"]


def test_invalid_locations_are_left_out() -> None:
    """Lines that are not numbers and locations without a path are left out."""
    locations = [{"path": "/a", "line": 3}, {"path": "/b", "line": "x"}, {"line": 1}, None]
    assert only_call(call(title="x", locations=locations)).details.locations == (
        ToolCallLocation(path="/a", line=3),
        ToolCallLocation(path="/b"),
    )


def test_plans_are_replaced_and_removed_by_plan_id() -> None:
    """One part per plan id."""
    step = {"content": "Look", "priority": "high", "status": "pending"}
    done = {**step, "status": "completed"}
    named = {"type": "items", "planId": "b", "entries": [step]}
    assert parts(
        {"sessionUpdate": "plan", "entries": [step]},
        {"sessionUpdate": "plan_update", "plan": named},
        {"sessionUpdate": "plan", "entries": [done, {}, "x"]},
    ) == [
        PlanResponsePart(
            id="p1",
            entries=(
                PlanEntry(content="Look", priority="high", status="completed"),
                PlanEntry(content="", status="pending"),
            ),
        ),
        PlanResponsePart(id="p2", plan_id="b", entries=(PlanEntry(content="Look", priority="high", status="pending"),)),
    ]
    removed = {"sessionUpdate": "plan_removed", "planId": "b"}
    assert parts({"sessionUpdate": "plan_update", "plan": named}, removed, removed) == []


def test_part_id_is_never_used_twice() -> None:
    """Even after a part was removed."""
    plan = {"type": "items", "planId": "b", "entries": []}
    ids = [
        part.id
        for part in parts(
            {"sessionUpdate": "plan_update", "plan": plan},
            chunk("a"),
            {"sessionUpdate": "plan_removed", "planId": "b"},
            chunk("b", "agent_thought_chunk"),
        )
    ]
    assert ids == ["p2", "p3"]


def compaction(kind: str = "compaction_update", **more: Any) -> dict[str, Any]:
    """Returns an update of compaction `k1`."""
    return {"sessionUpdate": kind, "compactionId": "k1", **more}


def summary(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": each} for each in texts]


def one_call(*updates: dict[str, Any]) -> Any:
    """Returns the only call of the turn after *updates*."""
    (part,) = parts(*updates)
    return part.tool_call


def test_compaction_is_one_call_that_grows_and_completes() -> None:
    """The summary is streamed, or comes whole at the end, which wins."""
    began = compaction(status="in_progress")
    chunks = [compaction("compaction_summary_chunk", content=block) for block in summary("Kept: ", "all.")]
    running = one_call(began, *chunks)
    assert isinstance(running, ToolCallRunningState)
    assert running.details is not None
    assert (running.display_name, running.tool_name) == ("Compacting the conversation", "compaction")
    assert running.details is not None
    assert running.details.content == (ToolTextContent(text="Kept: all."),)
    done = one_call(began, *chunks, compaction(status="completed"))
    assert isinstance(done, ToolCallCompletedState)
    assert done.details is not None
    assert (done.display_name, done.details.content) == ("Compacted the conversation", running.details.content)
    replaced = one_call(began, *chunks, compaction(status="completed", summary=summary("Less.")))
    assert replaced.details is not None
    assert replaced.details.content == (ToolTextContent(text="Less."),)
    assert one_call(compaction(status="completed", summary=None)).details.content == ()


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"status": "failed", "error": "no room"}, "no room"), ({"status": "cancelled"}, "It was cancelled.")],
)
def test_failed_compaction_says_why(fields: dict[str, Any], message: str) -> None:
    """Cancelled counts as failed."""
    call = one_call(compaction(status="in_progress"), compaction(**fields))
    assert (call.success, call.error.message) == (False, message)


def test_compaction_continues_after_its_turn() -> None:
    """It stays in its first turn."""
    chat = after(compaction(status="in_progress"))
    chat = reduce_chat(chat, ChatTurnComplete(turn_id="t1", duration=1, time=1))
    chat = applied(chat, compaction(status="completed"), None)
    assert len(chat.turns) == 1


def test_notice_is_plain_text_and_not_repeated_in_a_row() -> None:
    """An unknown severity has no prefix; a repeated notice is shown once."""
    notice = {"sessionUpdate": "notice", "severity": "error", "title": "**Quota**", "description": "Half of it."}
    odd = {"sessionUpdate": "notice", "severity": "_mine", "title": "Well"}
    texts = [part.content for part in parts(notice, notice, odd)]
    assert texts == ["Error: **Quota**\nHalf of it.", "Well"]


@pytest.mark.parametrize("update", CASES["what is not understood is kept raw"])
def test_unknown_or_invalid_update_is_kept_raw(update: dict[str, Any]) -> None:
    """Unknown kinds, and known ones with unreadable fields."""
    name = update.get("sessionUpdate") or "update"
    assert parts(update) == [RawResponsePart(id="p1", name=name, payload=update)]


@pytest.mark.parametrize(
    ("update", "action"),
    [
        (
            {
                "sessionUpdate": "available_commands_update",
                "availableCommands": [
                    {"name": "web", "description": "Search", "input": {"hint": "words"}},
                    {"name": "x"},
                    1,
                ],
            },
            XCommandsChanged(
                commands=(
                    AgentCommand(name="web", description="Search", hint="words"),
                    AgentCommand(name="x", description=""),
                ),
                time=1,
            ),
        ),
        ({"sessionUpdate": "current_mode_update", "currentModeId": "ask"}, XModeChanged(mode_id="ask", time=1)),
        ({"sessionUpdate": "current_mode_update", "modeId": "ask"}, XModeChanged(mode_id="ask", time=1)),
        (
            {"sessionUpdate": "config_option_update", "configOptions": [{"id": "a"}, 3]},
            XConfigOptionsChanged(config_options=({"id": "a"},), time=1),
        ),
        ({"sessionUpdate": "session_info_update", "title": "T"}, SessionTitleChanged(title="T", time=1)),
        (
            {"sessionUpdate": "usage_update", "used": 5.0, "size": 9, "cost": {"amount": 1, "currency": "USD"}},
            XContextUsageChanged(used=5, size=9, cost=Cost(amount=1.0, currency="USD"), time=1),
        ),
        (
            {"sessionUpdate": "usage_update", "used": 5, "size": 9, "cost": {"amount": "much"}},
            XContextUsageChanged(used=5, size=9, time=1),
        ),
    ],
)
def test_session_updates_go_to_the_session_channel(update: dict[str, Any], action: Any) -> None:
    """They need no turn."""
    assert map_update(update, empty_chat(), None, 1) == (action,)
    assert action.channel_kind == "session"


def suggested(*prompts: Any) -> Any:
    """Returns the suggestions mapped from *prompts*."""
    update = {"sessionUpdate": "prompt_suggestions_update", "suggestions": [{"prompt": each} for each in prompts]}
    (action,) = map_update(update, empty_chat(), None, 1)
    assert isinstance(action, XPromptSuggestionsChanged)
    return action.suggestions


def text_block(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def link(uri: str) -> dict[str, Any]:
    return {"type": "resource_link", "name": "it", "uri": uri}


def test_suggested_prompts_go_to_the_chat_channel() -> None:
    """They need no turn; an empty list removes them."""
    update = {"sessionUpdate": "prompt_suggestions_update", "suggestions": [{"prompt": [text_block("Plot it")]}]}
    assert map_update(update, empty_chat(), None, 1) == (XPromptSuggestionsChanged(suggestions=("Plot it",), time=1),)
    assert XPromptSuggestionsChanged.channel_kind == "chat"
    assert suggested() == ()


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ([text_block(" Plot it\n")], "Plot it"),
        ([text_block("Plot it"), text_block("and save it")], "Plot it\nand save it"),
        ([text_block("Explain"), link("file:///work/fit.py#L3"), text_block("to me")], "Explain @/work/fit.py to me"),
        ([link("file:///my%20data/a.csv")], '@"/my data/a.csv"'),
        ([text_block("Read"), link("https://example.org/a")], "Read https://example.org/a"),
        ([text_block("<b>bold</b> [x](javascript:alert(1))")], "<b>bold</b> [x](javascript:alert(1))"),
        ([text_block("a\r\nb\u2028c\x1b[2J\x00")], "a\nb\nc[2J"),
        ([text_block("\u202egnp.exe\u200b \U000e0041\U000e0042")], "gnp.exe"),
        ([text_block("\u0645\u06cc\u200c\u062e")], "\u0645\u06cc\u200c\u062e"),
        ([text_block("x" * 2_000)], "x" * 2_000),
    ],
)
def test_suggested_prompt_becomes_text_a_user_could_type(prompt: Any, text: str) -> None:
    """Files become mentions; characters that hide or reorder text go, unless a language needs them."""
    assert suggested(prompt) == (text,)


@pytest.mark.parametrize(
    "prompt",
    [
        *(None, 1, "Plot it", {}, [], [1], [{}], [[]], [text_block("")], [text_block(" \n\u200d")]),
        *([{"type": "text"}], [{"type": "text", "text": 1}], [text_block("x" * 2_001)], [text_block("x" * 1_000_000)]),
        [text_block("Look"), {"type": "image", "data": "", "mimeType": "image/png"}],
        *([text_block("x")] * 101, [link("file:///a%0Ab")], [link('file:///a"b')], [link("file://server/share/a")]),
        *([link("javascript:alert(1)")], [link("agentnb://context/a")], [link("file:///" + "x" * 1_000_000)]),
    ],
)
def test_suggested_prompt_that_is_not_plain_text_is_left_out(prompt: Any) -> None:
    """A part of it would be another prompt."""
    assert suggested(prompt, [text_block("Plot it")]) == ("Plot it",)


def test_only_the_first_three_suggested_prompts_are_kept() -> None:
    many = [[text_block(f"Plot {number // 2}")] for number in range(10_000)]
    assert suggested(*many) == ("Plot 0", "Plot 1", "Plot 2")


def test_late_text_goes_to_its_finished_turn() -> None:
    """The action names that turn, so the running turn and its status stay."""
    chat = applied(applied(finished(), chunk(" again")), call("completed", title="x"))
    (turn,) = chat.turns
    assert (text_of(chat), len(turn.response_parts), chat.active_turn) == ("Hi again", 2, None)


def test_late_tool_call_update_goes_to_the_turn_of_the_call() -> None:
    from agentnb.state import ChatTurnStarted, Message, MessageOrigin

    chat = reduce_chat(after(call("in_progress", title="x")), ChatTurnComplete(turn_id="t1", time=2))
    message = Message(text="next", origin=MessageOrigin(kind="user"))
    chat = reduce_chat(chat, ChatTurnStarted(turn_id="t2", message=message, time=3))
    chat = applied(chat, call(rawOutput="done"), "t2")
    (part,) = chat.turns[0].response_parts
    assert isinstance(part, ToolCallResponsePart)
    assert part.tool_call.details is not None
    assert part.tool_call.details.raw_output == "done"
    assert chat.active_turn is not None
    assert chat.active_turn.response_parts == ()


def test_text_before_any_turn_gets_its_own_finished_turn() -> None:
    """Some agents send a greeting."""
    chat = applied(applied(empty_chat(), chunk("Welcome"), None), chunk("!"), None)
    assert ([turn.id for turn in chat.turns], text_of(chat), chat.active_turn) == (["agent-1"], "Welcome!", None)
    assert chat.turns[0].message.origin.kind == "agent"


def test_loaded_conversation_becomes_turns() -> None:
    """ACP `session/load`: each user message begins a turn."""
    user = "user_message_chunk"
    chat = empty_chat()
    for update in (chunk("One", user), chunk("Ein"), chunk("One", user), call("completed", "tool_call", title="x")):
        chat = applied(chat, update, None)
    assert [(turn.message.text, len(turn.response_parts)) for turn in chat.turns] == [("One", 1), ("One", 1)]


OPTIONS = [
    {"optionId": "a", "name": "Always", "kind": "allow_always"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
    {"optionId": "odd", "kind": "explode"},
    {"name": "no id"},
    None,
]


def request_permission(chat: ChatState, tool_call: Any) -> tuple[str, Any]:
    """Returns the id and state of a permission request's tool call."""
    call_id, actions = map_permission({"toolCall": tool_call, "options": OPTIONS}, chat, "t1", 1)
    for action in actions:
        chat = reduce_chat(chat, action)
    assert chat.active_turn is not None
    states = [part.tool_call for part in chat.active_turn.response_parts if isinstance(part, ToolCallResponsePart)]
    return call_id, next(state for state in states if state.tool_call_id == call_id)


def test_permission_request_for_an_unknown_call_creates_it() -> None:
    """Options keep their names; unknown kinds are denials."""
    call_id, state = request_permission(empty_chat("x"), {"toolCallId": "c9", "title": "Write a.txt", "kind": "edit"})
    assert isinstance(state, ToolCallPendingConfirmationState)
    assert (call_id, state.confirmation_title, state.tool_name) == ("c9", "Write a.txt", "edit")
    assert [(each.id, each.label, each.kind, each.option_kind) for each in state.options or ()] == [
        ("a", "Always", "approve", "allow_always"),
        ("n", "No", "deny", "reject_once"),
        ("odd", "odd", "deny", "explode"),
    ]


@pytest.mark.parametrize("status", ["pending", "in_progress"])
def test_permission_request_keeps_the_known_fields_of_its_call(status: str) -> None:
    """Title, input and details stay."""
    chat = after(call(status, "tool_call", title="Run ls", rawInput={"a": 1}))
    call_id, state = request_permission(chat, {"toolCallId": "c1"})
    assert isinstance(state, ToolCallPendingConfirmationState)
    assert (call_id, state.confirmation_title, state.tool_input) == ("c1", "Run ls", '{"a":1}')


@pytest.mark.parametrize(
    ("announced", "requested", "kind"),
    [("read", "other", "read"), ("search", "other", "search"), ("execute", "other", "other"), ("read", "edit", "edit")],
)
def test_permission_request_of_kind_other_gets_a_read_kind(announced: str, requested: str, kind: str) -> None:
    """OpenCode requests access outside the workspace this way; a kind beyond reading is kept."""
    chat = after(call("in_progress", "tool_call", title="x", kind=announced))
    assert request_permission(chat, {"toolCallId": "c1", "kind": requested})[1].details.kind == kind


@pytest.mark.parametrize("tool_call", [{"toolCallId": "c1"}, None, {}, [1]])
def test_permission_request_without_a_running_call_gets_its_own(tool_call: Any) -> None:
    """If the call has ended or is missing, the request gets its own call."""
    _, state = request_permission(after(call("completed", "tool_call", title="x")), tool_call)
    assert isinstance(state, ToolCallPendingConfirmationState)


def test_call_ends_when_the_agent_does_not_wait_for_the_answer() -> None:
    """The call still ends: completed or cancelled."""
    for status, kind in (("completed", ToolCallCompletedState), ("failed", ToolCallCancelledState)):
        chat = empty_chat("x")
        for action in map_permission({"toolCall": {"toolCallId": "c1"}, "options": OPTIONS}, chat, "t1", 1)[1]:
            chat = reduce_chat(chat, action)
        chat = applied(applied(chat, call("in_progress")), call(status))
        assert chat.active_turn is not None
        (part,) = chat.active_turn.response_parts
        assert isinstance(part, ToolCallResponsePart)
        assert type(part.tool_call) is kind


def test_new_session_sets_modes_and_config_options() -> None:
    """The `models` of older agents become a config option."""
    models = {"currentModelId": "m", "availableModels": [{"modelId": "m", "name": "M"}, {"name": "no id"}]}
    modes = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {}]}
    option = {
        "id": "model",
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": "m",
        "options": [{"value": "m", "name": "M", "description": ""}],
    }
    assert map_session({"sessionId": "s", "modes": modes, "models": models}) == (
        XModesChanged(modes=SessionModes(current_mode_id="ask", available_modes=(SessionMode(id="ask", name="Ask"),))),
        XConfigOptionsChanged(config_options=(option,)),
    )
    assert map_session({"sessionId": "s", "modes": None, "configOptions": None, "models": 3}) == ()


def test_terminals_reported_in_meta_are_mapped() -> None:
    """From `_meta`, with ids that agentnb did not create."""
    opened = call("in_progress", "tool_call", title="ls", _meta={"terminal_info": {"terminal_id": "z", "cwd": "/w"}})
    printed = call(_meta={"terminal_output": {"terminal_id": "z", "data": "a\n"}})
    ended = call("completed", _meta={"terminal_exit": {"terminal_id": "z", "exit_code": 0, "signal": None}})
    view = TerminalView(id="z", command="ls", cwd="/w", output="a\n", exit_code=0, exited=True)
    assert after(opened, printed, ended).terminals == (view,)


@pytest.mark.parametrize(
    ("ended", "failure"),
    CASES["a command that ended badly has failed when the agent calls it completed"],
)
def test_completed_command_with_a_bad_exit_code_has_failed(ended: dict[str, Any], failure: str | None) -> None:
    """By its terminal or the exit code in its raw output; other tools' exit codes are ignored."""
    terminal = [{"type": "terminal", "terminalId": "z"}]
    info = {"terminal_info": {"terminal_id": "z", "cwd": "/w"}}
    begun = call("in_progress", "tool_call", kind="execute", title="make", content=terminal, _meta=info)
    state = only_call(begun, call("completed", **ended))
    assert isinstance(state, ToolCallCompletedState)
    expected = None if failure is None else f"The command ended with {failure}."
    assert (state.success, state.error and state.error.message) == (failure is None, expected)


@pytest.mark.parametrize(("ended", "message"), CASES["a failed call with raw output says why in words"])
def test_failed_call_with_raw_output_says_why(ended: dict[str, Any], message: str) -> None:
    """Raw output with an error text or exit code is not shown as JSON."""
    terminal = [{"type": "terminal", "terminalId": "z"}]
    info = {"terminal_info": {"terminal_id": "z", "cwd": "/w"}}
    begun = call("in_progress", "tool_call", kind="execute", title="make", content=terminal, _meta=info)
    state = only_call(begun, call("failed", **ended))
    assert isinstance(state, ToolCallCompletedState)
    assert (state.error and state.error.message) == message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KINDS = [
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "plan_update",
    "plan_removed",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
    "prompt_suggestions_update",
    "unheard_of",
]
FIELDS = [
    "content",
    "messageId",
    "toolCallId",
    "title",
    "name",
    "kind",
    "status",
    "locations",
    "rawInput",
    "rawOutput",
    "entries",
    "plan",
    "planId",
    "availableCommands",
    "currentModeId",
    "configOptions",
    "used",
    "size",
    "cost",
    "suggestions",
    "_meta",
]
STATUS = st.sampled_from(["pending", "in_progress", "completed", "failed"])
ITEMS = st.sampled_from([[{"type": "content", "content": {"type": "text", "text": "x"}}], [{"type": "diff"}], "x"])
VALUES = JSON | STATUS | ITEMS | st.sampled_from(["c1", {"type": "text", "text": "x"}, {"type": "text", "text": None}])
UPDATES = st.builds(
    lambda kind, fields: {**fields, "sessionUpdate": kind},
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6),
)


@given(st.lists(UPDATES, max_size=6), st.sampled_from(["t1", "gone", None]), st.booleans())
def test_any_update_is_mapped_to_a_state_that_can_be_encoded(
    updates: list[dict[str, Any]], turn_id: str | None, running: bool
) -> None:
    """Also, the resulting state can be encoded and decoded."""
    chat = empty_chat("Hello") if running else empty_chat()
    for update in updates:
        chat = applied(chat, update, turn_id)
        map_permission({"toolCall": update, "options": [update]}, chat, turn_id, 1)
        map_session(update)
    assert encode(decode(ChatState, encode(chat))) == encode(chat)
