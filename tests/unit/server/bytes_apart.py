"""Separates bytes from the JSON of an answer, as the page does."""

from __future__ import annotations

import base64
from typing import Any

from agentnb.server.request_table import BUFFERS


def bytes_apart(message: dict[str, Any]) -> dict[str, Any]:
    """Returns *message* with the bytes of its result as ``buffers``."""
    result = message.get("result")
    if not isinstance(result, dict) or BUFFERS not in result:
        return message
    coded = result[BUFFERS]
    rest = {name: value for name, value in result.items() if name != BUFFERS}
    return {**message, "result": rest, "buffers": tuple(base64.b64decode(each) for each in coded)}
