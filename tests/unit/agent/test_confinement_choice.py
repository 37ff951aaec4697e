"""Whether an agent is confined: the argument, the policy files, the setting and the agent's description."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentnb.agent.catalog import read
from agentnb.agent.confinement import way_here
from agentnb.agent.confinement_choice import checked_confining, narrower, network_left
from agentnb.api.configured import configured
from agentnb.errors import UsageError
from agentnb.host.environment import current_environment

_DESCRIPTION = 'name = "mine"\ntitle = "Mine"\ncommand = ["{python}"]\n'


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's files."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agents").mkdir()
    (tmp_path / ".agentnb").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("said", "arguments", "expected"),
    [
        (("", "", "", ""), {}, None),
        (("true", "", "", ""), {}, "all"),
        (('["PyPI.org"]', "", "", ""), {}, ("pypi.org",)),
        (("true", "off", "", ""), {}, None),
        (("", "no network", "", ""), {}, "none"),
        (("", "no network", "true", ""), {}, "all"),
        (('"no network"', "on", "false", ""), {}, None),
        (("", "", "false", "true"), {}, "all"),
        (("", "", '["a.org", "b.org"]', '["b.org"]'), {}, ("b.org",)),
        (("", "", '"no network"', "true"), {}, "none"),
        (("", "", "true", "false"), {}, "all"),
        (('"no network"', "no network", '"no network"', '"no network"'), {"confine": False}, None),
        (("", "", "false", ""), {"confine": True, "network": ["a.org"]}, ("a.org",)),
    ],
)
def test_of_what_says_something_about_confinement_the_nearest_counts(
    config: Path, said: tuple[str, str, str, str], arguments: dict[str, Any], expected: Any
) -> None:
    """The argument, your policy file, the setting, the description; a project only narrows what is not the argument."""
    description, setting, *policies = said
    described = _DESCRIPTION + (f"confine = {description}" if description else "")
    (config / "agents/mine.toml").write_text(described)
    if setting:
        (config / "settings.toml").write_text(f'confine = "{setting}"\n')
    for path, policy in zip(("policy.toml", ".agentnb/policy.toml"), policies, strict=True):
        if policy:
            (config / path).write_text(f"[agents.mine]\nconfine = {policy}\n")
    given = configured("mine", None, None, config, **arguments)
    assert given.network == expected
    if not arguments:
        assert current_environment().default_options(given.spec, config).network == expected


def test_while_a_policy_file_cannot_be_read_agents_are_confined_where_that_is_possible(config: Path) -> None:
    """It could say so. What is said in code still counts."""
    (config / "policy.toml").write_text("[agents.eliza")
    assert configured("eliza", None, None, config).network == (None if way_here()[0] is None else "all")
    assert configured("eliza", None, None, config, confine=False).network is None


@pytest.mark.parametrize("said", ["yes", 1, [], ["https://a.org"], {"hosts": []}])
def test_confine_that_makes_no_sense_raises(said: object) -> None:
    """The error shows what was written, and what can be."""
    with pytest.raises(UsageError) as raised:
        checked_confining(said)
    assert raised.value.hint


def test_description_of_an_agent_with_a_confine_that_makes_no_sense_is_refused() -> None:
    """When it is read, not when the agent starts."""
    with pytest.raises(UsageError, match="confine is 'on'"):
        read(f'{_DESCRIPTION}confine = "on"')
    assert read(f'{_DESCRIPTION}confine = ["A.org"]').confine == ("a.org",)


def test_narrower_of_two() -> None:
    """Not confined, all of the network, single hosts, none of it."""
    order: list[Any] = [None, "all", ("a.org",), "none"]
    for at, wide in enumerate(order):
        for narrow in order[at:]:
            assert narrower(wide, narrow) == narrower(narrow, wide) == narrow
    assert network_left([None, None], project=("a.org",)) == ("a.org",)
