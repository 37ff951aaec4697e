"""The chain: client, components and agent in a row.

Components never talk to each other: each has one connection, to the conductor.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.acp.fields import mapping
from agentnb.credentials import logger
from agentnb.plugins.chain.conductor.raw_message import UPDATE, RawMessage, encoded, refusal, request
from agentnb.rpc_message import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from logging import Logger

log: Logger = logger("agentnb.plugins.chain.conductor")

Way = Literal[1, -1]
DOWN: Way = 1
UP: Way = -1
INITIALIZE = "initialize"
CANCEL = "$/cancel_request"
PATIENCE = 120.0
"""Seconds that a component may hold a request without activity, while it is not waiting for another place."""
START_PATIENCE = 60.0
"""As :data:`PATIENCE`, until a component has answered ``initialize``."""
UNTIMED = frozenset({"session/request_permission", "elicitation/create", "mcp/message", "_mcp/message", "_mcp/request"})
"""Requests without a time limit: a person decides, or a tool runs."""
LAST_SECONDS = 10.0
"""Seconds that the last messages of an agent that has ended may take through the components above it, all together."""
QUIET_SECONDS = 2.5
"""Seconds that a place may be silent while the chain waits for its last messages."""
MOST_STRAYS_TOLD = 5
_LONGEST_ID = 20  # digits; the chain's own ids count from 1


class ChainPlace:
    """One place in the chain: the client, a component, or the agent."""

    chain: Chain
    index: int

    def __init__(self, name: str) -> None:
        self.name = name

    def wants(self, method: str, way: Way) -> bool:  # noqa: ARG002 - others look
        """True if a request or notification stops here; otherwise it goes on to the next place."""
        return True

    def take(self, message: RawMessage, way: Way) -> None:
        """Take a request or a notification that goes *way*."""
        raise NotImplementedError

    def take_lines(self, block: bytes) -> None:
        """Take notifications that go up, as unparsed lines."""
        raise NotImplementedError

    def initialize_methods(self) -> tuple[str, ...]:
        """Returns the methods that can initialize this place; the first that it knows is used."""
        return (INITIALIZE,)

    def answer(self, message: RawMessage) -> None:
        """Take the answer to this place's request, whose id is in *message*."""
        raise NotImplementedError

    def give_up(self) -> None:
        """It took too long: the chain answers in its place."""

    async def finish(self, deadline: float) -> None:
        """Nothing more comes to it: return once all that it still sends has been carried on."""

    def close(self) -> None:
        """The chain has ended."""

    def pause(self) -> None:
        """Read nothing more from it until :meth:`resume`: whoever gets what it says cannot take more."""

    def resume(self) -> None:
        """Read from it again."""

    @property
    def is_component(self) -> bool:
        """True if the place is neither the client nor the agent."""
        return 0 < self.index < len(self.chain.places) - 1


class ForwardedRequest(msgspec.Struct, gc=False):
    """A request that was handed to a place and is not answered."""

    origin: int
    origin_id: Any
    target: int
    method: str
    done: Callable[[RawMessage], None]


class _PlaceState:
    def __init__(
        self, place: ChainPlace, patience: tuple[float, float], on_lost: Callable[[_PlaceState, float], None]
    ) -> None:
        self.place = place
        self.held: dict[int, ForwardedRequest] = {}
        self.awaited = 0
        self.seen = 0.0
        self.is_ready = False
        self.is_full = False
        self.sends_straight: bool | None = None
        self.initialized: dict[str, Any] = {}
        self.is_watched = place.is_component
        self._patience = patience
        self._on_lost = on_lost
        self._timer: asyncio.TimerHandle | None = None

    def notice(self) -> None:
        """Note that the place has sent or received something."""
        self.seen = self.place.chain.loop.time()

    def watch(self) -> None:
        """Start the timer for the requests that the place holds."""
        if self._timer is None and self.held:
            self._wait(self._limit)

    def unwatch(self) -> None:
        """Stop the timer, until :meth:`watch` is called again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def _limit(self) -> float:
        return self._patience[self.is_ready]

    def _wait(self, seconds: float) -> None:
        if self.is_watched:
            self._timer = self.place.chain.loop.call_later(max(seconds, 0.001), self._look)

    def _look(self) -> None:
        self._timer = None
        if all(forwarded.method in UNTIMED for forwarded in self.held.values()):
            return
        left = self.seen + self._limit - self.place.chain.loop.time()
        if self.awaited or left > 0:
            self._wait(self._limit if self.awaited else left)
        else:
            self._on_lost(self, self._limit)


class ChainFailure(msgspec.Struct, frozen=True):
    name: str
    message: str
    unanswered: tuple[Any, ...]


class Chain:
    def __init__(
        self,
        places: Sequence[ChainPlace],
        on_failed: Callable[[ChainFailure], None],
        *,
        patience: float = PATIENCE,
        start_patience: float = START_PATIENCE,
    ) -> None:
        self.places: tuple[ChainPlace, ...] = tuple(places)
        self.strays: dict[str, int] = {}
        self._on_failed = on_failed
        self._failed = False
        self._ending: asyncio.Task[None] | None = None
        self._is_finishing = False
        self._left_open: set[str] = set()
        self._all_answered = asyncio.Event()
        self._requests: dict[int, ForwardedRequest] = {}
        self._numbers: dict[tuple[int, str], int] = {}
        self._last_number = 0
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        for index, place in enumerate(self.places):
            place.chain, place.index = self, index
        self._states = [_PlaceState(place, (start_patience, patience), self._lost) for place in self.places]

    # --- messages ---

    def send(self, origin: int, way: Way, message: RawMessage) -> None:
        """Carry a request or a notification one place further from the place *origin*."""
        if self._failed:
            return
        self._states[origin].notice()
        if message.method == CANCEL:
            self._cancel(origin, message)
        elif message.is_request:
            self.ask(origin, way, message, partial(self._hand_back, origin, message.id))
        else:
            target = self._target(origin, way, message.method)
            if target is not None and not self._too_early(origin, way, target, message):
                self.places[target].take(message, way)

    def send_updates(self, origin: int, block: bytes) -> bool:
        """Carry a block of ``session/update`` lines from the place *origin* straight to the client, unchanged."""
        state = self._states[origin]
        if state.sends_straight is None:
            state.sends_straight = self._target(origin, UP, UPDATE) == 0
        if not state.sends_straight:
            return False
        state.notice()
        if not self._failed:
            self.places[0].take_lines(block)
        return True

    def ask(self, origin: int, way: Way, message: RawMessage, done: Callable[[RawMessage], None]) -> None:
        """Like :meth:`send`, for a request; *done* takes the answer, which may be the conductor's own refusal."""
        target = self._target(origin, way, message.method)
        if self._failed or target is None:
            done(refusal(message.id, RpcError(METHOD_NOT_FOUND, f"Nobody here answers {message.method}.")))
        elif why := self._too_early(origin, way, target, message):
            done(refusal(message.id, RpcError(INVALID_PARAMS, why)))
        elif message.method == INITIALIZE and way == DOWN:
            self._initialize(origin, target, message, done, self.places[target].initialize_methods())
        else:
            self._put(origin, target, way, message, done)

    def answered(self, target: int, message: RawMessage) -> None:
        """Carry an answer from the place *target* back to the requester; one that nobody waits for is counted."""
        self._states[target].notice()
        number = _own_id(message.id)
        forwarded = self._requests.get(number)
        if forwarded is None or forwarded.target != target:
            self.stray(target, "answered a request that it was not sent, or has answered already")
            return
        if message.error and _plain(forwarded.method) in self._left_open:
            return  # left open by a process that ended: the client gets that failure, not a component's error
        self._drop(number, forwarded)
        forwarded.done(message)

    def asked_of(self, received: Any) -> int:
        """Returns the place that was asked under the id *received*; the client's if there is none."""
        forwarded = self._requests.get(_own_id(received))
        return 0 if forwarded is None else forwarded.target

    def stray(self, index: int, what: str) -> None:
        """Count a useless message from the place *index*."""
        name = self.places[index].name
        self.strays[name] = count = self.strays.get(name, 0) + 1
        if count <= MOST_STRAYS_TOLD:
            log.warning("%s", sentence(f"{name} {what}."))

    def _put(self, origin: int, target: int, way: Way, message: RawMessage, done: Callable[[RawMessage], None]) -> None:
        self._last_number += 1
        number = self._last_number
        self._requests[number] = forwarded = ForwardedRequest(origin, message.id, target, message.method, done)
        self._numbers[origin, repr(message.id)] = number
        self._states[origin].awaited += 1
        self._states[target].held[number] = forwarded
        self._states[target].notice()
        self._states[target].watch()
        self.places[target].take(RawMessage(method=message.method, id=number, params=message.params), way)

    def _drop(self, number: int, forwarded: ForwardedRequest) -> None:
        del self._requests[number]
        key = forwarded.origin, repr(forwarded.origin_id)
        if self._numbers.get(key) == number:
            del self._numbers[key]
        origin = self._states[forwarded.origin]
        origin.awaited -= 1
        origin.notice()
        if not self._states[0].awaited:
            self._all_answered.set()
        self._states[forwarded.target].held.pop(number, None)

    def _hand_back(self, origin: int, origin_id: Any, message: RawMessage) -> None:
        if not self._failed:
            self.places[origin].answer(RawMessage(id=origin_id, result=message.result, error=message.error))

    def _target(self, origin: int, way: Way, method: str) -> int | None:
        places = self.places
        index = origin + way
        while 0 <= index < len(places):
            if places[index].wants(method, way):
                return index
            index += way
        return None

    def _cancel(self, origin: int, message: RawMessage) -> None:
        """Cancel a request: notify the place that has it, under the id that it knows (ACP ``$/cancel_request``)."""
        number = self._numbers.get((origin, repr(message.read_params().get("requestId"))))
        forwarded = self._requests.get(number) if number is not None else None
        if forwarded is not None:
            self.places[forwarded.target].take(
                request(CANCEL, {"requestId": number}), DOWN if forwarded.target > origin else UP
            )

    # --- initialize ---

    def _too_early(self, origin: int, way: Way, target: int, message: RawMessage) -> str:
        """Returns why *message* cannot go down yet (its target is not initialized), or '' if it can."""
        if way == UP or message.method == INITIALIZE or self._states[target].is_ready:
            return ""
        why = f"sent {message.method} before {self.places[target].name} was initialized"
        if not message.is_request:
            self.stray(origin, why)
        return sentence(f"{self.places[origin].name} {why}.")

    def _initialize(
        self, origin: int, target: int, message: RawMessage, done: Callable[[RawMessage], None], methods: Sequence[str]
    ) -> None:
        """Initialize a place by the first of *methods* that it knows."""
        first, *others = methods

        def answered(answer: RawMessage) -> None:
            if others and mapping(answer.read_error()).get("code") == METHOD_NOT_FOUND:
                self._initialize(origin, target, message, done, others)
            elif answer.error:
                done(answer)
            elif (missing := self._not_ready_below(target)) is not None:
                name = self.places[target].name
                done(
                    self._error(target, message.id, f"{name} answered initialize and did not pass it on to {missing}.")
                )
            else:
                self._states[target].is_ready = True
                self._states[target].unwatch()  # from now on, the time limit of other requests applies
                self._states[target].watch()
                done(self._merged(target, answer))

        self._put(origin, target, DOWN, RawMessage(method=first, id=message.id, params=message.params), answered)

    def _merged(self, target: int, answer: RawMessage) -> RawMessage:
        """Returns a place's answer to ``initialize``; fields that it lacks come from the place below it.

        MCP over ACP is always offered: if the agent does not support it, the conductor bridges it.
        """
        own = answer.read_result()
        below = self._target(target, DOWN, INITIALIZE)
        whole = {**(self._states[below].initialized if below is not None else {}), **mapping(own)}
        able = mapping(whole.get("agentCapabilities"))
        servers = mapping(able.get("mcpCapabilities"))
        whole["agentCapabilities"] = {**able, "mcpCapabilities": {**servers, "acp": True}}
        self._states[target].initialized = whole
        return answer if whole == own else RawMessage(id=answer.id, result=encoded(whole))

    def _error(self, index: int, origin_id: Any, message: str) -> RawMessage:
        log.warning("%s", sentence(message))
        error = RpcError(INTERNAL_ERROR, sentence(message), {"component": self.places[index].name})
        return refusal(origin_id, error)

    def _not_ready_below(self, target: int) -> str | None:
        below = self._target(target, DOWN, INITIALIZE)
        return None if below is None or self._states[below].is_ready else self.places[below].name

    # --- failures ---

    def fail(self, index: int, message: str) -> None:
        """End the chain, because the place *index* cannot go on."""
        if self._failed or self._is_finishing or self._ending is not None:
            return
        self._left_open = {
            _plain(forwarded.method) for forwarded in self._requests.values() if forwarded.target == index
        }
        self._ending = asyncio.ensure_future(self._fail(index, message))

    async def _fail(self, index: int, message: str) -> None:
        await self.finish(index)
        if self._failed:
            return
        self._failed = True
        unanswered = tuple(forwarded.origin_id for forwarded in self._requests.values() if forwarded.origin == 0)
        self._on_failed(ChainFailure(self.places[index].name, message, unanswered))

    async def finish(self, index: int) -> None:
        """Carry pending messages from the places below *index* to the client."""
        self._is_finishing = True
        self._stop_watching()
        deadline = self.loop.time() + LAST_SECONDS
        for place in reversed(self.places[1:index]):
            await place.finish(deadline)

    async def until_answered(self, patience: float) -> None:
        """Wait until every request of the client is answered, or the chain has been silent for *patience* seconds."""
        while (
            self._states[0].awaited
            and (left := max(each.seen for each in self._states) + patience - self.loop.time()) > 0
        ):
            self._all_answered.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._all_answered.wait(), left)

    def close(self) -> None:
        """Close the chain on purpose: nothing is carried any more, and nothing counts as a failure."""
        self._failed = True
        self._stop_watching()
        if self._ending is not None:
            self._ending.cancel()

    def _stop_watching(self) -> None:
        for state in self._states:
            state.is_watched = False
            state.unwatch()

    def _lost(self, state: _PlaceState, seconds: float) -> None:
        """Answer the requests that *state*'s place has left unanswered with an error."""
        for number, forwarded in [*state.held.items()]:
            if forwarded.method not in UNTIMED:
                self._drop(number, forwarded)
                message = f"{state.place.name} did not answer {forwarded.method} within {seconds:g} s."
                forwarded.done(self._error(forwarded.target, forwarded.origin_id, message))
        state.place.give_up()

    # --- more than one can take ---

    def full(self, index: int, *, is_full: bool) -> None:
        """Pause the place below *index*, its main sender, while *index* cannot take more; resume it afterwards.

        Messages that go down (prompts, answers) are never held up, so two full components cannot wait for each other.
        """
        if is_full == self._states[index].is_full:
            return
        self._states[index].is_full = is_full
        below = index + 1
        while below < len(self.places) - 1 and not self.places[below].wants(UPDATE, UP):
            below += 1
        if below < len(self.places):
            place = self.places[below]
            (place.pause if is_full else place.resume)()


def sentence(text: str) -> str:
    """Returns *text* with a capital letter."""
    return text[:1].upper() + text[1:]


def _plain(method: str) -> str:
    """Returns *method* as ACP names it: components are initialized by other methods."""
    return method.removeprefix("_").removeprefix("proxy/")


def _own_id(received: Any) -> int:
    """Returns the conductor's id as a number; some programs send it back as text."""
    if isinstance(received, str) and len(received) <= _LONGEST_ID and received.isascii() and received.isdigit():
        return int(received)
    if isinstance(received, float):
        return int(received) if received.is_integer() else -1
    return received if isinstance(received, int) else -1
