"""Broken and hostile cassettes: the error names the file, the line, what is wrong and what to do.

The inside: a file that is cut at each byte, and each credential, would start as many programs.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agentnb import __version__
from agentnb.cassette import file
from agentnb.cassette.recording import OLDEST_READER
from agentnb.errors import CassetteBroken
from tests.unit.cassette.conversation import lines, recorded
from tests.unit.cassette.test_secrets import CREDENTIALS, HARMLESS, bare


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
        ('{"file": ".env", "after": {"text": "A=b"}}', "a sensitive file"),
        ('{"file": "a.bin", "after": {"base64": "?"}}', "not base64"),
    ],
)
def test_invalid_line_is_reported_with_its_number(path: Path, line: str, says: str) -> None:
    rewrite(path, 14, line)
    message = broken(path)
    assert message.startswith(f"{path}:14: ")
    assert says in message


PATHS = ["../x", "/x", "a/../../x", "", ".", "a//b", "./a", ".git/hooks/pre-commit", "a/.GIT/config", "a\0b"]


@pytest.mark.parametrize("name", PATHS)
def test_hostile_cassette_cannot_name_files_outside_the_workspace(path: Path, name: str) -> None:
    """Nor in .git; the error names the line before anything is played."""
    for row in ({"file": name, "after": {"text": "x"}}, {"file": "a", "was": name, "after": {"missing": "moved"}}):
        rewrite(path, 14, json.dumps(row))
        message = broken(path)
        assert message.startswith(f"{path}:14: ")
        assert "does not name a file of the workspace" in message


@pytest.mark.parametrize("text", HARMLESS)
def test_cassette_with_ordinary_words_is_read(path: Path, text: str) -> None:
    """They look a little like credentials."""
    path.write_text(path.read_text(encoding="utf-8").replace("Bye", text), encoding="utf-8")
    assert file.read(path).turns == 2


@pytest.mark.parametrize("name", CREDENTIALS)
def test_cassette_with_a_credential_is_rejected(name: str, tmp_path: Path) -> None:
    """Somebody put it in by hand: the error names file and line, not the credential."""
    secret = CREDENTIALS[name]
    path = tmp_path / "a.cassette.jsonl"
    with recorded(path) as talk:
        talk.turn(talk.begin(), "Hello", "SECRET")
    number = next(n for n, row in enumerate(lines(path), 1) if "SECRET" in str(row))
    path.write_text(path.read_text(encoding="utf-8").replace("SECRET", json.dumps(secret)[1:-1]), encoding="utf-8")
    message = broken(path)
    assert bare(secret) not in message
    assert int(message.removeprefix(f"{path}:").partition(":")[0]) in (number, number - 1)
    assert "credential" in message


def test_missing_or_changed_large_content_is_reported(path: Path) -> None:
    """The error names the line that needs it."""
    with recorded(path) as talk:
        talk.turn(talk.begin(), "word " * 20_000, "ok")
    blob = next((path.parent / "fits.cassette.files").iterdir())
    number = next(n for n, row in enumerate(lines(path), 1) if blob.name in str(row))
    blob.write_text("other", encoding="utf-8")
    assert re.match(rf"{path}:{number}: its large content .* has changed since it was recorded", broken(path))
    blob.unlink()
    assert re.match(rf"{path}:{number}: its large content .* is missing", broken(path))


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
