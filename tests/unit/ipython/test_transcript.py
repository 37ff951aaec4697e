"""The saved record of a turn: complete, in order, reproducible and harmless.

The inside: parts that no agent here sends, and any text.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.ipython.blocks import LARGEST_PICTURE
from agentnb.ipython.transcript import GrowingText, plain_text, transcript
from agentnb.state import (
    ActiveTurn,
    ContentResponsePart,
    ErrorInfo,
    ErrorResponsePart,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    PlanEntry,
    PlanResponsePart,
    RawResponsePart,
    ReasoningResponsePart,
    TerminalView,
    ToolBlockContent,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallDetails,
    ToolCallLocation,
    ToolCallResponsePart,
    ToolCallRun,
    ToolCallRunningState,
    ToolDiffContent,
    ToolTerminalContent,
    ToolTextContent,
    Turn,
    UsageInfo,
)
from agentnb.state.parts import Parts
from tests.unit.ipython.test_markdown import TEXTS, check

MESSAGE = Message(text="Hi", origin=MessageOrigin(kind="user"))
PIXEL = "iVBORw0KGgo="


def turn(*parts: Any, **more: Any) -> Turn:
    """Returns a finished turn of *parts*."""
    fields = {"response_parts": Parts(parts), "message": MESSAGE, "state": "complete", "stop_reason": "end_turn"}
    return Turn(id="t", **{**fields, **more})


def failure(message: str) -> ErrorResponsePart:
    """Returns the last part of a failed turn."""
    return ErrorResponsePart(error=ErrorInfo(error_type="x", message=message))


def text(content: str) -> MarkdownResponsePart:
    return MarkdownResponsePart(id="p1", content=content)


def tool(**more: Any) -> ToolCallResponsePart:
    """Returns a successful tool call."""
    fields: dict[str, Any] = {
        "tool_call_id": "c1",
        "tool_name": "edit",
        "display_name": "Edit `fit.py`",
        "invocation_message": "Edit",
        "confirmed": "not-needed",
        "success": True,
        "past_tense_message": "Edited",
    }
    return ToolCallResponsePart(tool_call=ToolCallCompletedState(**{**fields, **more}))


def denied(**more: Any) -> ToolCallResponsePart:
    call = ToolCallCancelledState(
        tool_call_id="c1", tool_name="edit", display_name="Edit", invocation_message="Edit", reason="denied", **more
    )
    return ToolCallResponsePart(tool_call=call)


def test_successful_calls_between_texts_collapse_to_one_line() -> None:
    """With the thoughts about them; failed calls and those with a picture stay separate."""
    image = ToolBlockContent(block={"type": "image", "mimeType": "image/png", "data": PIXEL})
    made = transcript(
        turn(
            text("First."),
            ReasoningResponsePart(id="p1", content="Hm."),
            tool(tool_call_id="a", details=ToolCallDetails(kind="read", locations=(ToolCallLocation(path="/a"),))),
            tool(tool_call_id="b", details=ToolCallDetails(kind="read", locations=(ToolCallLocation(path="/a"),))),
            tool(tool_call_id="c", success=False, error=ErrorInfo(error_type="x", message="No such file")),
            tool(tool_call_id="d", details=ToolCallDetails(kind="execute")),
            tool(tool_call_id="e", details=ToolCallDetails(kind="read", content=(image,))),
            text("Then."),
            tool(tool_call_id="f"),
        )
    )
    lines = [part.split("</summary>")[0] for part in made.split("<details><summary>")[1:]]
    edit = "Edit <code>fit.py</code>"
    read, failed, picture = f"{edit} · done", f"{edit} · failed", f"{edit} · done"
    assert lines == ["Read 1 file, ran 1 command", "Thinking", read, read, read, failed, picture, read]
    assert "**Failed.** No such file" in made


def test_fences_are_longer_than_backticks_in_other_parts() -> None:
    """No text of the agent can end a block of another part; a running turn keeps its parts."""
    made = transcript(turn(text("Look: ```` and `````"), tool(tool_input="{}")))
    assert "``````json\n{}\n``````" in made


def test_terminal_shows_output_without_escape_sequences() -> None:
    terminal = TerminalView(id="x", command="make", output="\x1b[31mred\x1b[0m\n", exit_code=2, exited=True)
    made = turn(tool(details=ToolCallDetails(content=(ToolTerminalContent(terminal_id="x"),))))
    assert "```console\n$ make\nred\n[exit code 2]\n```" in transcript(made, terminals=[terminal])


def test_transcript_keeps_safe_pictures_and_omits_others() -> None:
    png = {"type": "image", "mimeType": "image/png", "data": PIXEL}
    assert f"![picture](data:image/png;base64,{PIXEL})" == transcript(turn(ContentResponsePart(id="p", block=png)))
    for why, block in {
        "(picture of type image/svg+xml, not shown)": {"mimeType": "image/svg+xml", "data": PIXEL},
        "(picture with broken data, not shown)": {"mimeType": "image/png", "data": ") <script>"},
        "(picture of 4,194,309 bytes, too large to keep)": {
            "mimeType": "image/png", "data": "A" * (LARGEST_PICTURE * 4 // 3 + 8),
        },
    }.items():  # fmt: skip
        assert f"*{why}*" == transcript(turn(ContentResponsePart(id="p", block={"type": "image", **block})))


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ({"state": "cancelled", "stop_reason": "cancelled"}, "**The turn was cancelled.**"),
        ({"stop_reason": "max_tokens"}, "**Answer cut off: the model's token limit was reached.**"),
        ({"stop_reason": "refusal"}, "**The agent refused to continue.**"),
        ({"stop_reason": "new<b>"}, "**The turn ended: newb.**"),
        (
            {"state": "error", "response_parts": Parts([failure("It <b>died</b>.")])},
            "**Error.** It &lt;b>died&lt;/b>.",
        ),
        ({"usage": UsageInfo(input_tokens=1200, output_tokens=3)}, "*Tokens: 1,200 in, 3 out*"),
        ({}, "*The agent gave no answer.*"),
    ],
)
def test_transcript_ends_with_the_outcome_of_the_turn(ending: dict[str, Any], expected: str) -> None:
    assert expected == transcript(turn(**ending))


def test_running_turn_without_parts_is_described_as_running() -> None:
    running = ActiveTurn(id="t", message=MESSAGE, response_parts=())
    sentence = "The turn is still running: the agent has not answered yet."
    assert (transcript(running), plain_text(running)) == (f"*{sentence}*", sentence)


def test_transcript_keeps_an_unknown_update() -> None:
    made = transcript(turn(RawResponsePart(id="p", name="new_<b>", payload={"x": "```</details>"})))
    assert '"x": "```&lt;' not in made
    assert '````json\n{\n  "x": "```</details>"\n}\n````' in made
    check(made)


def hostile_turn(one: str, two: str, kind: str, *more: Any, blocks: Any = ()) -> tuple[Turn, list[TerminalView]]:
    """Returns a turn with a tool call of *kind*, and its terminal, in which every text is one of these.

    It has *more* parts, and the call has content *blocks*.
    """
    details = ToolCallDetails(
        kind=kind,
        locations=(ToolCallLocation(path=two),),
        raw_input={"command": one, two: one},
        content=(
            ToolTextContent(text=two),
            ToolDiffContent(path=one, old_text=f"a\n{two}", new_text=f"{one}\n"),
            *(ToolBlockContent(block=block) for block in blocks),
            ToolTerminalContent(terminal_id="x"),
        ),
    )
    made = turn(
        text(one),
        ReasoningResponsePart(id="p2", content=two),
        tool(display_name=one, tool_name=two, tool_input=one, details=details),
        PlanResponsePart(id="p3", entries=(PlanEntry(content=one, status=two, priority=one),)),
        *more,
        ErrorResponsePart(error=ErrorInfo(error_type=one, message=two)),
        message=Message(text=one, origin=MessageOrigin(kind="user")),
        state="error",
        stop_reason=one,
    )
    return made, [TerminalView(id="x", command=one, output=two, signal=one, exited=True)]


@given(TEXTS, TEXTS)
def test_transcript_is_harmless_for_any_text_of_the_agent(one: str, two: str) -> None:
    blocks = (
        {"type": one, "uri": two},
        {"type": "resource_link", "name": two, "uri": one},
        {"type": "resource", "resource": {"uri": one, "text": two}},
    )
    raw = RawResponsePart(id="p4", name=two, payload={one: two})
    made, terminals = hostile_turn(one, two, one, denied(reason_message=two), raw, text(two), blocks=blocks)
    check(transcript(made, terminals=terminals))


def test_output_before_a_failure_keeps_its_lines() -> None:
    """The agent's fence around the traceback is not part of the output."""
    output = ToolTextContent(text="step 1\nstep 2\n```\nZeroDivisionError: division by zero\n```")
    run = ToolCallRun(started_at=1, ended_at=2, content=(output,))
    made = transcript(turn(tool(details=ToolCallDetails(kind="kernel", run=run))))
    assert "```\nstep 1\nstep 2\nZeroDivisionError: division by zero\n```" in made


def test_plain_text_adds_no_markup() -> None:
    made = turn(ReasoningResponsePart(id="p", content="Hm."), tool(), text("*Done*"), usage=UsageInfo(output_tokens=3))
    assert "(thinking) Hm.\n\n[Edit `fit.py` · done]\n\n*Done*\n\nTokens: 3 out" == plain_text(made)


@given(st.lists(st.text(alphabet="ab\n", min_size=1), min_size=1, max_size=6), st.lists(st.integers(0, 20), max_size=8))
def test_text_read_in_steps_equals_the_final_text(parts: list[str], stops: list[int]) -> None:
    reader, read = GrowingText(), ""
    for stop in sorted(stops):
        texts, left = [], stop
        for part in parts:
            texts.append(text(part[:left]))
            left -= len(part)
            if left <= 0:
                break
        read += reader.read(ActiveTurn(id="t", message=MESSAGE, response_parts=tuple(texts)))
    read += reader.read(turn(*map(text, parts)))
    assert "\n\n".join(parts) == read


def test_growing_text_includes_a_tool_call_once_it_ends() -> None:
    running = ToolCallRunningState(
        tool_call_id="c1", tool_name="t", display_name="T", invocation_message="", confirmed="not-needed"
    )
    reader = GrowingText()
    before = ActiveTurn(id="t", message=MESSAGE, response_parts=(ToolCallResponsePart(tool_call=running),))
    assert ["", "[Edit `fit.py` · done]"] == [reader.read(before), reader.read(turn(tool()))]
