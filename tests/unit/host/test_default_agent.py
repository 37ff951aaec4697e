"""The default agent of a new conversation."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentnb.errors import AgentStartFailed
from tests import known_agent
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import NewKernel
from tests.unit.host.kernels import Kernel


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in which agents are installed."""
    folder = tmp_path / "prefix"
    (folder / "bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
    return folder


def use(kernel: Kernel, agent: str) -> None:
    """Sends a prompt to an agent of the catalogue and waits for it."""
    session = kernel.session(kernel.ask("createSession", agent=agent)["channel"])
    session.prompt("Hello").wait(PATIENCE)


@pytest.mark.parametrize(("installed", "default"), [((), ""), (("goose", "opencode"), "opencode")])
def test_first_installed_real_agent_is_the_default(
    new_kernel: NewKernel, prefix: Path, installed: tuple[str, ...], default: str
) -> None:
    """None, if none is installed."""
    for program in installed:
        known_agent.install(prefix, program, "moody")
    assert new_kernel().default_agent() == default


def test_tour_is_the_default_only_without_a_real_agent(new_kernel: NewKernel, prefix: Path) -> None:
    kernel = new_kernel()
    use(kernel, "eliza")
    assert kernel.default_agent() == "eliza"
    known_agent.install(prefix, "goose", "moody")
    kernel = new_kernel()
    use(kernel, "eliza")
    assert kernel.default_agent() == "goose"


def test_default_is_the_agent_last_used_in_this_notebook(new_kernel: NewKernel, prefix: Path) -> None:
    """Else the last used agent of any notebook."""
    for program in ("goose", "opencode"):
        known_agent.install(prefix, program, "moody")
    one, other = new_kernel(place="a.ipynb"), new_kernel(place="b.ipynb")
    use(one, "goose")
    assert one.default_agent() == "goose"
    one.close()
    assert other.default_agent() == "goose"
    use(other, "opencode")
    other.close()
    assert [new_kernel(place=f"{name}.ipynb").default_agent() for name in "ac"] == ["goose", "opencode"]


def test_npx_agent_is_the_default_only_when_none_is_installed(new_kernel: NewKernel, prefix: Path) -> None:
    """Even if used last: a start would download it."""
    known_agent.install(prefix, "npx", "moody")
    kernel = new_kernel()
    for agent in ("claude", "eliza"):
        use(kernel, agent)
        assert kernel.default_agent() == agent
    use(kernel, "claude")
    known_agent.install(prefix, "goose", "moody")
    assert new_kernel().default_agent() == "goose"


def test_agent_setting_overrides_the_default_agent(
    new_kernel: NewKernel, prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_agent.install(prefix, "goose", "moody")
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "config").mkdir()
    (tmp_path / "config/settings.toml").write_text('agent = "local"\n')
    assert new_kernel().default_agent() == "local"


def test_agent_that_failed_to_start_is_not_the_default(new_kernel: NewKernel, prefix: Path) -> None:
    known_agent.install(prefix, "opencode", "dies_at_start")
    known_agent.install(prefix, "goose", "moody")
    kernel = new_kernel()
    session = kernel.session(kernel.ask("createSession", agent="opencode")["channel"])
    with pytest.raises(AgentStartFailed):
        session.open(PATIENCE)
    session.prompt("Hello").wait(PATIENCE, check=False)
    assert kernel.default_agent() == "goose"
