"""Lines with no or broken messages, from a hostile or careless program."""

from __future__ import annotations

import json

from hypothesis import strategies as st

OPENINGS = st.sampled_from([b"[", b'{"a":', b'[{"b":[', b'{"jsonrpc":"2.0","method":"x","params":['])
"""Beginnings of arrays and objects."""


@st.composite
def deep(draw: st.DrawFn) -> bytes:
    """Returns very deep nesting, closed or not."""
    opening, times = draw(OPENINGS), draw(st.sampled_from([150, 400, 3_000]))
    closing = bytes({ord("["): ord("]"), ord("{"): ord("}")}[byte] for byte in reversed(opening) if byte in b"[{")
    return opening * times + (b"1" + closing * times if draw(st.booleans()) else b"")


def numbers() -> st.SearchStrategy[bytes]:
    """Returns numbers that no machine type holds."""
    return st.sampled_from([b"9" * 5_000, b"-" + b"1" * 400, b"1e999999", b"1" + b"0" * 100_000, b"NaN", b"-Infinity"])


def texts() -> st.SearchStrategy[bytes]:
    """Returns JSON texts with lone surrogates, control characters, and invalid UTF-8."""
    return st.sampled_from(
        [rb'"\ud83d"', rb'"\ude00\ud83d"', b'"\xff\xfe"', b'"\x00"', b'"\xed\xa0\x80"', rb'"\u12"', b'"open', b'"\\"']
    )


def values() -> st.SearchStrategy[bytes]:
    """Returns plain and hard to read JSON values."""
    plain = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists)
    return deep() | numbers() | texts() | plain.map(lambda value: json.dumps(value).encode())


@st.composite
def members(draw: st.DrawFn) -> bytes:
    """Returns a JSON-RPC message with such a value in one member (never an answer to an id below 1,000)."""
    name = draw(st.sampled_from(["jsonrpc", "method", "params", "error", "x"]))
    fields = [b'"jsonrpc":"2.0"', f'"{name}":'.encode() + draw(values())]
    if draw(st.booleans()):
        fields.append(
            b'"id":' + draw(st.sampled_from([b'"1e3"', b'"' + b"7" * 5_000 + b'"', b"9" * 400, b"{}", b"-1"]))
        )
    return b"{" + b",".join(draw(st.permutations(fields))) + b"}"


def hostile_lines() -> st.SearchStrategy[bytes]:
    """Returns one line without its newline."""
    noise = st.binary(max_size=60).map(lambda data: data.replace(b"\n", b"").replace(b"{", b"("))
    return st.one_of(values(), members(), noise)
