"""The conductor over real processes: messages, ids, initialize, MCP, cancel, and components that misbehave."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from agentnb.components import Component, Tool
from tests.unit.acp.recording_listener import scripted
from tests.unit.api.conftest import PATIENCE
from tests.unit.plugins.chain.conducted import SESSION, Named, Polite, Refused, conducted, proxy


async def test_messages_pass_all_component_forms_in_order() -> None:
    """Three forms of the envelope and a component in Python: each changes the prompt in turn."""
    components = (proxy("plain", "old"), Polite(), proxy("shouts", "sdk"), proxy("plain", "new"))
    async with conducted(*components) as client:
        answer = await client.prompt("hi")
        assert (answer, client.text) == ({"stopReason": "end_turn"}, "<HI>< PLEASE>")
        assert client.strays == {}


async def test_initialize_answer_offers_mcp_over_acp() -> None:
    """The agent's answer comes through; the conductor adds what it bridges, a component may add more."""
    async with conducted(Named(), proxy(), ready=False) as client:
        answer = await client.initialize()
    assert answer["agentInfo"]["title"] == "OpenCode"
    assert answer["agentCapabilities"] == {"promptCapabilities": {"image": True}, "mcpCapabilities": {"acp": True}}


@pytest.mark.parametrize(
    ("behaviour", "fault"),
    [
        ("drops_initialize", "did not answer proxy/initialize within 0.2 s."),
        ("answers_initialize_itself", "answered initialize and did not pass it on to echo."),
        ("sends_too_early", "sent session/new before echo was initialized."),
        ("never", "did not answer session/new within 0.2 s."),
        ("changes_ids", "did not answer session/new within 0.2 s."),
    ],
)
async def test_request_fails_when_a_component_does_not_answer(behaviour: str, fault: str) -> None:
    """The request fails with an error that names the component and its fault."""
    start = 0.2 if behaviour == "drops_initialize" else PATIENCE
    odd = proxy(behaviour, name="odd")
    async with conducted(odd, ready=False, patience=0.2, start_patience=start) as client:
        with pytest.raises(Refused) as failure:
            await client.talk()
    assert str(failure.value) == f"The component 'odd' {fault}"


@pytest.mark.parametrize(("behaviour", "strays"), [("twice", 2), ("ids_as_text", 0), ("rubbish", 4), ("floods", 0)])
async def test_chain_survives_duplicate_and_invalid_messages(behaviour: str, strays: int) -> None:
    """Duplicate answers and invalid lines are counted under its name; no readable message is lost."""
    async with conducted(proxy(), proxy(behaviour, name="odd")) as client:
        answers = [await client.prompt("one"), await client.prompt("two")]
        assert answers == [{"stopReason": "end_turn"}] * 2
        flood = "word " * 2_000 if behaviour == "floods" else ""
        assert client.text == f"{flood}one{flood}two"
        assert client.strays.get("the component 'odd'", 0) >= strays


async def test_answers_out_of_order_reach_their_requests() -> None:
    async with conducted(proxy("out_of_order"), ready=False) as client:
        await client.initialize()
        opened, answer = await asyncio.gather(client.open(), client.prompt("hi"))
        assert (opened, answer) == ({"sessionId": SESSION}, {"stopReason": "end_turn"})


@pytest.mark.parametrize("point", ["start", "initialize", "session/new", "session/prompt", "session/update", "answer"])
async def test_component_that_dies_is_named_and_ends_the_chain(point: str) -> None:
    """At any point of the protocol: the failure has the component's name, exit code and last output."""
    async with conducted(proxy(), proxy(f"dies_at_{point}", name="odd"), ready=False) as client:
        work = asyncio.ensure_future(client.talk())
        failure = await asyncio.wait_for(client.failed, PATIENCE)
        assert failure.name == "the component 'odd'"
        message = "The component 'odd' stopped unexpectedly (exit code 9). Last output:\nout of patience"
        assert failure.message == message
        assert len(failure.unanswered) == 1 or point == "start"  # it may exit before the first request
        work.cancel()


async def test_cancel_passes_through_the_chain() -> None:
    """`session/cancel` reaches the agent through every component, and its answer comes back."""
    async with conducted(proxy("plain", "old"), Polite(), proxy(), agent="slow") as client:
        turn = asyncio.ensure_future(client.prompt())
        await asyncio.wait_for(client.spoken.wait(), PATIENCE)
        client.connection.notify("session/cancel", {"sessionId": SESSION})
        assert await turn == {"stopReason": "cancelled"}


async def test_cancelled_request_is_cancelled_at_each_connection() -> None:
    """`$/cancel_request` carries the id that each connection knows."""
    async with conducted(proxy(), agent="gives_up") as client:
        client.answering = asyncio.Event()  # the user never answers
        assert await client.prompt() == {"stopReason": "end_turn"}
        assert client.text == "-32800"


async def test_prompt_can_be_cancelled_while_a_component_reads_it() -> None:
    """The component gives up, the turn is cancelled; later messages do not overtake the cancel."""
    begun = asyncio.Event()

    class Thinks(Component):
        async def on_prompt(self, session_id: str, prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
            begun.set()
            if prompt[0]["text"] == "long":
                await asyncio.Event().wait()
            return prompt

    async with conducted(Thinks()) as client:
        turn = asyncio.ensure_future(client.prompt("long"))
        await begun.wait()
        client.connection.notify("session/cancel", {"sessionId": SESSION})
        assert await turn == {"stopReason": "cancelled"}
        assert await client.prompt("short") == {"stopReason": "end_turn"}
        assert client.text == "short"


@pytest.mark.parametrize("hook", ["on_initialize", "on_session", "on_prompt", "on_update", "on_message"])
async def test_component_with_a_failing_method_is_named(hook: str) -> None:
    """A waiting request fails; if nobody waits, the message goes on and the failure is counted."""

    def fail(*_: Any) -> Any:
        raise ValueError("no luck")

    async def fail_later(*_: Any) -> Any:
        fail()

    broken = type("Broken", (Component,), {hook: fail if hook in {"on_update", "on_message"} else fail_later})
    async with conducted(broken(), ready=False) as client:
        if hook in {"on_update", "on_message"}:
            await client.talk()
            assert client.text == "hi"
            assert client.strays["the component 'broken'"] >= 1
        else:
            with pytest.raises(Refused, match=f"The component 'broken' failed in {hook}: ValueError: no luck"):
                await client.talk()


async def test_request_fails_when_a_component_takes_too_long() -> None:
    """The request fails after the chain's patience; the next one is served."""

    class Stuck(Component):
        async def on_prompt(self, session_id: str, prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
            if prompt[0]["text"] == "stuck":
                await asyncio.Event().wait()
            return prompt

    async with conducted(Stuck(), patience=0.2) as client:
        with pytest.raises(Refused, match=r"The component 'stuck' did not answer session/prompt within 0.2 s\."):
            await client.prompt("stuck")
        assert await client.prompt("free") == {"stopReason": "end_turn"}


def says(word: str) -> str:
    return f"said {word}"


TALKS = Tool(name="talk", description="Says a word.", run=says, parameters={"word": {"type": "string"}})


class Talks(Component):
    tools = (TALKS,)


@pytest.mark.parametrize("form", ["python", "", "_by_id", "_by_server_id", "_by_url"])
async def test_component_tools_reach_an_agent_over_stdio(form: str) -> None:
    """The agent gets a program on stdio, whose requests go up the chain, also through another component.

    A component declares its server in the form of the text, the schema, both, or the older draft.
    """
    component = Talks() if form == "python" else proxy(f"serves_tools{form}")
    name, said = ("talks talk", "said hi") if form == "python" else ("clock now", "now {'word': 'hi'}")
    async with conducted(component, proxy(), agent="starts_mcp") as client:
        await client.prompt(f'{name} {{"word": "hi"}}')
        assert json.loads(client.text)["content"] == [{"type": "text", "text": said}]


async def test_component_tools_reach_an_agent_over_http() -> None:
    """The agent silently ignores servers on stdio."""
    agent = msgspec.structs.replace(scripted("http_mcp"), mcp_transport="http")
    async with conducted(Talks(), proxy(), agent=agent) as client:
        await client.prompt('talk {"word": "hi"}')
        assert json.loads(client.text)["content"] == [{"type": "text", "text": "said hi"}]


async def test_component_tools_reach_an_agent_over_acp() -> None:
    """Calls use the chain's connection; an unknown tool is refused, a failing one gives the reason."""
    async with conducted(Talks(), proxy(), agent="uses_mcp") as client:
        await client.prompt("talks talk")
        assert "TypeError" in client.text
        await client.prompt("talks nothing")
        assert "Unknown tool: nothing" in client.text
