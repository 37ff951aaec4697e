"""A recording as the lines of its file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentnb.cassette.blobs import Blobs
    from agentnb.cassette.tape import Cassette, Event, Exchange


def line(value: Any) -> str:
    """One line of the file."""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": ")) + "\n"


def rows(cassette: Cassette, blobs: Blobs) -> Iterator[dict[str, Any]]:
    """Every line but the end, as JSON; large content goes to *blobs*."""
    yield msgspec.to_builtins(cassette.header)
    for lane in cassette.lanes:
        head: dict[str, Any] = {"session": lane.session} if lane.session else {}
        about = {"description": lane.description} if lane.description is not None else {}
        yield {**head, "agent": lane.agent, "launch": lane.launch, **about}
        for number, exchange in enumerate(lane.exchanges, 1):
            yield from _exchange(number, exchange, blobs)


def _exchange(number: int, exchange: Exchange, blobs: Blobs) -> Iterator[dict[str, Any]]:
    yield {"from": "client", "id": number, "method": exchange.method, "params": blobs.put(exchange.params)}
    pace = []
    for event in exchange.before:
        pace.append(event.delay)
        yield _event(event, blobs)
    if exchange.answered:
        pace.append(exchange.delay)
        yield {"from": "agent", "id": number, **_answer(exchange, blobs)}
    for event in exchange.after:
        pace.append(event.delay)
        yield _event(event, blobs)
    if pace:
        yield {"pace": pace}


def _event(event: Event, blobs: Blobs) -> dict[str, Any]:
    row: dict[str, Any] = {"from": "agent" if event.kind in ("said", "asked") else "client"}
    if event.kind in ("asked", "answered"):
        row["id"] = event.id
    if event.kind == "answered":
        return {**row, **_answer(event, blobs)}
    return {**row, "method": event.method, "params": blobs.put(event.params)}


def _answer(of: Event | Exchange, blobs: Blobs) -> dict[str, Any]:
    if of.error is not None:
        return {"error": blobs.put(of.error)}
    return {"result": blobs.put(of.result)}
