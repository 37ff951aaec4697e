"""The catalogue of agents."""

from __future__ import annotations

import re

import pytest

from agentnb.agent.catalog import catalogue, custom, find, known, read
from agentnb.errors import UnknownAgent, UsageError


def test_unknown_agent_error_suggests_close_and_known_names() -> None:
    with pytest.raises(UnknownAgent) as failure:
        find("Cluade")
    message = str(failure.value)
    assert message.startswith("There is no agent called 'Cluade'. Did you mean 'claude'? Known agents: auggie, claude,")


@pytest.mark.parametrize("command", ["opencode acp", [], ["", "x"]])
def test_command_that_is_no_list_of_words_is_refused(command: object) -> None:
    with pytest.raises(UsageError, match="list of words"):
        custom(command)  # type: ignore[arg-type]


WHOLE = 'name = "x"\ntitle = "X"\ncommand = ["x"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
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
def test_broken_description_error_names_the_line_and_the_key(text: str, message: str) -> None:
    """Also for errors found by the TOML, field and MCP server readers."""
    with pytest.raises(UsageError, match="This is not an agent's description: " + re.escape(message)):
        read(text, catalogue)


def test_uv_and_brew_agents_have_an_upgrade_command() -> None:
    """Uv and brew keep an old version."""
    for spec in known():
        if spec.install is not None and not spec.install.startswith(("npm ", "curl ")):
            assert spec.upgrade is not None
            assert "upgrade" in spec.upgrade
