"""The doctor's checks of the log, the policy, a cassette, confinement and the front end.

The inside: on the command line, each case would also start every kernel of this machine.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agentnb import __version__
from agentnb.cassette.switch import CassetteSwitch
from agentnb.checkup.examination import OWN, WIDGETS, examine_front
from agentnb.checkup.files import cassette, confinement, log, policy
from agentnb.policy.store import PolicyFiles
from tests.conftest import ROOT
from tests.unit.forked import run_script

TALK = "import agentnb; agentnb.start().prompt('/say x').wait(60)"


def test_log_check_changes_nothing_and_reports_problems(tmp_path: Path) -> None:
    """A log that is good, from a newer agentnb, not a database, without a folder, missing, or off."""
    path = tmp_path / "log/sessions.db"
    run_script(TALK, cwd=tmp_path, AGENTNB_LOG=str(path))
    before = path.read_bytes()
    checkup = log(path)
    assert (checkup.state, checkup.message.endswith("1 sessions."), path.read_bytes()) == ("ready", True, before)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    assert log(path).state == "old"
    (tmp_path / "file").write_bytes(b"not a database at all, " * 100)
    checkup = log(tmp_path / "file")
    assert (checkup.state, "moved aside" in checkup.message, (tmp_path / "file").exists()) == ("broken", True, True)
    assert "cannot be created" in log(tmp_path / "file/sessions.db").message
    assert (log(tmp_path / "a/b/sessions.db").state, (tmp_path / "a").exists()) == ("ready", False)
    assert (log(None).state, log(None).todo) == ("absent", "unset AGENTNB_LOG")


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
    played = ROOT / "notebooks/ci.cassette.jsonl"

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
        ("where possible", "Landlock", "ready", "the agents that agentnb knows in their workspace (where", None),
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


def install(folder: Path, name: str, version: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "package.json").write_text(json.dumps({"name": name, "version": version}), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with both extensions."""
    install(tmp_path / "lab", OWN, __version__)
    install(tmp_path / "lab", WIDGETS, "5.0.16")
    return tmp_path / "lab"


def states(folders: list[Path], settings: list[Path] | None = None) -> list[tuple[str, str]]:
    return [(checkup.name, checkup.state) for checkup in examine_front(folders, settings or [], pages=True)]


def test_both_extensions_are_found(folder: Path, tmp_path: Path) -> None:
    """In the first folder that has them."""
    install(tmp_path / "older", OWN, "0.0.1")
    assert states([tmp_path / "none", folder, tmp_path / "older"]) == [("extension", "ready"), ("widgets", "ready")]
    assert states([tmp_path / "older", folder]) == [("extension", "old"), ("widgets", "ready")]


def test_missing_or_unreadable_extension_is_reported(folder: Path, tmp_path: Path) -> None:
    own, widgets = examine_front([tmp_path / "none"], [], pages=True)
    assert (own.state, widgets.state) == ("missing", "missing")
    assert str(own.todo).endswith(f"-m pip install --force-reinstall --no-deps jupyter-agentnb=={__version__}")
    (folder / OWN / "package.json").write_text("{", encoding="utf-8")
    checkup = examine_front([folder], [], pages=True)[0]
    assert (checkup.state, "is of version unknown" in checkup.message) == ("old", True)


@pytest.mark.parametrize(
    ("disabled", "own", "widgets"),
    [
        ({OWN: True}, "broken", "ready"),
        ({f"{OWN}:chat": True, WIDGETS: True}, "broken", "broken"),
        ([OWN], "broken", "ready"),
        ({OWN: False, "another": True, "agentnb-other": True}, "ready", "ready"),
        (7, "ready", "ready"),
    ],
)
def test_disabled_extension_is_reported_with_enable_command(
    folder: Path, tmp_path: Path, disabled: Any, own: str, widgets: str
) -> None:
    """Whole or one of its plugins; unreadable settings are ignored."""
    path, bad = tmp_path / "page_config.json", tmp_path / "bad.json"
    path.write_text(json.dumps({"disabledExtensions": disabled}), encoding="utf-8")
    bad.write_text("[", encoding="utf-8")
    checkups = examine_front([folder], [bad, tmp_path / "none", path], pages=True)
    assert [each.state for each in checkups] == [own, widgets]
    if own == "broken":
        assert str(checkups[0].todo).startswith("jupyter labextension enable agentnb")


def test_extensions_are_absent_when_there_is_no_jupyterlab() -> None:
    """JupyterLab may be in another environment."""
    (checkup,) = examine_front([], [], pages=False)
    assert (checkup.state, "install agentnb in theirs as well" in checkup.message) == ("absent", True)
