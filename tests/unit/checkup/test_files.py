"""Checks the session log, the policy and a cassette without changing them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.agent.catalog import find
from agentnb.cassette.switch import CassetteSwitch
from agentnb.checkup.files import cassette, confinement, log, policy
from agentnb.host import Host
from agentnb.log.database import MIGRATIONS
from agentnb.policy.store import PolicyFiles
from tests.unit.api.conftest import PATIENCE


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A session log with a session in it."""
    host = Host(log=tmp_path / "log/sessions.db")
    session = Session(host.loop.call(lambda: host.open(find("eliza"), cwd=tmp_path)))
    session.prompt("/say x").wait(PATIENCE)
    host.close()
    return tmp_path / "log/sessions.db"


def test_valid_log_is_ready_and_stays_unchanged(kept: Path) -> None:
    before = kept.read_bytes()
    checkup = log(kept)
    assert (checkup.state, checkup.version) == ("ready", str(len(MIGRATIONS)))
    assert checkup.message.endswith("1 sessions.")
    assert kept.read_bytes() == before


def test_missing_or_disabled_log_is_not_an_error(tmp_path: Path) -> None:
    """Creates no file."""
    assert (log(None).state, log(None).todo) == ("absent", "unset AGENTNB_LOG")
    assert log(tmp_path / "a/b/sessions.db").state == "ready"
    assert list(tmp_path.iterdir()) == []


def test_unusable_log_is_reported(kept: Path, tmp_path: Path) -> None:
    """Not a database, from a newer agentnb, or without a folder."""
    (tmp_path / "file").write_bytes(b"not a database at all, " * 100)
    checkup = log(tmp_path / "file")
    assert (checkup.state, "moved aside" in checkup.message) == ("broken", True)
    assert (tmp_path / "file").exists()
    with sqlite3.connect(kept) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    assert log(kept).state == "old"
    assert "cannot be created" in log(tmp_path / "file/sessions.db").message


@pytest.mark.parametrize(
    ("text", "state", "message"),
    [
        (None, "ready", "the built-in policy applies"),
        ('[[rule]]\naction = "deny"\npath = "**"\n', "ready", "1 rules."),
        ("[[rule", "broken", "is not TOML"),
        ('[[rule]]\naction = "maybe"\n', "broken", "everything asks"),
    ],
    ids=["none", "good", "no TOML", "no policy"],
)
def test_policy_check_reports_valid_and_broken_files(
    tmp_path: Path, text: str | None, state: str, message: str
) -> None:
    path = tmp_path / "policy.toml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    checkup = policy(PolicyFiles(path))
    assert (checkup.state, message in checkup.message) == (state, True), checkup.message
    assert (str(path) in str(checkup.todo)) is (state == "broken")


def test_cassette_check_reports_the_active_cassette(tmp_path: Path) -> None:
    """Replayed, recorded, missing or broken; or none."""
    path = tmp_path / "a.cassette.jsonl"
    played = Path(__file__).parents[3] / "notebooks/ci.cassette.jsonl"

    def check_cassette(file: Path | str, mode: str) -> tuple[str, str]:
        checked = cassette(CassetteSwitch({"AGENTNB_CASSETTE": str(file), "AGENTNB_CASSETTE_MODE": mode}))
        return checked.state, checked.message

    assert check_cassette("", "auto")[0] == "absent"
    assert "stands in for every agent" in check_cassette(played, "replay")[1]
    assert "is being recorded" in check_cassette(path, "auto")[1]
    assert check_cassette(path, "replay")[0] == "broken"
    assert check_cassette(path, "play")[0] == "broken"
    path.write_text('{"cassette": 7}\n', encoding="utf-8")
    assert "version 7" in check_cassette(path, "replay")[1]


@pytest.mark.parametrize(
    ("chosen", "way", "state", "message", "todo"),
    [
        ("off", "Landlock", "absent", "Agents run with all your permissions, unless", "agentnb settings confine on"),
        ("off", None, "absent", "They cannot be confined here: it is too old.", None),
        ("on", "Landlock", "ready", "Landlock keeps agents in their workspace (on).", None),
        (
            "where possible",
            "Landlock",
            "ready",
            "the agents that agentnb knows in their workspace (where possible).",
            None,
        ),
        ("where possible", None, "absent", "They cannot be confined here: it is too old.", None),
        ("where possible", "sandbox-exec", "absent", "but has not been tested", "agentnb settings confine on"),
        ("on", "sandbox-exec", "ready", "sandbox-exec keeps agents in their workspace (on).", None),
        ("no network", None, "broken", "Agents do not start: ", "agentnb settings confine off"),
    ],
)
def test_confinement_check_reports_setting_and_method(
    chosen: str, way: str | None, state: str, message: str, todo: str | None
) -> None:
    """With the command to change it."""
    checkup = confinement(chosen, way, "it is too old")
    assert (checkup.state, checkup.todo) == (state, todo)
    assert message in checkup.message
