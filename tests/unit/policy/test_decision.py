"""Which option carries a decision to the agent, and which tool call shows a permission request."""

from __future__ import annotations

from agentnb.host.permissions.cards import belongs
from agentnb.host.permissions.permission_request import asked_request
from agentnb.policy.engine import judge
from agentnb.policy.request import PolicyRequest, Situation, choose_option
from agentnb.state import (
    ConfirmationOption,
    ToolCallDetails,
    ToolCallLocation,
    ToolCallRunningState,
    ToolCallState,
    ToolDiffContent,
)

WRITE = PolicyRequest(kind="write", title="Write a.txt", path="/w/a.txt")


def option(kind: str | None, side: str = "approve") -> ConfirmationOption:
    return ConfirmationOption(id=str(kind), label="x", kind=side, option_kind=kind)


def test_unknown_option_kind_counts_by_its_side() -> None:
    """The agent's kinds may not be ACP's."""
    options = [option("explode", "deny"), option(None, "approve")]
    chosen = [choose_option(options, allow=allow) for allow in (True, False)]
    assert [each and each.id for each in chosen] == ["None", "explode"]


def call(tool_input: str | None = None, **details: object) -> ToolCallState:
    """Returns a running tool call."""
    return ToolCallRunningState(
        tool_call_id="c",
        tool_name="x",
        display_name="x",
        invocation_message="x",
        confirmed="not-needed",
        tool_input=tool_input,
        details=ToolCallDetails(**details),  # type: ignore[arg-type]
    )


def test_request_belongs_to_the_tool_call_that_names_its_file() -> None:
    """In its locations or its diff; a call without any does not match."""
    here, there = (
        (ToolCallLocation(path="/w/a.txt"),),
        (ToolCallLocation(path="/w/b.txt"), ToolCallLocation(path="a.txt")),
    )
    diff = (ToolDiffContent(path="/w/x/../a.txt", new_text=""),)
    looks = call(kind="read", locations=here)
    calls = [call(locations=here), call(content=diff), call(locations=there), call(), looks]
    assert [belongs(WRITE, each) for each in calls] == [True, True, False, False, False]


def test_terminal_belongs_to_the_tool_call_with_its_command() -> None:
    """As a line or as words."""
    request = PolicyRequest(kind="terminal", title="Run ls", command="ls -l", path="/w")
    calls = [
        call("ls -l"),
        call(raw_input={"command": ["ls", "-l"]}),
        call("rm -r"),
        call(locations=(ToolCallLocation(path="/w"),)),
    ]
    assert [belongs(request, each) for each in calls] == [True, True, False, False]


def test_kernel_code_belongs_to_the_tool_call_that_contains_it() -> None:
    """The code must be the whole argument of the tool, also in wrapped arguments."""
    request = PolicyRequest(kind="kernel", title="Run code", command="x = 1")
    calls = [
        call(raw_input={"code": "x = 1", "timeout": 3}),
        call(raw_input={"arguments": {"code": "x = 1"}}),
        call(raw_input={"code": "x = 2"}),
        call(raw_input={"code": "x = 1", "language": "perl"}),
        call("x = 1"),
        call(),
    ]
    assert [belongs(request, each) for each in calls] == [True, True, False, False, False, False]


def test_permission_request_with_code_is_rated_as_kernel_code() -> None:
    """Rated as code if the agent has access to the kernel; otherwise the agent's own kind counts."""
    tool_call = call(raw_input={"code": "import shutil; shutil.rmtree('/')"})
    code = asked_request(tool_call, "mcp kernel run_code", "/w", kernel=True)
    assert (code.kind, code.tool, code.command) == ("permission", "kernel", "import shutil; shutil.rmtree('/')")
    assert judge(code, Situation(agent="a", mode="allow")).floor == "critical"
    assert asked_request(tool_call, "mcp kernel run_code", "/w").tool == "other"
