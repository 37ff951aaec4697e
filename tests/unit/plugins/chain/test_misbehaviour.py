"""Components that misbehave in any mixture or die late: nothing waits for ever."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.api.conftest import PATIENCE
from tests.unit.plugins.chain.conducted import SESSION, Client, Refused, conducted, proxy

HARMLESS = ("plain", "twice", "ids_as_text", "rubbish", "floods", "shouts")
HARMFUL = (
    *("never", "changes_ids", "out_of_order", "answers_initialize_itself", "sends_too_early"),
    *(f"dies_at_{point}" for point in ("initialize", "session/new", "session/prompt", "session/update", "answer")),
)
FORMS = ("new", "sdk", "old")
CHAINS = st.lists(st.tuples(st.sampled_from([*HARMLESS, *HARMFUL]), st.sampled_from(FORMS)), min_size=1, max_size=3)


@settings(max_examples=12, deadline=None)
@given(CHAINS)
def test_any_mix_of_components_answers_or_names_the_failure(chain: list[tuple[str, str]]) -> None:
    """Order and form do not matter; if all are harmless, the turn comes through."""
    outcome = asyncio.run(_outcome(chain))
    if all(behaviour in HARMLESS for behaviour, _ in chain):
        assert outcome == "end_turn"
    else:
        assert outcome == "end_turn" or "component" in outcome or "chain" in outcome


async def _outcome(chain: list[tuple[str, str]]) -> str:
    components = [proxy(behaviour, form, f"c{at}") for at, (behaviour, form) in enumerate(chain)]
    waits = any(behaviour in HARMFUL for behaviour, _ in chain)
    async with conducted(*components, ready=False, patience=0.5 if waits else PATIENCE) as client:
        try:
            return str(await asyncio.wait_for(_talk(client), PATIENCE))
        except Refused as failure:
            return str(failure)


async def _talk(client: Client) -> str:
    ended = asyncio.Event()
    work = asyncio.ensure_future(client.talk())
    work.add_done_callback(lambda _: ended.set())
    client.failed.add_done_callback(lambda _: ended.set())
    await ended.wait()
    if client.failed.done():
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError, Refused):
            await work
        return client.failed.result().message
    return await work


@pytest.mark.parametrize(
    ("point", "agent"),
    [
        ("answer_to_prompt", "echo"),
        ("session/cancel", "slow"),
        ("session/request_permission", "gives_up"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
async def test_component_that_dies_late_is_named_and_ends_the_chain(point: str, agent: str, form: str) -> None:
    """At the answer to the prompt, at a cancel, and while a permission request is open."""
    async with conducted(proxy(), proxy(f"dies_at_{point}", form, "odd"), agent=agent) as client:
        client.answering = asyncio.Event()  # the user never answers
        turn = asyncio.ensure_future(client.prompt())
        if point == "session/cancel":
            await asyncio.wait_for(client.spoken.wait(), PATIENCE)
            client.connection.notify("session/cancel", {"sessionId": SESSION})
        failure = await asyncio.wait_for(client.failed, PATIENCE)
        assert (
            failure.message == "The component 'odd' stopped unexpectedly (exit code 9). Last output:\nout of patience"
        )
        turn.cancel()
