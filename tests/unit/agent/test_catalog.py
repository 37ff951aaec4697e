"""The catalogue of agents."""

from __future__ import annotations

import re
import shutil
import sys

import pytest

from agentnb.agent.catalog import catalogue, custom, find, installed, known, read
from agentnb.agent.registry import older
from agentnb.errors import UnknownAgent, UsageError


def test_the_agents_we_know() -> None:
    """In order; each but the built-in ones says how to install it; Codex logs in by itself, in the chat."""
    assert " ".join(spec.name for spec in known()) == (
        "auggie claude codex copilot cursor eliza fast-agent gemini goose kimi local opencode openhands qwen vibe"
    )
    assert [spec.name for spec in known() if spec.install is None] == ["eliza", "local"]
    assert [spec.name for spec in known() if spec.login is None] == ["codex", "eliza", "local"]


def test_the_built_in_agent_runs_with_this_python() -> None:
    """Whatever is on the PATH."""
    assert find("eliza").command == (sys.executable, "-m", "agentnb.plugins.eliza")
    assert installed(find("eliza")) == shutil.which(sys.executable)


def test_an_agent_known_to_behave_worse_with_a_capability_is_not_offered_it() -> None:
    """Gemini CLI cannot create files when it may read them through us."""
    assert (find("gemini").capabilities.read_text_file, find("claude").capabilities.read_text_file) == (False, True)


def test_an_unknown_name_is_answered_with_close_ones_and_all() -> None:
    """So that a slip costs nothing."""
    with pytest.raises(UnknownAgent) as failure:
        find("Cluade")
    said = str(failure.value)
    assert said.startswith("There is no agent called 'Cluade'. Did you mean 'claude'? Known agents: auggie, claude,")


def test_an_agent_of_ones_own() -> None:
    """A command is enough; its program's name is its name."""
    spec = custom(["/opt/bin/My-Agent", "--acp"], {"A": "b"})
    assert (spec.name, spec.command, spec.env) == ("my-agent", ("/opt/bin/My-Agent", "--acp"), {"A": "b"})


@pytest.mark.parametrize("command", ["opencode acp", [], ["", "x"]])
def test_a_command_is_a_list_of_words(command: object) -> None:
    """Anything else is refused."""
    with pytest.raises(UsageError, match="list of words"):
        custom(command)  # type: ignore[arg-type]


WHOLE = 'name = "x"\ntitle = "X"\ncommand = ["x"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('# mine\nname = "x"\ntitle = "X"\ncommand = "x --acp"', "line 4, command: Expected a list, got a text."),
        (f'{WHOLE}[capabilities]\nterminal = "no"', "line 5, terminal: Expected true or false, got a text."),
        (f"{WHOLE}colour = 3", "line 4, colour: there is no such key."),
        (f"{WHOLE}env = {{ KEY = 1 }}", "line 4, env: Expected a text, got a whole number."),
        (f'{WHOLE}[mcp_servers.db]\nkommand = "x"', "line 4, mcp_servers: The MCP server 'db' needs"),
        (f'{WHOLE}confine = "maybe"', "line 4, confine: confine is 'maybe'."),
        ('name = "x"\nbased_on = "nope"', "line 2, based_on: there is no agent 'nope' to base it on."),
        ('name = "x"\ntitle = "X"\ncommand = []', "line 3, command: it needs a name and a command."),
        (f"{WHOLE}rank = ", "line 4, rank: Invalid value."),
        (f'name = "y"\n{WHOLE}', "line 2, name: Cannot overwrite a value."),
        (WHOLE.replace("title", "about"), "it lacks `title`."),
    ],
)
def test_error_of_a_broken_description_names_the_line_and_the_key(text: str, said: str) -> None:
    """Whoever finds it: the reader of TOML, of the fields, of MCP servers."""
    with pytest.raises(UsageError, match="This is not an agent's description: " + re.escape(said)):
        read(text, catalogue)


def test_the_versions_from_which_agents_work_are_known_where_they_are_facts() -> None:
    """Each with the reason in its file; a version that was seen to work is not below it."""
    least = {spec.name: spec.min_version for spec in known() if spec.min_version is not None}
    assert least == {"auggie": "0.6.0", "gemini": "0.33.0", "kimi": "0.9", "openhands": "1.3.0"}
    assert [
        spec.name for spec in known() if spec.seen and spec.min_version and older(spec.seen, spec.min_version)
    ] == []


def test_an_upgrade_is_a_line_of_its_own_where_installing_again_would_do_nothing() -> None:
    """Uv and brew leave alone what is there."""
    for spec in known():
        if spec.install is not None and not spec.install.startswith(("npm ", "curl ")):
            assert spec.upgrade is not None
            assert "upgrade" in spec.upgrade
