"""The site's policy for agents: which may start, what they get, and that a stricter policy applies at once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from threading import Event

import pytest

from agentnb import Session
from agentnb.agent.catalog import find
from agentnb.agent.confinement import way_here
from agentnb.agent.mcp import mcp_servers
from agentnb.clock import now_ms
from agentnb.errors import PolicyError
from agentnb.host import Host
from agentnb.host.channels import PAIRING, SITE
from agentnb.host.history.storage import keep_limits
from agentnb.host.intents import carry_out
from agentnb.host.permissions.session_policy import HostPolicy
from agentnb.host.session_options import SessionOptions
from agentnb.policy.audit import AuditLog
from agentnb.policy.store import PolicyFiles
from agentnb.server.service import Service
from agentnb.server.websocket import serving
from agentnb.state import Envelope, XConfigOptionChosen
from agentnb.state.session_state import model_id, model_options, option_choices
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.conftest import Site
from tests.unit.host.conftest import CLIENT, Open, hosted
from tests.unit.host.test_agent_lifecycle import notices
from tests.unit.host.test_components import scripted
from tests.unit.host.test_permissions import Talk, run
from tests.unit.kernel.shell_tools import Tools


def test_newly_denied_agent_is_refused_at_the_next_message(site: Site, open_session: Open) -> None:
    """The chat names the reason and the file; another agent goes on."""
    session, other = open_session("echo"), open_session("many_models")
    assert session.prompt("a").wait(PATIENCE).text
    path = site('[site.agents]\ndeny = ["echo"]\n')
    refused = session.prompt("b").wait(PATIENCE, check=False)
    assert refused.error is not None
    assert f"The agent 'echo' is not allowed here: set by your administrator ({path}, line 2)." in str(refused.error)
    assert other.prompt("c").wait(PATIENCE).text
    site("")
    assert session.prompt("d").wait(PATIENCE).text


def test_invalid_site_policy_stops_agents_at_the_next_message(site: Site, open_session: Open) -> None:
    session = open_session("echo")
    session.prompt("a").wait(PATIENCE)
    for text in ("[site]\nserve = 1\n", "freedom_at_most = 1\n", "[site.settings]\nlog_days = 'x'\n"):
        path = site(text)
        refused = session.prompt("b").wait(PATIENCE, check=False)
        assert f"No agent can start. {path}, line" in str(refused.error)


def test_mcp_server_forbidden_by_the_site_is_left_out(site: Site, host: Host, tmp_path: Path) -> None:
    """Their command line counts, not the user's name for them."""
    path = site(f'[site.mcp_servers]\nallow = ["{sys.executable} {AGENTS}/mcp_server.py"]\n')
    servers = mcp_servers({**scripted(), "other": scripted("--root", "/")["files"]})
    session = Session(host.loop.call(lambda: host.open(find("eliza"), cwd=tmp_path, mcp_servers=servers)))
    turn = session.prompt("/mcp files where").wait(PATIENCE)
    assert turn.tool_calls[0].status == "completed"
    assert f"The MCP server 'other' is not allowed here: set by your administrator ({path}, line 2)." in notices(
        session
    )


def test_component_denied_by_the_site_prevents_the_start(site: Site, host: Host, tmp_path: Path) -> None:
    site('[site.components]\nallow = ["walkthrough"]\n')
    session = Session(host.loop.call(lambda: host.open(find("eliza"), cwd=tmp_path, chain=("rules",))))
    assert "The component 'rules' is not allowed here" in str(session.prompt("x").wait(PATIENCE, check=False).error)


def test_confinement_required_by_the_site_overrides_code(site: Site, host: Host, open_session: Open) -> None:
    """If nothing can confine the agent, it does not start: there is no way around it."""
    site('[agents."*"]\nconfine = ["api.example.org"]\n')
    session = open_session("echo", network=None)
    turn = session.prompt("a").wait(PATIENCE, check=False)
    if way_here()[0] is None:
        assert "cannot be confined" in str(turn.error)
        return
    conversation = hosted(host, session)
    assert conversation.configuration.network == ("api.example.org",)
    process = conversation.session.state.agent_process
    assert turn.text or "confine" in str(turn.error)
    assert not turn.text or (process is not None and process.confined)


def test_session_stops_when_the_site_requires_more_confinement(site: Site, open_session: Open) -> None:
    session = open_session("echo")
    session.prompt("a").wait(PATIENCE)
    site('[agents.echo]\nconfine = "no network"\n')
    refused = session.prompt("b").wait(PATIENCE, check=False)
    assert "must be confined more than it is in this conversation" in str(refused.error)


def test_only_hosts_allowed_by_site_and_session_remain(site: Site, host: Host, tmp_path: Path) -> None:
    site('[agents."*"]\nconfine = ["*.example.org", "pypi.org:443"]\n')
    hosts = ("api.example.org", "pypi.org", "evil.org")
    options = SessionOptions(spec=find("eliza"), cwd=tmp_path, network=hosts)
    assert options.configuration(host.environment).network == ("api.example.org", "pypi.org:443")


def test_model_denied_by_the_site_is_not_offered_or_used(site: Site, host: Host, open_session: Open) -> None:
    """The first allowed model replaces a denied one, with a notice; so does a model that is denied later."""
    path = site('[site.models]\ndeny = ["model-0", "many_models/model-1"]\n')
    session = open_session("many_models")
    assert session.prompt("a").wait(PATIENCE).text.startswith("model-2")
    assert f"The model 'model-0' is not allowed here: set by your administrator ({path}, line 2). model-2 is used." in (
        notices(session)
    )
    conversation = hosted(host, session)
    state = conversation.session.state
    offered = [each["value"] for each in option_choices(model_options(state)[0]["options"])]
    assert offered[:2] == ["model-2", "model-3"]
    rejected: list[str] = []
    heard = Event()

    def hear(_: object, envelope: Envelope) -> None:
        if envelope.rejection_reason:
            rejected.append(envelope.rejection_reason)
            heard.set()

    host.listen(hear)
    action = XConfigOptionChosen(config_id="model", value="model-1", time=now_ms())
    host.loop.call(lambda: carry_out(host, conversation.session.uri, action, CLIENT))
    assert heard.wait(PATIENCE)
    assert "The model 'model-1' is not allowed here" in rejected[0]
    assert model_id(conversation.session.state) == "model-2"
    site('[site.models]\nallow = ["model-9"]\n')
    refused = session.prompt("b").wait(PATIENCE, check=False)
    assert "The model 'model-2' is not allowed here" in str(refused.error)
    assert "Choose another model." in str(refused.error)


def test_kernel_access_denied_by_the_site_overrides_code(site: Site, host: Host, tmp_path: Path) -> None:
    site("[site.settings]\nkernel_tools = false\n")
    options = SessionOptions(spec=find("eliza"), cwd=tmp_path, kernel_tools=True)
    configuration = options.configuration(host.environment)
    assert configuration.kernel == ""
    assert "Agents have no access to this kernel: set by your administrator" in configuration.notes[0]


def test_site_freedom_limit_disables_headless_allow(site: Site, tmp_path: Path) -> None:
    """With no user attached, the user's environment variable answers no request."""
    site('freedom_at_most = "auto"\n')
    policy = HostPolicy(PolicyFiles(), AuditLog(tmp_path / "audit.jsonl"), {"AGENTNB_HEADLESS": "allow"})
    host = Host(policy=policy)
    (tmp_path / "work").mkdir()
    try:
        talk = Talk(host, tmp_path / "work")
        talk.prompt(run("touch x")).wait(PATIENCE, check=False)
        assert not (tmp_path / "work/x").exists()
        assert policy.audit.records[-1].outcome == "deny"
    finally:
        host.close()


def test_serving_and_pairing_disabled_by_the_site_do_not_start(site: Site, host: Host) -> None:
    tools = Tools()
    host.environment.connect(shell=tools, attached=lambda: True)
    path = site("[site]\nserve = false\npair = false\n")
    with pytest.raises(PolicyError, match=rf"Pairing this kernel is switched off: .*\({path}, line 3\)"):
        host.loop.submit(host.pairing.start()).result(PATIENCE)
    begun = serving.start(
        host,
        Service(host, lambda *_: None),
        address="127.0.0.1",
        port=0,
        tls=None,
        name="x",
        rights=("watch",),
        token=None,
    )
    with pytest.raises(PolicyError, match=r"Serving this kernel is switched off: .*line 2"):
        host.loop.submit(begun).result(PATIENCE)


def test_page_gets_the_site_message_and_no_pairing_option(site: Site) -> None:
    site('[site]\nmessage = "Ask\\nplatform."\npair = false\n')
    host = Host()
    try:
        config = host.root.state.config
        assert config is not None
        assert (config.values.get(SITE), PAIRING in config.values) == ({"message": "Ask platform."}, False)
        site('[site]\nmessage = "Changed."\n')
        host.loop.call(host.take_settings)
        assert host.root.state.config is not None
        assert host.root.state.config.values[SITE] == {"message": "Changed."}
    finally:
        host.close()


def test_site_retention_also_deletes_pinned_conversations(site: Site, tmp_path: Path) -> None:
    host = Host(log=tmp_path / "log/sessions.db")
    session = Session(host.loop.call(lambda: host.open(find("eliza"), cwd=tmp_path)))
    session.prompt("/say x").wait(PATIENCE)
    host.close()
    host = Host(log=tmp_path / "log/sessions.db")
    try:
        assert host.recorder is not None
        store = host.recorder.store
        (record,) = store.sessions(limit=9)
        store.mark(record.uri, pinned=True)
        config = Path(os.environ["AGENTNB_CONFIG_DIR"])
        config.mkdir()
        (config / "settings.toml").write_text("log_days = 1e-9\n")
        assert host.loop.submit(keep_limits(store, host.stores)).result(PATIENCE) == 0
        site("[site.settings]\nlog_days = 1e-9\n")
        assert host.loop.submit(keep_limits(store, host.stores)).result(PATIENCE) == 1
    finally:
        host.close()


def test_audit_stream_has_decisions_but_no_contents(site: Site, tmp_path: Path) -> None:
    """One file per user, one line per decision; a failed write is a warning, and stops nothing."""
    stream = tmp_path / "stream"
    stream.mkdir()
    site(f'[site]\naudit = "{stream}"\n')
    policy = HostPolicy(PolicyFiles(), AuditLog(tmp_path / "audit.jsonl"), {})
    host = Host(policy=policy)
    host.environment.connect(attached=lambda: True)
    (tmp_path / "work").mkdir()
    try:
        talk = Talk(host, tmp_path / "work", mode="allow")
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
        assert "The audit stream /nowhere/at/all could not be written" in str(policy.audit.problem)
    finally:
        host.close()
