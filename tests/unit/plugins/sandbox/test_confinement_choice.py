"""The choice to confine an agent: the argument, the policy files, the setting and the agent's description.

The inside: tables of a choice that protects the user's files, also for agents that are not installed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentnb.agent.catalog import find, read
from agentnb.agent.confinement import (
    TRIED,
    how_to_confine,
    is_confined_unasked,
    narrower,
    network_left,
)
from agentnb.api.configured import configured
from agentnb.errors import UsageError
from agentnb.host.environment import current_environment
from tests.confinement_here import WAY, WHY

_DESCRIPTION = 'name = "mine"\ntitle = "Mine"\ncommand = ["{python}"]\n'


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the folder of the user's files."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agents").mkdir()
    (tmp_path / ".agentnb").mkdir()
    return tmp_path


def write_files(config: Path, described: str, setting: str, policies: Sequence[str]) -> None:
    """Writes the description, and the setting and the user's and project's policy if given."""
    (config / "agents/mine.toml").write_text(described)
    if setting:
        (config / "settings.toml").write_text(f'confine = "{setting}"\n')
    for path, policy in zip(("policy.toml", ".agentnb/policy.toml"), policies, strict=True):
        if policy:
            (config / path).write_text(f"[agents.mine]\nconfine = {policy}\n")


def chosen(config: Path) -> tuple[Any, bool]:
    """Returns what is chosen, and whether nobody chose: the same for Python and for a page."""
    configuration = configured("mine", None, None, config)
    options = current_environment().default_options(configuration.spec, config)
    choice = (configuration.network, configuration.is_unasked)
    assert (options.network, options.is_unasked) == choice
    assert options.configuration(current_environment()).is_unasked is choice[1]
    return choice


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        (("", "", "", ""), None),
        (("true", "", "", ""), "all"),
        (('["PyPI.org"]', "", "", ""), ("pypi.org",)),
        (("true", "off", "", ""), None),
        (("", "no network", "", ""), "none"),
        (("", "no network", "true", ""), "all"),
        (('"no network"', "on", "false", ""), None),
        (("", "", "false", "true"), "all"),
        (("", "", '["a.org", "b.org"]', '["b.org"]'), ("b.org",)),
        (("", "", '"no network"', "true"), "none"),
        (("", "", "true", "false"), "all"),
    ],
)
def test_most_specific_confinement_choice_applies(config: Path, choices: tuple[str, ...], expected: Any) -> None:
    """The order: argument, user's policy file, setting, description; a project narrows all but the argument."""
    description, setting, *policies = choices
    write_files(config, _DESCRIPTION + (f"confine = {description}" if description else ""), setting, policies)
    assert chosen(config) == (expected, False)
    assert configured("mine", None, None, config, confine=False).network is None
    assert configured("mine", None, None, config, confine=True, network=["a.org"]).network == ("a.org",)


_KNOWN = f"{_DESCRIPTION}[confinement]\nwrites = []\n"


@pytest.mark.parametrize(
    ("described", "choices", "expected"),
    [
        (_KNOWN, ("", "", ""), ("all", True)),
        (_KNOWN, ("where possible", "", ""), ("all", True)),
        (_KNOWN, ("on", "", ""), ("all", False)),
        (_KNOWN, ("off", "", ""), (None, False)),
        (_KNOWN, ("", "false", ""), (None, False)),
        (_KNOWN, ("", "true", ""), ("all", False)),
        (_KNOWN, ("", "", '"no network"'), ("none", False)),
        (_KNOWN, ("", "", "false"), ("all", True)),
        (f"{_DESCRIPTION}confine = false\n[confinement]\n", ("", "", ""), (None, False)),
        (f"{_DESCRIPTION}confine = true\n[confinement]\n", ("off", "", ""), (None, False)),
        (f'{_KNOWN}unless_asked = "Why."', ("", "", ""), (None, False)),
        (f'{_KNOWN}unless_asked = "Why."', ("on", "", ""), ("all", False)),
        (_DESCRIPTION, ("where possible", "", ""), (None, False)),
    ],
)
@pytest.mark.skipif(WAY not in TRIED, reason=WHY or "sandbox-exec confines here")
def test_agent_with_known_needs_is_confined_by_default(
    config: Path, described: str, choices: tuple[str, ...], expected: tuple[str | None, bool]
) -> None:
    """Its description states its needs; a project can narrow its access, and not switch confinement off."""
    setting, *policies = choices
    write_files(config, described, setting, policies)
    assert chosen(config) == expected


@pytest.mark.parametrize(
    ("name", "with_a_keyring"),
    [
        *[(name, True) for name in ("eliza", "local", "claude", "opencode", "qwen", "kimi")],
        *[(name, False) for name in ("gemini", "vibe", "copilot")],
    ],
)
def test_catalog_agents_are_confined_where_possible(
    name: str, with_a_keyring: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has finished a turn confined; agents whose login may be in a keyring are not confined."""
    possible, needs = WAY in TRIED, find(name).confinement
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert is_confined_unasked(needs) is possible
    (tmp_path / "bus").touch()
    assert is_confined_unasked(needs) is (possible and with_a_keyring)
    (tmp_path / "bus").unlink()
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus")
    assert is_confined_unasked(needs) is (possible and with_a_keyring)
    if possible and not with_a_keyring:
        assert "Its login may be in the system's keyring" in how_to_confine(needs)


def test_agents_that_cannot_work_confined_have_a_reason() -> None:
    """Codex has a sandbox; the needs of others are not known."""
    assert not is_confined_unasked(find("codex").confinement)
    assert not is_confined_unasked(find("goose").confinement)
    if WAY is not None:
        message = how_to_confine(find("codex").confinement)
        assert "It has a sandbox of its own, which does not work inside of another. Confine agents in the" in message
        assert message.endswith("keeps it in its workspace anyway.")
        assert "is not known" in how_to_confine(None)


def test_agents_are_confined_when_a_policy_file_is_unreadable(config: Path) -> None:
    """The file could ask for it."""
    (config / "policy.toml").write_text("[agents.eliza")
    assert configured("eliza", None, None, config).network == (None if WAY is None else "all")
    assert configured("eliza", None, None, config, confine=False).network is None


@pytest.mark.parametrize(
    ("confine", "message"),
    [
        ('"yes"', r"confine is 'yes'\. Write true, false, \"no network\", or a list"),
        ("1", "got a whole number"),
        ("[]", "a list of hosts, not"),
        ('["https://a.org"]', r"'https://a\.org' in network is not a host\. Give a name"),
        ("{hosts = []}", "got a table"),
    ],
)
def test_agent_description_with_invalid_confine_is_refused(confine: str, message: str) -> None:
    """The error comes at reading, before the agent starts; it shows the value and the possible ones."""
    with pytest.raises(UsageError, match=message):
        read(f"{_DESCRIPTION}confine = {confine}")
    assert read(f'{_DESCRIPTION}confine = ["A.org"]').confine == ("a.org",)


def test_narrower_returns_the_stricter_confinement() -> None:
    """The order: not confined, the whole network, single hosts, no network."""
    order: list[Any] = [None, "all", ("a.org",), "none"]
    for at, wide in enumerate(order):
        for narrow in order[at:]:
            assert narrower(wide, narrow) == narrower(narrow, wide) == narrow
    assert network_left([None, None], project=("a.org",)) == ("a.org",)
