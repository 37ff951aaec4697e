"""The bytes on the wire are in proportion to the text, for any number of chunks at any rate."""

from __future__ import annotations

import pytest

from tests.benchmarks.wire import LENGTHS, LIMIT, RATES, plain_bytes, text_bytes, wire_bytes


@pytest.mark.parametrize("rate", RATES)
def test_bytes_sent_are_proportional_to_the_text(rate: int) -> None:
    """At most five bytes for each byte of text, and no more for many chunks than for few."""
    ratios = [wire_bytes(chunks, rate) / text_bytes(chunks) for chunks in LENGTHS]
    assert [ratio for ratio in ratios if ratio > LIMIT] == []
    assert ratios[-1] <= ratios[0] * 1.05


def test_slow_stream_sends_few_messages_per_second() -> None:
    """A slow text is sent at most four times a second, and with fewer bytes than chunk by chunk."""
    chunks, rate = 500, 20
    assert wire_bytes(chunks, rate) <= chunks / rate * 4 * 420
    assert wire_bytes(chunks, rate) < plain_bytes(chunks)
