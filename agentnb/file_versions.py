"""Which agentnb reads a file: what our files say of it, and the error about a file that is too new."""

from __future__ import annotations

import re
import sys

from agentnb.distribution import NAME

OLDEST = "oldest_agentnb"
"""The key by which a file names the oldest agentnb that reads it."""

UPDATE = f"Update agentnb: `pip install --upgrade {NAME}`."
"""What to do about a file that is too new."""

_VERSION = re.compile(r"\d{1,4}(?:\.\d{1,4}){1,2}", re.ASCII)


def is_too_new(oldest: object) -> bool:
    """True if a file that names *oldest* needs a newer agentnb than this one."""
    return _numbers(oldest) > _numbers(_this())


def readers(oldest: object) -> str:
    """A sentence for an error: which agentnb reads a file that is too new, and which one this is."""
    named = f"agentnb {oldest} or later" if _numbers(oldest) else "a newer agentnb"
    return f"It can be read by {named}; this is agentnb {_this()}."


def _numbers(version: object) -> tuple[int, ...]:
    """The numbers of a version; empty for anything else: files are written by others, too."""
    known = isinstance(version, str) and _VERSION.fullmatch(version)
    return tuple(map(int, str(version).split("."))) if known else ()


def _this() -> str:
    return str(sys.modules["agentnb"].__version__)  # an import would make a circle of the modules below
