"""An answer is the same however its stream is cut, and whatever else it contains.

The inside: generated streams and cuts.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb.plugins.local.completion import AnswerTooLong, ModelAnswer
from agentnb.plugins.local.server import EventStream
from tests.conftest import ROOT

STREAMS = ROOT / "tests/cases/model_streams"


def streamed(data: bytes, cuts: Sequence[int]) -> tuple[ModelAnswer, str, EventStream]:
    """Returns the answer, thoughts and stream read from *data* in pieces that end at *cuts*."""

    async def pieces() -> AsyncIterator[bytes]:
        places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
        for begin, end in itertools.pairwise(places):
            yield data[begin:end]

    async def read() -> tuple[ModelAnswer, str, EventStream]:
        completion, stream = ModelAnswer(), EventStream(pieces())
        parts = [piece async for event in stream.events() for piece in completion.add(event)]
        parts += completion.end()
        return completion, "".join(piece.text for piece in parts if piece.kind == "thought"), stream

    try:
        read().send(None)  # nothing in it waits
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]
    raise AssertionError("it waits for something")


def events(*deltas: dict[str, Any]) -> bytes:
    """Returns a stream of *deltas*."""
    sent = [json.dumps({"choices": [{"delta": delta}]}, ensure_ascii=False) for delta in deltas]
    return "".join(f"data: {each}\n\n" for each in [*sent, "[DONE]"]).encode()


TEXTS = st.text(st.sampled_from("<>/think \nab😀"), max_size=40)


@given(thought=TEXTS, text=TEXTS, cut=st.integers(1, 7), cuts=st.lists(st.integers(0, 2000), max_size=20))
def test_thoughts_in_tags_do_not_depend_on_stream_cuts(thought: str, text: str, cut: int, cuts: list[int]) -> None:
    """Cuts between letters or tokens, in a tag, or in a letter's bytes."""
    whole = f"<think>{thought}</think>{text}"
    letters = [{"content": whole[at : at + cut]} for at in range(0, len(whole), cut)]
    completion, thoughts, stream = streamed(events(*letters), cuts)
    expected_thought, _, rest = f"{thought}</think>{text}".lstrip("\n").partition("</think>")
    assert (thoughts, completion.text) == (expected_thought, rest.lstrip("\n"))
    assert (stream.done, stream.unreadable) == (True, 0)


@given(text=TEXTS.filter(lambda text: not text.lstrip().startswith("<think>")), cut=st.integers(1, 7))
def test_text_without_thoughts_is_unchanged(text: str, cut: int) -> None:
    """The text may begin like a tag."""
    deltas = ({"content": text[at : at + cut]} for at in range(0, len(text), cut))
    completion, thoughts, _ = streamed(events(*deltas), [])
    assert (completion.text, thoughts) == (text, "")


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_thoughts_in_a_field_lose_surrounding_empty_lines(field: str) -> None:
    """MLX and vLLM leave the template's lines around them; lines within thoughts and text stay."""
    thoughts = [{field: each} for each in ("\n", "\nI\n", "\nwonder.")]
    texts = [{"content": each} for each in ("", "\n", "\n\nBecause", "\n\nit is so.\n")]
    completion, thought, _ = streamed(events(*thoughts, *texts), [])
    assert (thought, completion.text) == ("I\n\nwonder.", "Because\n\nit is so.\n")


READ_IT = [("read_file", {"path": "numbers.csv"})]
RECORDED: dict[str, tuple[str, str, list[Any], str]] = {
    "text": ("", "Hello from a real server.", [], "stop"),
    "thoughts": ("I wonder.", "Because it is so.", [], "stop"),
    "call": ("", "", READ_IT, "tool_calls"),
}
"""The contents of the streams in `tests/cases/model_streams`: thoughts, text, calls, and the reason for the end."""


@pytest.mark.parametrize("server", ["llama.cpp", "mlx"])
@pytest.mark.parametrize("what", RECORDED)
@settings(max_examples=20)
@given(cuts=st.lists(st.integers(0, 3000), max_size=20))
def test_real_server_streams_do_not_depend_on_cuts(server: str, what: str, cuts: list[int]) -> None:
    """`curl` recorded them with the model of `tests/peers/model_servers`."""
    completion, thoughts, stream = streamed((STREAMS / f"{server}-{what}.txt").read_bytes(), cuts)
    calls = [(call.name, call.read_arguments()) for call in completion.tool_calls]
    assert (thoughts.rstrip("\n"), completion.text, calls, completion.finish) == RECORDED[what]
    assert completion.tokens is not None
    assert completion.tokens.prompt > completion.tokens.completion > 0
    assert (stream.done, stream.unreadable) == (True, 0)


KEYS = st.sampled_from(
    ["choices", "delta", "content", "tool_calls", "function", "name", "index", "id", "usage", "error"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(values=st.lists(JSON, max_size=5))
def test_malformed_events_raise_no_error(values: list[Any]) -> None:
    """Wrong types are left out, and messages back to the server have the right ones."""
    completion = ModelAnswer()
    for value in values:
        for event in (value, {"choices": [value]}, {"choices": [{"delta": value}]}):
            if isinstance(event, dict):
                assert all(isinstance(piece.text, str) for piece in completion.add(event))
    ids = [call.call_id for call in completion.tool_calls]
    assert len(ids) == len(set(ids))
    assert all(ids)


def call(index: int | None, call_id: str | None, name: str | None, arguments: Any) -> dict[str, Any]:
    """Returns a delta with one fragment of a tool call."""
    fields = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    return {"tool_calls": [{key: value for key, value in fields.items() if value is not None}]}


CUTS = {
    "in fragments by index": [call(0, "a", "x", ""), call(0, None, None, '{"n"'), call(0, None, None, ": 1}")],
    "two, interleaved": [
        *(call(0, "a", "x", '{"n":'), call(1, "b", "y", "{")),
        *(call(0, None, None, "1}"), call(1, None, None, "}")),
    ],
    "all numbered 0, told apart by their ids": [call(0, "a", "x", '{"n": 1}'), call(0, "b", "y", "{}")],
    "without numbers": [call(None, "a", "x", '{"n":'), call(None, None, None, "1}"), call(None, "b", "y", "{}")],
    "arguments as an object": [call(0, "a", "x", {"n": 1}), call(1, "b", "y", {})],
    "an empty id": [call(0, "a", "x", '{"n": 1}'), call(1, "", "y", "")],
}


@pytest.mark.parametrize("cut", CUTS)
def test_tool_calls_are_assembled_from_fragments(cut: str) -> None:
    """Each has its name, arguments and a unique id."""
    completion, _, _ = streamed(events(*CUTS[cut]), [])
    calls = [(each.name, each.read_arguments()) for each in completion.tool_calls]
    assert calls == ([("x", {"n": 1})] if cut == "in fragments by index" else [("x", {"n": 1}), ("y", {})])
    assert len({each.call_id for each in completion.tool_calls}) == len(calls)


def test_endless_answer_raises_at_a_limit() -> None:
    """A broken server cannot use more memory than that."""
    completion = ModelAnswer()
    piece = {"choices": [{"delta": {"content": "x" * 1_000_000}}]}
    with pytest.raises(AnswerTooLong, match="longer than 32 million characters"):
        list(itertools.chain.from_iterable(completion.add(piece) for _ in range(40)))
