"""Arguments and options that a loop refuses before anything starts."""

from __future__ import annotations

import re
from typing import Any

import pytest

import agentnb
from tests.unit.forked import run_script


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "The loop has no limit"),
        ({"target": 1.0}, "The loop has no limit"),
        ({"tries": 0}, "tries=0"),
        ({"patience": True}, "patience=True"),
        ({"budget": "5 apples"}, "apples"),
        ({"until": "seven"}, "is not a time"),
        ({"until": "25:00"}, "is not a time"),
        ({"until": 7}, "is not a time"),
        ({"until": "2026-01-01"}, "is in the past"),
        ({"until": "2026-01-30 22:30"}, "is in the past"),
        ({"tries": 1, "again": -1}, "again=-1"),
        ({"tries": 1, "held": "y_test"}, "held='y_test' is not a list"),
    ],
)
def test_invalid_arguments_are_named_in_the_error(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(agentnb.UsageError, match=says):
        agentnb.loop("Improve it", metric="auc", **arguments)


MAGIC = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_line_magic("load_ext", "agentnb")
for line in sys.argv[1:]:
    try:
        shell.run_line_magic("agent", line)
    except Exception as error:
        print(str(error).splitlines()[0])
"""
LINES = {
    "loop --tries many x": "not a number",
    "loop --untill 7 x": "no option --untill",
    "loop --metric": "needs a value",
    "loop --tries 1 Improve it": "needs a metric",
    "loop --metric auc": "needs a prompt",
    **{
        f"{option} loop --metric auc Improve it": rf"%agent loop takes no {option.split(maxsplit=1)[0]}\. "
        for option in ("-k", "-t x", "--freedom ask", "--permissions ask", "-c df")
    },
}


def test_invalid_options_of_the_magic_are_refused() -> None:
    done = run_script(MAGIC, *LINES)
    errors = done.stdout.splitlines()
    assert [re.search(says, error) is not None for says, error in zip(LINES.values(), errors, strict=True)] == [
        True
    ] * len(LINES), (errors, done.stderr)
