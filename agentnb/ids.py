"""Ids: random, or counted where every run must be like the one before (``AGENTNB_IDS=counted``, as in tests)."""

from __future__ import annotations

import itertools
import os
import uuid

VARIABLE = "AGENTNB_IDS"
_numbers = itertools.count(1)


def new_id() -> str:
    """Returns a new UUID in the form of version 4."""
    if os.environ.get(VARIABLE) == "counted":
        return f"00000000-0000-4000-8000-{next(_numbers):012x}"
    return str(uuid.uuid4())
