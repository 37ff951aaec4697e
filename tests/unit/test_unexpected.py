"""The message of an unexpected error has its kind and place, and no user data."""

from __future__ import annotations

import re

import pytest

from agentnb.errors import unexpected
from agentnb.safe_json import read_json


def test_unexpected_error_message_has_its_place_but_no_user_data() -> None:
    """The innermost place counts; an error outside agentnb has none."""
    with pytest.raises(ValueError, match="nested") as raised:
        read_json(b"[" * 1_000 + b"secret")
    assert re.fullmatch(r"ValueError in agentnb\.safe_json, line \d+", unexpected(raised.value))
    with pytest.raises(KeyError) as outside:
        dict[str, int]()["secret"]
    assert unexpected(outside.value) == "KeyError"
