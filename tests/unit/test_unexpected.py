"""The message of an unexpected error has its kind and place, and no user data."""

from __future__ import annotations

import re

import pytest

from agentnb.errors import ProtocolError, unexpected
from agentnb.state import decode_action


def test_unexpected_error_message_has_its_place_but_no_user_data() -> None:
    """The innermost place counts; an error outside agentnb has none."""
    with pytest.raises(ProtocolError) as raised:
        decode_action(b"secret")
    assert re.fullmatch(r"ProtocolError in agentnb\.state\.codec, line \d+", unexpected(raised.value))
    with pytest.raises(KeyError) as outside:
        dict[str, int]()["secret"]
    assert unexpected(outside.value) == "KeyError"
