"""The variables that an agent inherits: everything but access to Jupyter servers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.agent.child import inherited

NAMES = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", max_size=20)
PREFIXES = st.sampled_from(["JPY_", "JUPYTERHUB_", "JUPYTER_SERVER_", "JUPYTER_GATEWAY_"])


@given(PREFIXES, NAMES)
def test_agent_does_not_inherit_server_and_hub_variables(prefix: str, rest: str) -> None:
    """Any name with these prefixes."""
    assert inherited({}, {prefix + rest: "secret", "HOME": "/home/ada"}) == {"HOME": "/home/ada"}


@pytest.mark.parametrize(
    "name", ["JUPYTER_TOKEN", "JUPYTER_PASSWORD", "CONFIGPROXY_AUTH_TOKEN", "JPY_API_TOKEN", "JUPYTERHUB_API_TOKEN"]
)
def test_agent_does_not_inherit_known_token_variables(name: str) -> None:
    """Except one that is set for this agent."""
    assert inherited({}, {name: "secret"}) == {}
    assert inherited({name: "mine"}, {name: "secret"}) == {name: "mine"}


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "JUPYTER_CONFIG_DIR", "JUPYTER_PATH", "HTTPS_PROXY", "PATH"])
def test_agent_inherits_keys_and_folders_of_the_user(name: str) -> None:
    assert inherited({}, {name: "value"}) == {name: "value"}
