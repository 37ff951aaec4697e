"""A kernel tool call that the agent also announces or requests gives one entry and one permission request."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentnb import Turn
from agentnb.errors import SessionError
from agentnb.state import Parts
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.talk import NewTalk, Talk, environment, host, ids, new_talk, work
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.shell_tools import Tools

__all__ = ["environment", "host", "new_talk", "tools", "work"]  # the fixtures

CODE = "total = 41 + 1"
RUN = ["run_code", {"code": CODE}]
GEMINI = {
    "toolCallId": "run_code__fc-1",
    "title": "run_code (kernel MCP Server)",
    "kind": "other",
    "status": "pending",
    "content": [{"type": "content", "content": {"type": "text", "text": json.dumps({"code": CODE})}}],
}
GEMINI_TITLE = {**GEMINI, "title": json.dumps({"code": CODE}), "content": []}
CLAUDE = {"toolCallId": "t1", "title": "mcp__kernel__run_code", "kind": "other", "rawInput": {"code": CODE}}
CODEX = {
    "toolCallId": "x1",
    "title": "Tool: kernel/run_code",
    "kind": "execute",
    "rawInput": {"server": "kernel", "tool": "run_code", "arguments": {"code": CODE}},
}
TEXT = {"toolCallId": "s1", "title": "kernel_run_code", "kind": "other", "rawInput": json.dumps({"code": CODE})}
OPENCODE = [
    {"toolCallId": "c1", "title": "kernel_run_code", "kind": "other", "status": "pending", "rawInput": {}},
    {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c1",
        "title": "kernel_run_code",
        "status": "in_progress",
        "rawInput": {"code": CODE},
    },
]


@pytest.fixture
def talk(new_talk: NewTalk, tools: Tools) -> Talk:
    """Opens a session whose agent calls kernel tools."""
    return new_talk(script="calls_kernel", kernel_tools=True, shell=tools)


def steps(*each: Any) -> list[Any]:
    """Returns the agent's steps: a dict is an update or a request, a list a tool call, or "end"."""
    return [{"start": one} if isinstance(one, list) else one for one in each]


def ended(turn: Turn) -> tuple[list[Any], int]:
    """Returns the answers to the agent, and the turn's number of tool calls."""
    answers = [json.loads(line) for line in turn.wait(PATIENCE).text.splitlines()]
    return answers, len(turn.tool_calls)


def ended_with(talk: Talk, turn: Turn, find: Callable[[Any], bool], option: str) -> tuple[list[Any], int]:
    """As `ended`; another thread answers the request that *find* selects, as this one runs the tools' code."""
    with ThreadPoolExecutor(1) as user:
        answered = user.submit(
            lambda: talk.answer(talk.until(lambda: next(filter(find, talk.open), None)), option, client="user")
        )
        outcome = ended(turn)
        answered.result(PATIENCE)
    return outcome


@pytest.mark.parametrize("tool_call", [GEMINI, GEMINI_TITLE, CLAUDE, CODEX, TEXT], ids=lambda each: each["title"])
def test_code_allowed_on_the_agents_request_runs_without_asking(
    talk: Talk, tools: Tools, tool_call: dict[str, Any]
) -> None:
    """The card shows the code; the turn has one tool call."""
    turn = talk.prompt(*steps({"ask": tool_call}, RUN, {"end": 1}))
    (card,) = talk.questions()
    assert (card.tool_call_id, card.tool_input) == (tool_call["toolCallId"], CODE)
    talk.answer(card, "yes")
    assert ended(turn) == (["yes", True], 1)
    assert tools.shell.user_ns["total"] == 42


@pytest.mark.parametrize("code", ["total = 0", f"{CODE}\nimport os", f"{CODE} "])
def test_code_that_differs_from_the_allowed_code_asks(talk: Talk, tools: Tools, code: str) -> None:
    turn = talk.prompt(*steps({"ask": GEMINI}, ["run_code", {"code": code}], {"end": 1}))
    talk.answer(talk.questions()[0], "yes")
    (card,) = talk.until(lambda: [each for each in talk.open if each.tool_input == code] or None)
    talk.answer(card, "reject")
    assert ended(turn)[0] == ["yes", False]
    assert "total" not in tools.shell.user_ns


def test_same_code_asks_again_when_it_runs_twice(talk: Talk) -> None:
    turn = talk.prompt(*steps({"ask": GEMINI}, RUN, {"end": 1}, RUN, {"end": 1}))
    talk.answer(talk.questions()[0], "yes")
    assert ended_with(talk, turn, lambda card: "reject" in ids(card), "reject")[0] == ["yes", True, False]
    assert [record.by for record in talk.log] == ["user", "covered", "user"]


@pytest.mark.parametrize("late", [0, 1, 2], ids=["announced before", "arguments after", "announced after"])
def test_announced_kernel_tool_call_has_one_entry(talk: Talk, tools: Tools, late: int) -> None:
    """Also if the call comes before the announcement."""
    updates = [{"update": each} for each in OPENCODE]
    done = {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}}
    before, after = updates[: 2 - late], updates[2 - late :]
    turn = talk.prompt(*steps(*before, RUN, *after, {"end": 1}, done))
    (card,) = talk.until(lambda: [each for each in talk.open if each.tool_call_id == "c1"] or None)
    assert card.tool_input == CODE
    talk.answer(card, "allow")
    assert ended(turn) == ([True], 1)
    (call,) = turn.tool_calls
    assert (call.id, call.status, tools.shell.user_ns["total"]) == ("c1", "completed", 42)


def test_code_allowed_at_the_kernel_answers_a_later_request(talk: Talk) -> None:
    """The agent requests permission after its call."""
    updates = [{"update": each} for each in OPENCODE]
    request = {"ask": {"toolCallId": "c1", "rawInput": {"code": CODE}}}
    other = {"ask": {"toolCallId": "c1", "rawInput": {"code": "other"}}}
    turn = talk.prompt(*steps(*updates, RUN, {"end": 1}, request, other))
    talk.answer(talk.questions()[0], "allow")
    answers, entries = ended_with(talk, turn, lambda card: card.tool_input == "other", "no")
    assert (answers, entries) == ([True, "yes", "no"], 1)


@pytest.mark.parametrize("announced", [None, "pending", "in_progress"], ids=lambda each: each or "our own card")
@pytest.mark.parametrize(
    ("code", "status", "error"), [(CODE, "completed", None), ("1 / 0", "failed", "ZeroDivisionError: division by zero")]
)
def test_tool_call_fails_when_its_code_raises(
    talk: Talk, announced: str | None, code: str, status: str, error: str | None
) -> None:
    """Even if the agent calls it completed; its output is still shown. If it shows none, the kernel's card is shown."""
    run = {**CLAUDE, "rawInput": {"code": code}, "status": announced}
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed", "rawOutput": "the answer"}
    before, after = ([], []) if announced is None else ([{"update": run}], [{"update": done}])
    turn = talk.prompt(*steps(*before, ["run_code", {"code": code}], {"end": 1}, *after))
    talk.answer(talk.questions()[0], "allow")
    assert ended(turn) == ([status == "completed"], 1)
    (call,) = turn.tool_calls
    assert turn.snapshot is not None
    state = Parts.of(turn.snapshot.response_parts).tool_call(call.id)
    assert (call.status, call.id == "t1") == (status, announced is not None)
    assert getattr(getattr(state, "error", None), "message", None) == error
    if announced:
        assert state is not None
        assert state.details is not None
        assert state.details.raw_output == "the answer"


def stop_call(talk: Talk, turn: Turn) -> None:
    """Stops the turn's call as a page does."""
    talk.kernel.ask("stopToolCall", channel=talk.session.chat.resource, toolCallId=turn.tool_calls[0].id)


@pytest.mark.parametrize("announces", [False, True], ids=["our own card", "the agent's tool call"])
def test_tool_call_shows_running_code_and_can_be_stopped(talk: Talk, tools: Tools, announces: bool) -> None:
    """The call has its output while it runs, its result and its times; the turn goes on."""
    code = "import time\nprint('begun')\ntime.sleep(600)"
    run: list[Any] = ["run_code", {"code": code}]
    first = [{"update": {**CLAUDE, "rawInput": {"code": code}, "status": "in_progress"}}] if announces else []
    turn = talk.prompt(*steps(*first, run, {"end": 1}))
    talk.answer(talk.questions()[0], "allow")

    def current_run() -> Any:
        snapshot = turn.snapshot
        assert snapshot is not None
        call = Parts.of(snapshot.response_parts).tool_call(turn.tool_calls[0].id)
        return call.details.run if call is not None and call.details is not None else None

    def stop() -> None:
        talk.until(lambda: ((code_run := current_run()) is not None and code_run.content) or None)
        assert [each.text for each in current_run().content] == ["begun\n"]
        stop_call(talk, turn)

    with ThreadPoolExecutor(1) as user:
        stopped = user.submit(stop)
        assert ended(turn) == ([False], 1)
        stopped.result(PATIENCE)
    run_shown = current_run()
    assert run_shown.content[0].text.startswith("begun\nThe code was stopped by the user.")
    assert run_shown.ended_at >= run_shown.started_at
    assert (turn.state, turn.tool_calls[0].status) == ("complete", "failed")
    with pytest.raises(SessionError, match="is not running code in the kernel now"):
        stop_call(talk, turn)
