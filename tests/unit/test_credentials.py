"""The inside: every shape of credential, in every place where text is written down or passed on."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentnb.agent import AgentSpec
from agentnb.agent.process import RING, TAIL_CHARACTERS, SpawnedAgent
from agentnb.credentials import Credentials, logger
from agentnb.plugins.export.document import Document, DocumentEntry
from agentnb.plugins.export.documents import FORMS, exported
from agentnb.policy.audit import AuditLog, Record
from tests.unit.cassette.test_secrets import CREDENTIALS, HARMLESS, bare

Written = Callable[[str, Path], str]


def audited(words: str, folder: Path) -> str:
    log = AuditLog(folder / "audit.jsonl")
    who: dict[str, Any] = {"agent": "a", "session": "s", "tab": "t", "turn": "1", "time": "2026-01-01T00:00:00Z"}
    record = Record(**who, kind="terminal", tool="execute", what=words, outcome="allow", by="user", reason=words)
    log.add(record, {})
    return log.path.read_text(encoding="utf-8")


def process(words: str, **env: str) -> SpawnedAgent:
    started = SpawnedAgent(AgentSpec(name="a", title="A", command=("a",)), env)
    started.keep_stderr(words.encode())
    return started


def last_words(words: str, _: Path) -> str:
    return process(f"It failed.\n{words}\n").stderr_tail


def error(words: str, _: Path) -> str:
    return process("").redact(f"It said: {words}")


def logged(words: str, _: Path) -> str:
    stream = io.StringIO()
    log, handler = logger("agentnb.test"), logging.StreamHandler(stream)
    log.addHandler(handler)
    try:
        raise ValueError(words)
    except ValueError:
        log.exception("it says %s", words)
    finally:
        log.removeHandler(handler)
    return stream.getvalue()


def export(form: str) -> Written:
    def write(words: str, _: Path) -> str:
        entries = (
            DocumentEntry(kind="prompt", source=words),
            DocumentEntry(kind="answer", source=f"I use {words} now."),
        )
        return exported(Document(title="T", entries=entries), form)

    return write


def exported_notebook(words: str, _: Path) -> str:
    output = {"output_type": "stream", "name": "stdout", "text": [f"{words}\n"]}
    cell = {"cell_type": "code", "source": words, "outputs": [output], "metadata": {}, "execution_count": 1}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return exported(Document(title="T", entries=(), notebook=notebook), "ipynb")


PLACES: dict[str, Written] = {
    "audit log": audited,
    "last words": last_words,
    "error": error,
    "module log": logged,
    "notebook": exported_notebook,
    **{f"export {form}": export(form) for form in FORMS},
}


@pytest.mark.parametrize("place", PLACES)
def test_credentials_are_never_written_to_any_place(place: str, tmp_path: Path) -> None:
    """Each credential alone and inside a line."""
    for name, credential in CREDENTIALS.items():
        written = PLACES[place](f"say {credential} once", tmp_path)
        kept = bare(credential)
        assert kept not in written, name
        assert json.dumps(kept)[1:-1] not in written, name
        assert "say" in written, name


@pytest.mark.parametrize("text", HARMLESS)
def test_prose_is_not_changed(text: str) -> None:
    assert Credentials().hidden(text) == text


def test_stderr_tail_shows_no_part_of_a_cut_credential() -> None:
    """The credential is removed before the tail is cut."""
    secret = "ghp_" + "aB3" * 12
    tail = process(f"{secret}{'.' * (TAIL_CHARACTERS - 20)}").stderr_tail
    assert "aB3" not in tail


@pytest.mark.parametrize("filler", [".", "\n"])
@pytest.mark.parametrize("kept", [1, 20, 39])
def test_stderr_shows_no_credential_cut_by_the_ring_buffer(filler: str, kept: int) -> None:
    """Without its beginning, the rest cannot be recognized."""
    secret = "ghp_" + "aB3" * 12
    started = process(f"{secret}{filler}")
    started.keep_stderr(b"\n" * (RING - kept - 1))
    assert "aB3" not in started.stderr_tail


@pytest.mark.parametrize("name", CREDENTIALS)
@pytest.mark.parametrize("before", [0, 3, 10, 25])
def test_cut_log_line_contains_no_part_of_a_credential(name: str, before: int, tmp_path: Path) -> None:
    """A record is cut to 2,000 characters after credentials are removed."""
    kept = bare(CREDENTIALS[name])
    written = audited(f"{'word ' * 400}"[: 2000 - before] + f" {CREDENTIALS[name]}", tmp_path)
    assert not any(kept[:length] in written for length in range(12, len(kept) + 1))


def test_cut_command_contains_no_part_of_a_credential() -> None:
    """Only a long command's beginning is searched; part of a credential at its end is left out."""
    for before in (59_990, 60_000, *range(61_900, 62_001, 9), 62_010):
        text = "TOKEN=" + "x" * before + " ghp_" + "aB3" * 12 + " " + "y" * 10_000
        assert "aB3" not in Credentials().beginning_of_command(text, 2000)


def test_open_quote_after_a_password_option_hides_the_rest() -> None:
    """The password's end was cut."""
    assert Credentials().hidden_in_command("--password 'open ses") == "--password ***"
    assert Credentials().hidden_in_command('PASSWORD="open ses') == "PASSWORD=***"


def test_values_of_secret_variables_are_hidden() -> None:
    """Values of six characters and more; folders and plain words stay."""
    credentials = Credentials({"MY_TOKEN": "%a+b c", "PWD": "/home/ada/work", "API_KEY": "none"})
    assert credentials.hidden("%a+b c in /home/ada/work is none") == "*** in /home/ada/work is none"
    assert process("the key is open sesame", DB_PASSWORD="open sesame").stderr_tail == "the key is ***"


def test_cassette_line_number_is_not_taken_for_a_credential() -> None:
    """The user needs the line number, whatever the cassette's name."""
    message = "tokenizer.cassette.jsonl:12: the cassette stops here, password:12: not"
    assert Credentials().hidden_in_command(message) == message.replace("password:12:", "password:***")
