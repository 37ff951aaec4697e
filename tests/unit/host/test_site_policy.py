"""The site's policy for agents: which may start, what they get, and that a stricter policy applies at once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import agentnb
from agentnb.errors import PolicyError
from agentnb.state import XConfigOptionChosen
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.conftest import Site
from tests.unit.host.conftest import NewKernel, uri_of
from tests.unit.host.kernels import Kernel, host_with_policy
from tests.unit.host.talk import Talk, run
from tests.unit.host.test_agent_lifecycle import notices
from tests.unit.host.test_components import scripted
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.shell_tools import Tools

__all__ = ["tools"]  # the fixture


def test_newly_denied_agent_is_refused_at_the_next_message(site: Site, kernel: Kernel) -> None:
    """The chat names the reason and the file; another agent goes on."""
    session, other = kernel.start("echo"), kernel.start("many_models")
    assert session.prompt("a").wait(PATIENCE).text
    path = site('[site.agents]\ndeny = ["echo"]\n')
    refused = session.prompt("b").wait(PATIENCE, check=False)
    assert refused.error is not None
    assert f"The agent 'echo' is not allowed here: set by your administrator ({path}, line 2)." in str(refused.error)
    assert other.prompt("c").wait(PATIENCE).text
    site("")
    assert session.prompt("d").wait(PATIENCE).text


def test_invalid_site_policy_stops_agents_at_the_next_message(site: Site, kernel: Kernel) -> None:
    session = kernel.start("echo")
    session.prompt("a").wait(PATIENCE)
    for text in ("[site]\nserve = 1\n", "freedom_at_most = 1\n", "[site.settings]\nlog_days = 'x'\n"):
        path = site(text)
        refused = session.prompt("b").wait(PATIENCE, check=False)
        assert f"No agent can start. {path}, line" in str(refused.error)


def test_mcp_server_forbidden_by_the_site_is_left_out(site: Site, kernel: Kernel) -> None:
    """Their command line counts, not the user's name for them."""
    path = site(f'[site.mcp_servers]\nallow = ["{sys.executable} {AGENTS}/mcp_server.py"]\n')
    session = kernel.start(mcp_servers={**scripted(), "other": scripted("--root", "/")["files"]})
    turn = session.prompt("/mcp files where").wait(PATIENCE)
    assert turn.tool_calls[0].status == "completed"
    assert f"The MCP server 'other' is not allowed here: set by your administrator ({path}, line 2)." in notices(
        session
    )


def test_component_denied_by_the_site_prevents_the_start(site: Site, kernel: Kernel) -> None:
    site('[site.components]\nallow = ["walkthrough"]\n')
    session = kernel.start(chain=("rules",))
    assert "The component 'rules' is not allowed here" in str(session.prompt("x").wait(PATIENCE, check=False).error)


def test_confinement_required_by_the_site_overrides_code(site: Site, kernel: Kernel) -> None:
    """If nothing can confine the agent, it does not start: there is no way around it."""
    site('[agents."*"]\nconfine = ["api.example.org"]\n')
    session = kernel.start("echo", network=None)
    turn = session.prompt("a").wait(PATIENCE, check=False)
    assert kernel.network(session) == ("api.example.org",)
    process = session.state.agent_process
    assert turn.text or "confine" in str(turn.error)
    assert not turn.text or (process is not None and process.confined)


def test_session_stops_when_the_site_requires_more_confinement(site: Site, kernel: Kernel) -> None:
    session = kernel.start("echo")
    session.prompt("a").wait(PATIENCE)
    site('[agents.echo]\nconfine = "no network"\n')
    refused = session.prompt("b").wait(PATIENCE, check=False)
    assert "must be confined more than it is in this conversation" in str(refused.error)


def test_only_hosts_allowed_by_site_and_session_remain(site: Site, kernel: Kernel) -> None:
    site('[agents."*"]\nconfine = ["*.example.org", "pypi.org:443"]\n')
    session = kernel.start(network=("api.example.org", "pypi.org", "evil.org"))
    assert kernel.network(session) == ("api.example.org", "pypi.org:443")


def test_model_denied_by_the_site_is_not_offered_or_used(site: Site, kernel: Kernel) -> None:
    """The first allowed model replaces a denied one, with a notice; so does a model that is denied later."""
    path = site('[site.models]\ndeny = ["model-0", "many_models/model-1"]\n')
    session = kernel.start("many_models")
    assert session.prompt("a").wait(PATIENCE).text.startswith("model-2")
    assert f"The model 'model-0' is not allowed here: set by your administrator ({path}, line 2). model-2 is used." in (
        notices(session)
    )
    (option,) = session.state.config_options or ()
    assert [each["value"] for each in option["options"]][:2] == ["model-2", "model-3"]
    rejections = kernel.rejections()
    kernel.act(session, XConfigOptionChosen(config_id="model", value="model-1"))
    assert "The model 'model-1' is not allowed here" in rejections.get(timeout=PATIENCE)
    (option,) = session.state.config_options or ()
    assert option["currentValue"] == "model-2"
    site('[site.models]\nallow = ["model-9"]\n')
    refused = session.prompt("b").wait(PATIENCE, check=False)
    assert "The model 'model-2' is not allowed here" in str(refused.error)
    assert "Choose another model." in str(refused.error)


def test_kernel_access_denied_by_the_site_overrides_code(site: Site, kernel: Kernel, tools: Tools) -> None:
    site("[site.settings]\nkernel_tools = false\n")
    kernel.connect(shell=tools)
    session = kernel.start(kernel_tools=True)
    session.prompt("/say x").wait(PATIENCE)
    assert not session.kernel_tools
    assert "Agents have no access to this kernel: set by your administrator" in notices(session)


def test_site_freedom_limit_disables_headless_allow(site: Site, tmp_path: Path) -> None:
    """With no user attached, the user's environment variable answers no request."""
    site('freedom_at_most = "auto"\n')
    host = host_with_policy(tmp_path / "user/policy.toml", tmp_path, environment={"AGENTNB_HEADLESS": "allow"})
    (tmp_path / "work").mkdir()
    try:
        talk = Talk(host, tmp_path / "work")
        talk.prompt(run("touch x")).wait(PATIENCE, check=False)
        assert not (tmp_path / "work/x").exists()
        assert talk.log[-1].outcome == "deny"
    finally:
        host.close()


def test_serving_and_pairing_disabled_by_the_site_do_not_start(site: Site, kernel: Kernel, tools: Tools) -> None:
    kernel.connect(shell=tools)
    path = site("[site]\nserve = false\npair = false\n")
    with pytest.raises(PolicyError, match=rf"Pairing this kernel is switched off: .*\({path}, line 3\)"):
        kernel.pair()
    with pytest.raises(PolicyError, match=r"Serving this kernel is switched off: .*line 2"):
        agentnb.serve()


def test_page_gets_the_site_message_and_no_pairing_option(site: Site, new_kernel: NewKernel) -> None:
    site('[site]\nmessage = "Ask\\nplatform."\npair = false\n')
    kernel = new_kernel()
    assert (kernel.settings["site"], "pairing" in kernel.settings) == ({"message": "Ask platform."}, False)
    site('[site]\nmessage = "Changed."\n')
    kernel.read_settings()
    assert kernel.settings["site"] == {"message": "Changed."}


def test_site_retention_also_deletes_pinned_conversations(site: Site, new_kernel: NewKernel) -> None:
    first = new_kernel()
    session = first.start()
    session.prompt("/say x").wait(PATIENCE)
    first.close()
    kernel = new_kernel()
    kernel.ask("updateSession", channel=uri_of(session), pinned=True)
    config = Path(os.environ["AGENTNB_CONFIG_DIR"])
    config.mkdir()
    (config / "settings.toml").write_text("log_days = 1e-9\n")
    assert kernel.keep_limits() == 0
    site("[site.settings]\nlog_days = 1e-9\n")
    assert kernel.keep_limits() == 1


def test_audit_stream_has_decisions_but_no_contents(site: Site, tmp_path: Path) -> None:
    """One file per user, one line per decision; a failed write is a warning, and stops nothing."""
    stream = tmp_path / "stream"
    stream.mkdir()
    site(f'[site]\naudit = "{stream}"\n')
    host = host_with_policy(tmp_path / "user/policy.toml", tmp_path)
    (tmp_path / "work").mkdir()
    try:
        talk = Talk(host, tmp_path / "work", mode="allow")
        talk.kernel.attend()
        talk.prompt(run("echo secret-contents")).wait(PATIENCE, check=False)
        (file,) = stream.iterdir()
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert lines
        assert "secret-contents" not in file.read_text()
        last = lines[-1]
        assert (last["agent"], last["outcome"], last["tool"], last["kind"]) == ("asker", "allow", "execute", "terminal")
        assert {"user", "uid", "host", "time", "by", "severity", "session", "turn"} <= last.keys()
        assert not {"what", "reason", "rule", "tab", "edited"} & last.keys()
        assert file.stat().st_mode & 0o077 == 0
        site('[site]\naudit = "/nowhere/at/all"\n')
        talk.prompt(run("true")).wait(PATIENCE, check=False)
        assert "The audit stream /nowhere/at/all could not be written" in talk.kernel.audit_problem
    finally:
        host.close()
