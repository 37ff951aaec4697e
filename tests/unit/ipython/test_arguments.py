"""The arguments of ``%agent``: options, then prose.

The inside: many lines, and any text.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.errors import UsageError
from agentnb.ipython.arguments import Arguments, parse


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Why doesn't {x} cost $5?", {"prompt": "Why doesn't {x} cost $5?"}),
        ("-a claude Why?", {"agent": "claude"}),
        ("--agent claude Why?", {"agent": "claude"}),
        ("--agent=claude Why?", {"agent": "claude"}),
        ("--model 'Haiku 4.5' Why?", {"model": "Haiku 4.5"}),
        ("-t 'my tab' Why?", {"tab": "my tab"}),
        ('--tab="my tab" Why?', {"tab": "my tab"}),
        ("-n -b Why?", {"new": True, "background": True}),
        ("-c df,model -c data/a.csv Why?", {"context": ("df", "model", "data/a.csv")}),
        ("-c @df Why?", {"context": ("df",)}),
        ("-o turn Why?", {"output": "turn"}),
        ("--timeout 2.5 Why?", {"timeout": 2.5}),
        ("--permissions deny Why?", {"permissions": "deny"}),
        ('--budget "2 turns, $5" Why?', {"budget": "2 turns, $5"}),
        ("-k Why?", {"kernel": True}),
        ("--kernel -a claude Why?", {"kernel": True, "agent": "claude"}),
        ("-a claude -- Why?", {"agent": "claude"}),
        ("-- -a is an option", {"prompt": "-a is an option"}),
        ("- one\n- two", {"prompt": "- one\n- two"}),
        ("Explain -a and --new", {"prompt": "Explain -a and --new"}),
        ("-b -- --", {"background": True, "prompt": "--"}),
        ("'quoted' \"words\"", {"prompt": "'quoted' \"words\""}),
    ],
)
def test_options_come_before_the_prompt(line: str, expected: dict[str, Any]) -> None:
    """Dashes and quotes in the prompt are just text."""
    assert Arguments(**{"prompt": "Why?", **expected}) == parse(line)


def test_prompt_joins_the_first_line_and_the_cell() -> None:
    assert parse("-n Look:", "line 1\n  -a line 2\n").prompt == "Look:\nline 1\n  -a line 2"


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("--ouput x Why?", ["--ouput", "--output", "%agent?"]),
        ("-z Why?", ["-z", "%agent?"]),
        ("-5 is what?", ["-5", " -- "]),
        ("-nope", ["-nope"]),
        ("-a", ["-a needs a value"]),
        ("-a '' Why?", ["-a needs a name"]),
        ("-o 2x Why?", ["-o", "'2x'"]),
        ("--timeout soon Why?", ["--timeout", "'soon'"]),
        ("--timeout -1 Why?", ["--timeout", "'-1'"]),
        ("--timeout nan Why?", ["--timeout", "'nan'"]),
        ("--permissions maybe Why?", ["ask, allow, deny", "'maybe'"]),
        ("--new=yes Why?", ["--new takes no value"]),
        ("", ["needs a prompt", "%agent?"]),
        ("-a claude", ["needs a prompt"]),
        ("--", ["needs a prompt"]),
    ],
)
def test_invalid_arguments_raise_an_error_with_a_hint(line: str, parts: list[str]) -> None:
    with pytest.raises(UsageError) as raised:
        parse(line)
    assert [] == [part for part in parts if part not in str(raised.value)]


@given(st.text())
def test_any_text_after_two_dashes_is_the_prompt(text: str) -> None:
    if text.strip():
        assert text.strip() == parse(f"-- {text}").prompt


@given(st.text())
def test_any_line_is_parsed_or_fails_with_a_hint(text: str) -> None:
    try:
        understood = bool(parse(text).prompt)
    except UsageError as error:
        understood = bool(error.hint)
    assert understood
