"""The kernel's cost of one chunk while 1, 10 or 50 sessions stream at once to one page.

Counted is the processor time of mapper, reducer, log and delivery, without the page's own work.
"""

from __future__ import annotations

from agentnb.state import MarkdownResponsePart
from tests.benchmarks.row import Row
from tests.benchmarks.workload import TEXT, Workload

SESSIONS = (1, 10, 50)
CHUNKS = 30_000  # in all sessions together
PER_TURN = 600
TICK_MS = 10  # one chunk of each session per tick: 100 a second
RUNS = 3
LIMIT = 2.0


def cost(sessions: int) -> float:
    """Returns the processor time of one chunk in microseconds."""
    return min(_run(sessions) for _ in range(RUNS))


def _run(sessions: int) -> float:
    workload = Workload(sessions)
    rounds = CHUNKS // sessions
    for number in range(rounds):
        if number % PER_TURN == 0:
            workload.begin_turns()
            workload.pass_time(1_000)
            workload.spent = workload.spent if number else 0.0
        workload.kernel(_everybody_speaks, workload)
        workload.kernel(workload.loop.advance, TICK_MS)
        workload.pass_time(0)
    workload.pass_time(2_000)
    _must_be_the_same(workload, rounds)
    return workload.spent / (rounds * sessions) * 1e6


def _everybody_speaks(workload: Workload) -> None:
    for conversation in workload.conversations:
        workload.say(conversation)


def _must_be_the_same(workload: Workload, rounds: int) -> None:
    assert workload.page is not None
    for conversation in workload.conversations:
        state = conversation.chat.state
        parts = [part for turn in state.turns for part in turn.response_parts]
        parts += state.active_turn.response_parts if state.active_turn is not None else ()
        text = "".join(part.content for part in parts if isinstance(part, MarkdownResponsePart))
        assert text == TEXT * rounds
        assert workload.page.channels[conversation.chat.uri].shown == state


def measure() -> list[Row]:
    costs = {sessions: cost(sessions) for sessions in SESSIONS}
    rows = [Row(what="chunks through the kernel, 1 session", value=1e6 / costs[1], unit="/s")]
    return rows + [
        Row(
            what=f"kernel time per chunk, {sessions} sessions at once",
            value=costs[sessions],
            unit="µs",
            beside=costs[1],
            beside_name="1 session",
            at_most=LIMIT,
        )
        for sessions in SESSIONS[1:]
    ]
