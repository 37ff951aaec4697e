"""The user's own agent descriptions: written, changed and removed by a page without touching other contents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb.errors import UnknownAgent
from tests.unit.server.asking_page import Page


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's descriptions folder, not created yet; the current folder is a project."""
    (tmp_path / "work/.agentnb/agents").mkdir(parents=True)
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "conf"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "conf/agents"


def listed(page: Page, name: str) -> dict[str, Any]:
    return next(each for each in page.ask("listSettings", {})["result"]["agents"] if each["name"] == name)


def change(page: Page, name: str, line: str | None, env: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Returns the answer to a change, which the user confirms; no *line* removes the agent."""
    params = {"name": name, **({} if line is None else {"agent": {"line": line, "env": env or {}}}), **more}
    answer = page.ask("changeOwnAgent", params)
    if "confirm" in answer.get("result", {}):
        return page.ask("changeOwnAgent", {**params, "confirmed": answer["result"]["confirm"]})
    return answer


def state(page: Page, name: str) -> dict[str, Any]:
    return {"state": listed(page, name)["state"]}


def command(name: str) -> tuple[str, str]:
    """Returns how the agent starts, and what to type if it is not installed."""
    row = next(row for row in agentnb.agents() if row.name == name)
    return row.command, row.install


def test_own_agent_replaces_the_catalogue_agent_it_is_based_on(page: Page, folder: Path) -> None:
    """Its title and variables stay; the install line of the catalogue's program does not apply to another one."""
    before = command("codex")
    assert change(page, "codex", "codex-acp", {"CODEX_API_KEY": "k-1"})["result"] == {}
    assert (command("codex"), listed(page, "codex")["variables"]) == (before, ["CODEX_API_KEY"])
    change(page, "codex", "/opt/codex --acp", {"CODEX_API_KEY": None}, **state(page, "codex"))
    assert (command("codex"), listed(page, "codex")["title"]) == (("/opt/codex --acp", ""), "Codex")
    change(page, "codex", "codex-acp", **state(page, "codex"))
    assert "command" not in (folder / "codex.toml").read_text(encoding="utf-8")
    change(page, "codex", None, **state(page, "codex"))
    assert (command("codex"), [*folder.glob("*.toml")]) == (before, [])


def test_change_of_an_agent_keeps_other_contents_of_the_file(page: Page, folder: Path) -> None:
    """Comments, other keys and the variables table stay; the file may have another name than the agent."""
    folder.mkdir(parents=True)
    text = (
        '# mine\nname = "mine"\ntitle = "My agent"\ncommand = ["a"]  # the best\nrank = 5\n\n'
        '[env]\n# the key\nKEY = "k-1"\nOLD = "1"\n\n[capabilities]\nterminal = false\n'
    )
    (folder / "other.toml").write_text(text, encoding="utf-8")
    assert change(page, "mine", "b", {"KEY": None, "NEW": "2"}, **state(page, "mine"))["result"] == {}
    wanted = text.replace('["a"]', '["b"]').replace('OLD = "1"\n', 'NEW = "2"\n')
    assert (folder / "other.toml").read_text(encoding="utf-8").replace("\n\n", "\n") == wanted.replace("\n\n", "\n")


def test_invalid_agent_is_reported_and_not_written(page: Page, folder: Path) -> None:
    """The error leaves out the variable's value."""
    cases: list[tuple[str, str, dict[str, Any], str]] = [
        ("Mine", "a", {}, "not a valid name for an agent"),
        ("../mine", "a", {}, "not a valid name for an agent"),
        ("", "a", {}, "length >= 1"),
        ("mine\n", "a", {}, "not a valid name for an agent"),
        ("mine", "", {}, "The command is missing"),
        ("mine", "''", {}, "The command is missing"),
        ("mine", "a 'b", {}, "This is not a command"),
        ("mine", "a\nb", {}, "without control characters"),
        ("mine", "a \x1b[2J", {}, "without control characters"),
        ("mine", "./a", {}, "relative to a folder"),
        ("mine", "KEY=s3cret a", {}, "KEY=… is in front of the command"),
        ("mine", "a", {"A B": "s3cret"}, "not a variable name"),
        ("mine", "a", {"1A": "s3cret"}, "not a variable name"),
        ("mine", "a", {"A": "s3cret\0"}, "is not allowed in a variable"),
        ("mine", "a", {"A": "s3cret" * 5_000}, "is not allowed in a variable"),
        ("mine", "a", {"A": None}, "no value to keep"),
        ("mine", "a", {f"A{at}": "" for at in range(101)}, "more than the 100"),
    ]
    for name, line, env, message in cases:
        said = str(change(page, name, line, env))
        assert (message in said, "s3cret" in said) == (True, False), said
    assert [path.name for path in folder.glob("*.toml")] == []


def test_agent_changed_meanwhile_is_not_overwritten(page: Page, folder: Path) -> None:
    """Neither an edit nor a removal overwrites it; another agent's or unreadable files stay, too."""
    change(page, "mine", "a")
    seen = state(page, "mine")
    change(page, "mine", "by-another-window", **seen)
    answers = [change(page, "mine", "b", **seen), change(page, "mine", "b"), change(page, "mine", None, **seen)]
    answers += [change(page, "nobody", None), change(page, "claude", None)]
    assert [each for each in answers if "error" not in each] == []
    assert listed(page, "mine")["line"] == "by-another-window"
    (folder / "taken.toml").write_text('name = "x"\ntitle = "X"\ncommand = ["x"]\n', encoding="utf-8")
    (folder / "broken.toml").write_text('name = "y"\ntitel = "Y"\n', encoding="utf-8")
    for name, known in (("taken", {}), ("broken", state(page, "broken"))):
        assert "error" in change(page, name, "b", **known)
    assert "titel" in listed(page, "broken")["problem"]
    assert change(page, "broken", None, **state(page, "broken"))["result"] == {}
    assert sorted(path.name for path in folder.glob("*.toml")) == ["mine.toml", "taken.toml"]


def test_agent_can_be_based_only_on_the_catalogue(page: Page, folder: Path) -> None:
    """Neither a missing agent nor another of the user's is allowed; a project's may have no base."""
    folder.mkdir(parents=True)
    text = 'name = "fast"\nbased_on = "{}"\n'
    change(page, "mine", "a")
    for base in ("nobody", "mine"):
        (folder / "fast.toml").write_text(text.format(base), encoding="utf-8")
        assert "no agent" in listed(page, "fast")["problem"]
    (folder / "fast.toml").write_text(text.format("claude"), encoding="utf-8")
    assert command("fast") == command("claude")
    (Path.cwd() / ".agentnb/agents/theirs.toml").write_text(text.format("claude").replace("fast", "theirs"), "utf-8")
    with pytest.raises(UnknownAgent):
        agentnb.start("theirs")
