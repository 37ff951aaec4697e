"""The change sets that clients subscribe to, and pages' requests about them; the agent writes by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentnb.errors import FileUnavailable, UnknownSession, UsageError
from tests.unit.host.conftest import change, changes_of, does, uri_of
from tests.unit.host.kernels import Kernel


def test_session_offers_change_sets_per_turn_and_conversation(kernel: Kernel, tmp_path: Path) -> None:
    """A change set is built when a client subscribes."""
    (tmp_path / "a.txt").write_text("1\n")
    session = kernel.start("writes_files")
    turn = does(session, ["write", "a.txt", "2\n"], ["write", "b c.txt", "b\n"], ["claim", "a.txt"])
    uri = uri_of(session)
    templates = [each.uri_template for each in session.state.changesets or ()]
    assert templates == [f"{uri}/changes/{{turnId}}", f"{uri}/changes"]
    state = kernel.follow(f"{uri}/changes/{turn.id}").state
    (first, second) = state.files
    content = first.edit["before"].pop("content")["uri"], first.edit["after"].pop("content")["uri"]
    place = f"{tmp_path.resolve().as_uri()}/a.txt"
    assert first.edit == {"before": {"uri": place}, "after": {"uri": place}, "diff": {"added": 1, "removed": 1}}
    assert content[0] != content[1]
    assert content[0].startswith("agentnb-blob:/")
    assert first.meta == {
        "agentnb": {
            "kind": "file",
            "name": "a.txt",
            "status": "changed",
            "state": "open",
            "by": ["toolCall"],
            "undoable": True,
            "divisible": True,
        }
    }
    assert (second.id, "before" in second.edit) == ("file:b c.txt", False)
    assert second.edit["after"]["uri"].endswith("/b%20c.txt")
    assert [(each.id, each.scopes, each.status) for each in state.operations or ()] == [
        (name, ("changeset", "resource"), "idle") for name in ("undo", "redo", "keep", "apply")
    ]
    assert [each.id for each in kernel.follow(f"{uri}/changes").state.files] == ["file:a.txt", "file:b c.txt"]
    with pytest.raises(UnknownSession):
        kernel.follow(f"{uri}/changes/nothing")


def test_change_set_sends_each_step_of_an_undo_to_clients(kernel: Kernel, tmp_path: Path) -> None:
    """The actions have reducers in every client and lead to the state that a new client gets."""
    session = kernel.start("writes_files")
    turn = does(session, ["write", "a.txt", "a\n"], ["write", "b.txt", "b\n"])
    of_turn, of_all = kernel.follow(changes_of(session, turn)), kernel.follow(changes_of(session))
    added = {"added": 1, "removed": 0}
    answer = change(kernel, of_turn.uri, target={"kind": "resource", "resource": "file:a.txt"})
    assert answer == {"message": "1 file was undone."}
    decision = kernel.audit[-1]
    assert (decision.kind, decision.tool, decision.what, decision.by) == ("changes", "undo", "a.txt", "user")
    rows = [("file:a.txt", "undone", added), ("file:b.txt", "open", added)]
    assert (of_turn.rows, of_all.rows) == (rows, rows)
    assert of_turn.heard == [
        "changeset/operationStatusChanged",
        "changeset/fileSet",
        "changeset/operationStatusChanged",
    ]
    does(session, ["write", "c.txt", "c\n"])
    assert of_all.rows == [*rows, ("file:c.txt", "open", added)]
    assert of_turn.rows == rows
    for each in (of_turn, of_all):
        assert each.state == kernel.follow(each.uri).state
    change(kernel, of_all.uri)
    assert list(tmp_path.iterdir()) == []


def test_undo_of_a_changed_file_returns_three_versions(kernel: Kernel, tmp_path: Path) -> None:
    """Only a request with choices undoes."""
    (tmp_path / "a.txt").write_text("one\n")
    session = kernel.start("writes_files")
    uri = changes_of(session, does(session, ["write", "a.txt", "two\n"]))
    (tmp_path / "a.txt").write_text("mine\n")
    (conflict,) = change(kernel, uri)["conflicts"]
    merged = conflict.pop("merged")
    assert conflict == {"id": "file:a.txt", "path": "a.txt", "base": "two\n", "current": "mine\n", "target": "one\n"}
    assert ("mine\n" in merged, (tmp_path / "a.txt").read_text()) == (True, "mine\n")
    assert change(kernel, uri, choices={"a.txt": "theirs"}) == {"message": "1 file was undone."}
    assert (tmp_path / "a.txt").read_text() == "one\n"


def test_undo_onwards_also_undoes_later_turns(kernel: Kernel, tmp_path: Path) -> None:
    """`onwards` works only for a turn's whole change set."""
    session = kernel.start("writes_files")
    _, turn, _ = (does(session, ["write", f"{name}.txt", name]) for name in "abc")
    with pytest.raises(UsageError, match="onwards"):
        change(kernel, changes_of(session), onwards=True)
    change(kernel, changes_of(session, turn), onwards=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_page_reads_a_change_before_after_and_now(kernel: Kernel, tmp_path: Path) -> None:
    """A side that does not exist is empty; nothing of a file that may hold secrets is sent."""
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / ".env").write_text("KEY=1\n")
    session = kernel.start("writes_files")
    steps = [["write", "a.txt", "two\n"], ["write", "new.bin", "\0\1"], ["write", ".env", "KEY=2\n"]]
    uri = changes_of(session, does(session, *steps))
    (tmp_path / "a.txt").write_text("three\n")
    for change_id, side, data, is_binary in (
        ("file:a.txt", "before", b"one\n", False),
        ("file:a.txt", "after", b"two\n", False),
        ("file:a.txt", "now", b"three\n", False),
        ("file:new.bin", "before", b"", False),
        ("file:new.bin", "after", b"\0\1", True),
    ):
        result, buffers = kernel.ask("readChange", channel=uri, id=change_id, side=side)
        assert (buffers, result) == ((data,), {"size": len(data), "cut": False, "binary": is_binary})
    for side in ("before", "after", "now"):
        with pytest.raises(FileUnavailable, match="may hold secrets"):
            kernel.ask("readChange", channel=uri, id="file:.env", side=side)


def notebook(*cells: str, outputs: tuple[str, ...] = ()) -> str:
    """Returns a notebook with these code cells; the first one has these outputs."""
    code_cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"c{at}",
            "metadata": {},
            "execution_count": None,
            "source": [source],
            "outputs": [],
        }
        for at, source in enumerate(cells)
    ]
    code_cells[0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [each]} for each in outputs]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": code_cells}, indent=1)


def test_change_of_a_notebook_file_is_read_as_cells(kernel: Kernel, tmp_path: Path) -> None:
    """Counts lines of sources and outputs; a file that is no valid notebook says so and is not shown."""
    before = notebook("x = 1", "y = 2")
    (tmp_path / "fit.ipynb").write_text(before)
    session = kernel.start("writes_files")
    after = notebook("x = 1\nx", "y = 2", outputs=("1\n",))
    turn = does(session, ["write", "fit.ipynb", after], ["write", "no.ipynb", '{"cells": 7}'])
    followed = kernel.follow(changes_of(session, turn))

    def read(name: str, side: str) -> str:
        answer = kernel.ask("readChange", channel=followed.uri, id=f"file:{name}", side=side)
        return bytes(answer[1][0]).decode()

    assert read("fit.ipynb", "before") == "# %%\nx = 1\n\n# %%\ny = 2\n"
    assert read("fit.ipynb", "after") == "# %%\nx = 1\nx\n#> 1\n\n# %%\ny = 2\n"
    assert followed.state.files[0].edit["diff"] == {"added": 2, "removed": 0}
    with pytest.raises(FileUnavailable, match="not a readable notebook"):
        read("no.ipynb", "after")
    turn.undo("fit.ipynb")
    assert (tmp_path / "fit.ipynb").read_text() == before


def test_conflict_over_a_notebook_file_shows_its_cells(kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / "fit.ipynb").write_text(notebook("x = 1"))
    session = kernel.start("writes_files")
    turn = does(session, ["write", "fit.ipynb", notebook("x = 2")])
    (tmp_path / "fit.ipynb").write_text(notebook("x = 3"))
    (conflict,) = change(kernel, changes_of(session, turn))["conflicts"]
    texts = {name: conflict[name] for name in ("base", "current", "target")}
    assert texts == {"base": "# %%\nx = 2\n", "current": "# %%\nx = 3\n", "target": "# %%\nx = 1\n"}
