"""The user's own agent descriptions: written, changed and removed without touching other contents."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentnb.agent.catalog import find, installed
from agentnb.agent.own_agents import OwnAgent, own_agents, remove_agent, write_agent
from agentnb.errors import AgentnbError, SettingsError, UnknownAgent, UsageError
from agentnb.toml_file import parsed


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's descriptions folder, not created yet; the current folder is a project."""
    (tmp_path / "work/.agentnb/agents").mkdir(parents=True)
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "conf"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "conf/agents"


def own(name: str) -> OwnAgent:
    return next(each for each in own_agents() if each.name == name)


def test_own_agent_replaces_the_catalogue_agent_it_is_based_on() -> None:
    """Its title, login and variables stay; install and run lines of the catalogue's program do not apply."""
    before = find("codex")
    write_agent("codex", "codex-acp", {"CODEX_API_KEY": "k-1"}, state="")
    assert (find("codex").command, find("codex").runner) == (before.command, before.runner)
    assert (find("codex").env, find("codex").title) == ({"CODEX_API_KEY": "k-1"}, before.title)
    write_agent("codex", "/opt/codex --acp", {"CODEX_API_KEY": None}, state=own("codex").state)
    now = find("codex")
    assert (now.command, now.reads, now.rank) == (("/opt/codex", "--acp"), before.reads, before.rank)
    assert (now.runner, now.install, installed(now)) == (None, None, None)
    write_agent("codex", "codex-acp", {}, state=own("codex").state)
    assert "command" not in parsed(own("codex").path.read_text(encoding="utf-8"))
    remove_agent("codex", state=own("codex").state)
    assert find("codex") == before


def test_write_agent_keeps_other_contents_of_the_file(folder: Path) -> None:
    """Comments, other keys and the variables table stay; the file may have another name than the agent."""
    folder.mkdir(parents=True)
    text = (
        '# mine\nname = "mine"\ntitle = "My agent"\ncommand = ["a"]  # the best\nrank = 5\n\n'
        '[env]\n# the key\nKEY = "k-1"\nOLD = "1"\n\n[capabilities]\nterminal = false\n'
    )
    (folder / "other.toml").write_text(text, encoding="utf-8")
    write_agent("mine", "b", {"KEY": None, "NEW": "2"}, state=own("mine").state)
    wanted = text.replace('["a"]', '["b"]').replace('OLD = "1"\n', 'NEW = "2"\n')
    assert (folder / "other.toml").read_text(encoding="utf-8").replace("\n\n", "\n") == wanted.replace("\n\n", "\n")
    assert find("mine").capabilities.terminal is False


@pytest.mark.parametrize(
    ("name", "line", "env", "message"),
    [
        ("Mine", "a", {}, "not a valid name for an agent"),
        ("../mine", "a", {}, "not a valid name for an agent"),
        ("", "a", {}, "not a valid name for an agent"),
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
    ],
)
def test_invalid_agent_is_reported_and_not_written(
    folder: Path, name: str, line: str, env: dict[str, str | None], message: str
) -> None:
    """The error leaves out the variable's value."""
    with pytest.raises((UsageError, SettingsError)) as failure:
        write_agent(name, line, env, state="")
    assert (message in str(failure.value), "s3cret" in str(failure.value)) == (True, False)
    assert [path.name for path in folder.glob("*.toml")] == []


def test_agent_changed_meanwhile_is_not_overwritten(folder: Path) -> None:
    """Neither an edit nor a removal overwrites it; another agent's or unreadable files stay, too."""
    write_agent("mine", "a", {}, state="")
    seen = own("mine").state
    write_agent("mine", "by-another-window", {}, state=seen)
    for change in (
        lambda: write_agent("mine", "b", {}, state=seen),
        lambda: write_agent("mine", "b", {}, state=""),
        lambda: remove_agent("mine", state=seen),
        lambda: remove_agent("nobody", state=""),
        lambda: remove_agent("claude", state=""),
    ):
        with pytest.raises(SettingsError):
            change()
    assert find("mine").command == ("by-another-window",)
    (folder / "taken.toml").write_text('name = "x"\ntitle = "X"\ncommand = ["x"]\n', encoding="utf-8")
    (folder / "broken.toml").write_text('name = "y"\ntitel = "Y"\n', encoding="utf-8")
    for name, state in (("taken", ""), ("broken", own("broken").state)):
        with pytest.raises(AgentnbError):
            write_agent(name, "b", {}, state=state)
    assert "titel" in own("broken").problem
    remove_agent("broken", state=own("broken").state)
    assert sorted(path.name for path in folder.glob("*.toml")) == ["mine.toml", "taken.toml"]


def test_agent_can_be_based_only_on_the_catalogue(folder: Path) -> None:
    """Neither a missing agent nor another of the user's is allowed; a project's may have no base."""
    folder.mkdir(parents=True)
    text = 'name = "fast"\nbased_on = "{}"\n'
    write_agent("mine", "a", {}, state="")
    for base in ("nobody", "mine"):
        (folder / "fast.toml").write_text(text.format(base), encoding="utf-8")
        assert "no agent" in own("fast").problem
    (folder / "fast.toml").write_text(text.format("claude"), encoding="utf-8")
    assert find("fast").command == find("claude").command
    (Path.cwd() / ".agentnb/agents/theirs.toml").write_text(text.format("claude").replace("fast", "theirs"), "utf-8")
    with pytest.raises(UnknownAgent):
        find("theirs")
