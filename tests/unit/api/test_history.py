"""The log in Python: by notebook and by folder, with its errors and losses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.unit.forked import run_agentnb, run_script

BEGIN = "import agentnb; s = agentnb.start('eliza', **{cwd}); s.prompt({text!r}).wait(60); s.close(); agentnb.history()"
NONE = "No sessions. A session is saved when its first turn finishes; archived ones are listed separately.\n"
KEY = "ghp_" + "a1B2" * 9


class Folder:
    """A folder where scripts run with one log."""

    def __init__(self, tmp_path: Path) -> None:
        self.path, self.log = tmp_path, tmp_path / "log.db"

    def run(self, script: str, folder: str = ".", **env: str) -> subprocess.CompletedProcess[str]:
        (self.path / folder).mkdir(exist_ok=True)
        done = run_script(script, cwd=self.path / folder, **{"AGENTNB_LOG": str(self.log), **env})
        assert done.returncode == 0, done.stderr
        return done

    def says(self, expression: str, folder: str = ".", **env: str) -> str:
        return self.run(f"import agentnb; print({expression})", folder, **env).stdout.strip()

    def shell(self, *words: str, code: int = 0) -> str:
        """Returns the output of `agentnb WORDS` here."""
        done = run_agentnb(*words, cwd=self.path, AGENTNB_LOG=str(self.log))
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def here(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The folder *one* has a script's conversation, *two* a later one of a notebook."""
    two = Folder(tmp_path_factory.mktemp("two"))
    two.run(BEGIN.format(cwd={}, text="/say the residuals are not normal"), "one")
    two.run(BEGIN.format(cwd={}, text="/say notebook"), "two", JPY_SESSION_NAME="two/fit.ipynb")
    return two


def test_history_here_means_the_notebook_or_else_the_folder(two: Folder) -> None:
    """Consoles and scripts list only their folder's conversations."""
    here, of_one, everywhere = (
        f"[row.title for row in agentnb.history({arguments})]" for arguments in ("here=True", "folder='../one'", "")
    )
    script, notebook = "/say the residuals are not normal", "/say notebook"
    assert two.says(here, "one") == f"{[script]}"
    assert two.says(f"{here}, {of_one}", "two") == f"{[notebook]} {[script]}"
    assert two.says(f"{here}, {everywhere}", "empty") == f"[] {[notebook, script]}"
    assert two.says(here, "empty", JPY_SESSION_NAME="two/fit.ipynb") == f"{[notebook]}"


def test_history_filters_by_text_folder_agent_and_date(two: Folder) -> None:
    """In Python and a shell, with the same table; JSON has every field; filters combine."""
    hits = "[hit.text for row in agentnb.history('RESIDUALS') for hit in row.hits]"
    counts = ", ".join(
        f"len(agentnb.history({arguments}))"
        for arguments in ("folder='one'", "agent='eliza'", "agent='claude'", "since='2020-01-01'", "until='2020-01-01'")
    )
    assert two.says(f"{hits}, {counts}") == "['residuals', 'residuals'] 1 2 0 2 0"
    table = two.shell("history", "residuals", "are")
    assert (table.count("\n"), "the residuals are not normal" in table) == (2, True)
    (row,) = json.loads(two.shell("history", "--json", "residuals"))
    assert (row["agent"], row["turns"], row["hits"][0]["where"]) == ("eliza", 1, "prompt")
    assert two.shell("history", "--folder", "one", "--since", "2020-01-01").count("\n") == 2
    assert two.shell("history", "--since", "2999-01-01") == "The session log has no such session.\n"
    assert two.shell("history", "--since", "yesterday", code=1).endswith(
        "since='yesterday' is not a date. For example since=\"2026-11-02\".\n"
    )


def test_history_notes_a_damaged_log_without_printing(here: Folder) -> None:
    """Nor to standard error, which belongs to the running cell."""
    here.log.write_bytes(b"not a database at all, " * 100)
    script = """
import agentnb
from agentnb.host import current_host
session = agentnb.start("eliza")
session.prompt("/say one").wait(60)
host = current_host()
while host.recorder.trouble is None or not agentnb.history():
    pass
session.prompt("/say two").wait(60)
print(agentnb.history().note)
print(repr(agentnb.history()).splitlines()[-1] == agentnb.history().note)
"""
    done = here.run(script)
    note, printed = done.stdout.splitlines()
    assert "It was moved aside as log.db.damaged-" in note
    assert note.endswith("Since then the log has been written again.")
    assert (printed, done.stderr) == ("True", "")


def test_resumed_session_reports_a_gap_in_the_log(here: Folder) -> None:
    """Also in Python, after every resume."""
    here.run("import agentnb; s = agentnb.start('eliza'); agentnb.history(); s.prompt('/say x').wait(60); s.close()")
    lose = "c.execute('DELETE FROM entries WHERE at = (SELECT min(at) FROM entries WHERE channel LIKE ?)', ('%/chat',))"
    here.run(f"import sqlite3; c = sqlite3.connect('log.db'); assert {lose}.rowcount; c.commit()")
    take_up = "import agentnb; s = agentnb.resume(agentnb.history(folder='.')[0]); print(s.gap); s.close()"
    assert "is damaged in the log" in here.run(take_up).stdout


def test_title_is_redacted_before_it_is_cut(here: Folder) -> None:
    """The other order could leave half a key, which no pattern finds."""
    here.run(BEGIN.format(cwd={}, text=f"/say in the folder of today {KEY} and on"))
    assert here.says("agentnb.history()[0].title") == "/say in the folder of today *** and on"


def test_shell_pins_archives_renames_and_deletes_conversations(here: Folder) -> None:
    """Several at once; Python sees it; an error does not stop the others."""
    here.run("\n".join(BEGIN.format(cwd={}, text=text) for text in ("/say one", "/say two")))
    one, two = (row["id"] for row in json.loads(here.shell("history", "--json")))
    output = here.shell("conversation", one, two, "--pin", "--archive")
    assert output.splitlines() == [
        f"{each[:8]} /say {name}: pinned: yes. archived: yes." for each, name in ((one, "two"), (two, "one"))
    ]
    assert here.shell("history") == NONE
    here.shell("conversation", two, "--unarchive", "--title", "First", "--duplicate")
    rows = "[(row.title, row.pinned) for row in agentnb.history()]"
    assert here.says(rows) == "[('First', True), ('First (copy)', False)]"
    assert "no session whose id begins with" in here.shell("conversation", two, "none", one, "--delete", code=1)
    assert here.says(rows) == "[('First (copy)', False)]"
    assert here.shell("history", "--archived") == "The session log has no such session.\n"


def test_python_pins_archives_renames_and_duplicates_sessions(here: Folder) -> None:
    """Each call returns the session's new state."""
    here.run(BEGIN.format(cwd={}, text="/say one"))
    script = """
import agentnb
row = agentnb.update_session(agentnb.history()[0], title="First", pinned=True)
copy = agentnb.duplicate_session(row)
print([(each.title, each.pinned, each.turns) for each in (row, copy)])
agentnb.update_session(copy, archived=True)
for some in (agentnb.history(), agentnb.history(archived=True)):
    print([each.id == copy.id for each in some])
"""
    assert here.run(script).stdout.splitlines() == [
        "[('First', True, 1), ('First (copy)', False, 1)]",
        "[False]",
        "[True]",
    ]


def test_shell_checks_exports_deletes_and_imports_storage(here: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is deleted without --yes; JSON has the figures as rows."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(here.path / "data"))
    here.run(BEGIN.format(cwd={}, text="/say one"))
    rows = json.loads(here.shell("storage", "--json"))
    assert [(row["what"], row["items"]) for row in rows if row["name"] in ("conversations", "eliza")] == [
        ("kind", 1),
        ("agent", 1),
    ]
    output = here.shell("storage", "--check", "--export", "all.db", "--delete-all")
    assert "The undo history is not included" in output
    assert output.splitlines()[:2] == ["The log is intact.", "1 conversation would be deleted."]
    assert "1 conversation deleted." in here.shell("storage", "--delete-all", "--yes")
    for new, known in ((1, 0), (0, 1)):
        assert here.shell("storage", "--import-from", "all.db") == (
            f"Imported {new} conversations, without undo history; {known} were here already.\n"
        )
    for path, why in (("all.db", "already"), ("none/all.db", "There is no folder")):
        assert why in here.shell("storage", "--export", path, code=1)
    assert not (here.path / "none").exists()
    assert "is not a limit" in here.shell("storage", "--larger-than", "much", code=1)
    assert here.says("[row.title for row in agentnb.history('one')], agentnb.storage()[0].items") == "['/say one'] 1"
    assert here.says("agentnb.resume(agentnb.history()[0]).turns[0].text") == "one"
