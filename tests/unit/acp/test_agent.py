"""Agents that write invalid messages, withdraw requests, refuse, or end: what their turns say of it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

from agentnb import PermissionRequest, Session
from tests.unit.acp.conftest import Describe, Works
from tests.unit.api.conftest import PATIENCE

Start = Callable[..., Session]


def error_of(session: Session) -> str:
    error = session.prompt("go").wait(PATIENCE, check=False).error
    assert error is not None
    return error.message


def test_agent_that_dies_at_start_is_reported_with_last_output(start: Start) -> None:
    """It has the exit status and stderr's tail without colours and keys."""
    message = error_of(start("dies_at_start", agent="dies_at_start", env={"SCRIPTED_API_KEY": "sk-12345678"}))
    assert "dies_at_start stopped while starting (exit code 3)." in message
    assert message.endswith("Last output:\nfatal: no configuration found, key ***")


def test_refused_prompt_says_why_without_secrets(start: Start) -> None:
    message = error_of(start("refuses", agent="refuses", env={"SCRIPTED_API_KEY": "sk-12345678"}))
    assert message == "refuses returned an error: Internal error (the model does not like key ***)."


def test_invalid_output_loses_no_readable_message(start: Start) -> None:
    """Three chunks among stray lines, each repaired; a response with a text id and NaN."""
    turn = start("rubbish").prompt("go").wait(PATIENCE)
    expected = "caf\N{LATIN SMALL LETTER E WITH ACUTE}\ufffd\ufffd"
    assert (turn.stop_reason, turn.text) == ("end_turn", expected)


def test_cancel_reaches_the_agent_before_the_permission_answer(start: Start) -> None:
    """`session/cancel` comes first, then `cancelled` for the permission request."""

    def cancel(_: PermissionRequest) -> str:
        session.cancel()
        return "allow"

    session = start("asks_unknown_call", permissions=cancel)
    turn = session.prompt("go").wait(PATIENCE, check=False)
    assert (turn.stop_reason, turn.text) == ("cancelled", "cancelled")


def test_permission_request_is_dropped_when_the_agent_cancels_it(start: Start) -> None:
    """The agent receives -32800, and the turn goes on."""
    decided = Event()
    session = start("gives_up", permissions=lambda _: "allow" if decided.wait(PATIENCE) else "deny")
    assert session.prompt("go").wait(PATIENCE).text == "-32800"
    decided.set()


def test_unknown_or_unoffered_method_is_refused(start: Start, describe: Describe) -> None:
    """-32601, also if its description does not offer it."""
    session = start(agent=describe("works", capabilities={"read_text_file": False}), permissions="allow")
    share, read, create = Works(session).answers(
        ("session/share", {}), ("fs/read_text_file", {"path": "a"}), ("terminal/create", {"command": "ls"})
    )
    assert (share["code"], read["code"], "terminalId" in create) == (-32601, -32601, True)


def test_large_stderr_does_not_block_the_turn(start: Start) -> None:
    assert start("noisy").prompt("go").wait(PATIENCE).stop_reason == "end_turn"


def test_update_after_a_config_response_is_applied_last(start: Start) -> None:
    """Both come in one read; the older response is applied first."""
    session = start("changes_its_mind")
    session.open(PATIENCE)
    session.set_option("size", "large")
    session.prompt("go").wait(PATIENCE)
    assert [option["currentValue"] for option in session.state.config_options or ()] == ["small"]


def test_extension_request_is_answered_by_the_function_for_its_method(works: Works) -> None:
    """An unknown method is an error."""
    works.session.on_extension("_x/twice", lambda params: {"twice": 2 * params["value"]})
    twice, thrice = works.answers(("_x/twice", {"value": 4}), ("_x/thrice", {"value": 4}))
    assert (twice, thrice["code"]) == ({"twice": 8}, -32601)
