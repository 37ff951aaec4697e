"""Broken cassettes: the error names the file, the line, what is wrong and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentnb import __version__
from agentnb.cassette import file
from agentnb.cassette.recording import OLDEST_READER
from agentnb.errors import CassetteBroken
from tests.unit.cassette.conversation import recorded


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Returns a valid cassette."""
    path = tmp_path / "fits.cassette.jsonl"
    with recorded(path) as talk:
        session = talk.begin()
        talk.turn(session, "Hello", "Hi", " Ada")
        talk.turn(session, "Bye", "Bye")
    return path


def broken(path: Path) -> str:
    with pytest.raises(CassetteBroken) as caught:
        file.read(path)
    return str(caught.value)


def rewrite(path: Path, number: int, line: str) -> None:
    rows = path.read_text(encoding="utf-8").splitlines()
    rows[number - 1] = line
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def test_truncated_cassette_is_reported_with_its_line(path: Path) -> None:
    """At any byte, in a line or between two; the error names the line of the cut."""
    assert file.read(path).turns == 2
    data = path.read_bytes()
    half = data[: len(data) // 2]
    path.write_bytes(half)
    assert broken(path).startswith(f"{path}:{half.count(10) + 1}: the line is truncated.")
    for end in range(0, len(data) - 1, 7):
        path.write_bytes(data[:end])
        message = broken(path)
        assert message.startswith(f"{path}:")
        message = message.removeprefix(f"{path}:")  # the folder's name has words of the test's
        assert "truncated" in message or "empty" in message or "no cassette" in message


def test_missing_lines_in_the_middle_are_reported(path: Path) -> None:
    """The last line has the count."""
    rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(rows[:8] + rows[9:]), encoding="utf-8")
    assert "lines are missing" in broken(path)


@pytest.mark.parametrize("version", [0, "1", None])
def test_unknown_cassette_version_is_reported(path: Path, version: object) -> None:
    rewrite(path, 1, json.dumps({"cassette": version, "by": "someone"}))
    message = broken(path)
    assert message.startswith(f"{path}:1: ")
    assert (f"version {version!r}; this agentnb reads version 1" in message) == (version is not None)


@pytest.mark.parametrize(
    ("version", "oldest", "says"),
    [
        (2, "9.1", "agentnb 9.1 or later"),
        (1, "9.1", "agentnb 9.1 or later"),
        (99, None, "a newer agentnb"),
        (99, "<b>9</b>", "a newer agentnb"),
    ],
)
def test_too_new_cassette_names_the_agentnb_that_reads_it(
    path: Path, version: int, oldest: str | None, says: str
) -> None:
    """A cassette without a valid version needs a newer one."""
    rewrite(path, 1, json.dumps({"cassette": version, "by": "someone", "oldest_agentnb": oldest}))
    message = broken(path)
    assert f"version {version}, is too new. It can be read by {says}; this is agentnb {__version__}." in message
    assert "pip install --upgrade jupyter-agentnb" in message


def test_recording_writes_the_oldest_agentnb_that_reads_it(path: Path) -> None:
    assert file.read_header(path).oldest_agentnb == OLDEST_READER


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{no json", "not JSON"),
        ("[1, 2]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("<<<<<<< HEAD", "merge conflict"),
        ('{"from": "nobody", "method": "x"}', "not a message of the agent"),
        ('{"from": "agent", "method": 7}', "neither a method nor a result"),
        ('{"from": "agent", "id": "x", "result": 1}', "not a message of the agent"),
        ('{"agent": 7}', "which agent or session"),
        ('{"pace": "fast"}', "pace"),
    ],
)
def test_invalid_line_is_reported_with_its_number(path: Path, line: str, says: str) -> None:
    rewrite(path, 9, line)
    message = broken(path)
    assert message.startswith(f"{path}:9: ")
    assert says in message


def test_invalid_comparison_rule_is_reported(path: Path) -> None:
    """The pattern or the field is invalid."""
    rewrite(path, 1, json.dumps({"cassette": 1, "rules": [{"name": "x", "pattern": "("}]}))
    assert broken(path).startswith(f"{path}:1: the pattern of the rule 'x' is not a regular expression")
    rewrite(path, 1, json.dumps({"cassette": 1, "rule": []}))
    assert broken(path).startswith(f"{path}:1: the header cannot be read")


def test_missing_cassette_error_says_how_to_record_one(tmp_path: Path) -> None:
    assert "there is no cassette" in broken(tmp_path / "none.jsonl")
    assert "AGENTNB_CASSETTE_MODE=record" in broken(tmp_path / "none.jsonl")


def test_file_that_is_not_a_cassette_is_reported(tmp_path: Path) -> None:
    """Another kind of file, an empty file, binary data."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"cells": []}\n', encoding="utf-8")
    assert "this is not a cassette" in broken(path)
    path.write_bytes(b"")
    assert "empty" in broken(path)
    path.write_bytes(b"\xff\xfe\x00\n{}\n")
    assert f"{path}:1: " in broken(path)
