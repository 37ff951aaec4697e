"""The site's policy file: its content and errors, and that no user's file or variable loosens it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb.errors import PolicyError
from tests.other_users import open_to_all, reaching
from tests.unit.command_line import run_here
from tests.unit.conftest import Site
from tests.unit.forked import run_agentnb, run_script

UNCONFINED = "agents must be confined, but cannot be confined here, so they do not start"


def complaints(path: Path) -> list[str]:
    """Returns what is wrong with a policy file, without what this machine cannot do."""
    lines = run_here("site-policy", "check", str(path)).stderr.splitlines()
    return [line for line in lines if UNCONFINED not in line]


def settings() -> dict[str, Any]:
    return {row.name: row for row in agentnb.settings()}


def agents() -> list[str]:
    return [row.name for row in agentnb.agents()]


def test_site_files_are_in_jupyter_folders_but_not_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's and the system's prefixes always count; a variable only adds folders."""
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", os.pathsep.join(["/opt/conf", str(tmp_path)]))
    monkeypatch.delenv("AGENTNB_CONFIG_DIR", raising=False)
    fixed = [Path(sys.prefix, "etc/jupyter"), Path("/usr/local/etc/jupyter"), Path("/etc/jupyter")]
    files = ", ".join(f"{each}/agentnb/policy.toml" for each in (Path("/opt/conf"), *fixed))
    assert run_here("site-policy").stdout == f"No policy: {files}.\n"
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", "/etc/jupyter/agentnb")
    assert "/etc/jupyter/agentnb/policy.toml" in run_here("site-policy").stdout


def test_site_policy_command_shows_each_entry_with_its_line(site: Site) -> None:
    path = site(WHOLE)
    assert complaints(path) == []
    done = run_here("site-policy")
    assert done.returncode == (UNCONFINED in done.stdout + done.stderr)
    output = done.stdout
    for each in (
        "Message: Ask platform@example.org.",
        "Only these agents are allowed: eliza, /opt/agents/* (line 8).",
        "Serving this kernel is switched off (line 5).",
        "log_days is 30 (line 14).",
        "The freedom of conversations is at most Edit.",
        "Every agent is confined, with these hosts only: api.example.org.",
        "Rule: deny git push *.",
    ):
        assert f"{path}: {each}" in output


WHOLE = """freedom_at_most = "edit"

[site]
message = "Ask platform@example.org."
serve = false

[site.agents]
allow = ["eliza", "/opt/agents/*"]

[site.models]
deny = ["eliza/large"]

[site.settings]
log_days = 30

[agents."*"]
confine = ["api.example.org"]

[[rule]]
action = "deny"
command = "git push *"
"""

BROKEN = [
    ("[site\n", ["is not TOML", "line 1"]),
    ("[site]\nserv = false\n", ["line 2 in site: 'serv' is not known. Did you mean 'serve'?"]),
    ("\n[site.agent]\nallow = []\n", ["line 2 in site: 'agent' is not known. Did you mean 'agents'?"]),
    ("[site]\nserve = 'no'\n", ["line 2 in site: 'serve' is 'no'. Use true or false."]),
    ("[site.agents]\nallow = 'claude'\n", ["line 2 in site.agents: 'allow' is not a list of strings."]),
    ("[site.agents]\nallowed = ['claude']\n", ["line 2 in site.agents: 'allowed' is not known. Did you mean 'allow'?"]),
    ("site = 3\n", ["line 1: 'site' is not a table."]),
    ("[site]\naudit = 'here'\n", ["line 2 in site: 'audit' is 'here'."]),
    ("[site]\nmessage = 1\n", ["line 2 in site: 'message' is not a short text."]),
    ("[site.settings]\nlog_days = 'long'\n", ["line 2 in site.settings: log_days cannot be 'long'."]),
    ("[site.settings]\nlog_day = 3\n", ["line 2 in site.settings: There is no setting 'log_day'. Did you mean"]),
    ("[site.settings]\nconfine = 'on'\n", ['line 2 in site.settings: confine is not set here. Write [agents."*"]']),
    ("freedom_at_most = 'all'\n", ["line 1: 'freedom_at_most' is 'all'."]),
    ("fredom_at_most = 'ask'\n", ["line 1: 'fredom_at_most' is not known. Did you mean 'freedom_at_most'?"]),
    ('[agents."*"]\nconfine = []\n', ["line 2 in agents.*:"]),
    ('[agents."*"]\nbypass = true\n', ["line 2 in agents.*: 'bypass' holds for one agent."]),
    ("#" * 2_000_000, ["a policy file can have "]),
]


@pytest.mark.parametrize(("text", "messages"), BROKEN, ids=range(len(BROKEN)))
def test_invalid_site_policy_is_reported_with_its_place(site: Site, text: str, messages: list[str]) -> None:
    path = site(text)
    done = run_here("site-policy", "check", str(path))
    assert (done.returncode, [each for each in (str(path), *messages) if each not in done.stderr]) == (1, [])
    assert "no agent starts" in done.stderr or "Nothing is allowed" in done.stderr


def test_broken_site_policy_allows_nothing(site: Site) -> None:
    """No agent, plug-in, server or history, whatever the other files allow."""
    site("[site.agents]\nallow = ['*']\n", "second")
    site("[site]\nserve = 3\n")
    with pytest.raises(PolicyError, match=r"The agent 'eliza' is not allowed here: .*line 2"):
        agentnb.start("eliza")
    with pytest.raises(PolicyError, match=r"Serving this kernel is switched off: .*line 2 in site: 'serve' is 3\."):
        agentnb.serve()
    assert "export: The plug-in 'export' is not allowed" in run_agentnb("plugins", AGENTNB_PLUGINS="export").stdout
    assert "LogUnavailable" in run_script("import agentnb; agentnb.storage()").stderr


def test_site_policy_path_that_is_not_a_file_allows_nothing(site: Site, tmp_path: Path) -> None:
    """A folder, or a pipe, without waiting for it. A link to nothing counts as no file."""
    path = site("")
    for make, remove in ((Path.mkdir, Path.rmdir), (os.mkfifo, Path.unlink)):
        path.unlink(missing_ok=True)
        make(path)
        with pytest.raises(PolicyError, match="is not a file"):
            agentnb.start("eliza")
        remove(path)
    path.symlink_to(tmp_path / "nothing")
    agentnb.start("eliza", cwd=tmp_path).close()


AS_A_USER = """
import os, sys
os.setgroups([])
os.setgid(54321)
os.setuid(54321)
from agentnb import site_policy
from agentnb.checkup.files import changeable
from pathlib import Path
print(site_policy.site_policy().why_not("agents", "eliza"))
print(changeable([Path(sys.argv[1])]))
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    with open_to_all() as folder:
        yield folder


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can become a user whom the system does not know"
)
def test_site_policy_reports_wrong_file_permissions(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the folder cannot be searched, so that a file may exist."""
    if (prefix := reaching(open_folder / "python")) is None:
        pytest.skip("another user may not run this Python")
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(open_folder))
    path = open_folder / "agentnb/policy.toml"
    path.parent.mkdir()
    path.write_text("[site]\nserve = false\n")

    def as_user() -> list[str]:
        words = [*prefix, sys.executable, "-c", AS_A_USER, str(path)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert as_user() == ["None", "[]"]
    path.chmod(0)
    assert "cannot be read: Permission denied" in as_user()[0]
    path.chmod(0o644)
    path.parent.chmod(0)
    assert "cannot be read: Permission denied" in as_user()[0]
    path.parent.chmod(0o777)
    assert f"You can change {path} yourself" in as_user()[1]


def test_tighter_of_two_site_files_wins_and_both_are_named(site: Site) -> None:
    one = site(
        'freedom_at_most = "edit"\nagents.eliza.confine = true\n'
        '[site.agents]\nallow = ["eliza", "local"]\n[site.settings]\nlog_days = 90\n'
    )
    two = site(
        'freedom_at_most = "ask"\nagents.eliza.confine = ["x.org"]\n'
        '[site.agents]\ndeny = ["local"]\n[site.settings]\nlog_days = 30\n',
        "second",
    )
    assert list(settings()["freedom"].choices) == ["ask"]
    assert (agents(), settings()["log_days"].value) == (["eliza"], 30)
    errors = "\n".join(complaints(one))
    assert f"freedom_at_most is 'edit' in {one} and 'ask' in {two}: 'ask' holds." in errors
    assert f"confine of eliza is True in {one} and ('x.org',) in {two}: ('x.org',) holds." in errors
    assert f"log_days is 90 in {one}, line 6 and 30 in {two}, line 6: 30 holds." in errors
    assert f"{one}, line 4 allows the agent 'local', and {two}, line 4 denies it: it is denied." in errors


def test_contradictions_in_a_site_file_are_reported_with_lines(site: Site) -> None:
    path = site(
        '[site.agents]\nallow = ["claude", "eliza"]\ndeny = [\n  "cl*",\n  "codx",\n]\n[[rule]]\naction = "allow"\n'
    )
    text = "\n".join(complaints(path))
    assert f"{path}, line 2: the agent 'claude' is allowed, and line 4 denies it ('cl*'): it is denied." in text
    assert f"{path}, line 5: agentnb knows no agent 'codx'. Did you mean 'codex'?" in text
    assert "loosens the policy" in text


def test_site_allows_custom_agents_only_by_their_command(site: Site) -> None:
    """A user's own agent with an allowed name is not the allowed agent."""
    site('[site.agents]\nallow = ["eliza", "/opt/good *"]\n')
    own = Path(os.environ["AGENTNB_CONFIG_DIR"], "agents")
    own.mkdir(parents=True)
    (own / "eliza.toml").write_text('name = "eliza"\ntitle = "Not she"\ncommand = ["/tmp/evil"]\n')
    (own / "good.toml").write_text('name = "good"\ntitle = "Good"\ncommand = ["/opt/good", "acp"]\n')
    assert agents() == ["good"]
    with pytest.raises(PolicyError, match=r"The agent 'eliza' is not allowed here: set by your administrator"):
        agentnb.start("eliza")


def test_locked_setting_overrides_file_and_variable(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    path = site("[site.settings]\nlocal_url = 'http://models:1'\nlog_days = 7\n")
    (Path(os.environ["AGENTNB_CONFIG_DIR"])).mkdir()
    Path(os.environ["AGENTNB_CONFIG_DIR"], "local.toml").write_text("url = 'http://mine'\n")
    monkeypatch.setenv("AGENTNB_LOCAL_URL", "http://other")
    monkeypatch.setenv("AGENTNB_LOG_DAYS", "0")
    now = settings()
    url = now["local_url"]
    assert (url.value, url.source, url.where) == ("http://models:1", "site", str(path))
    assert now["log_days"].value == 7
    wanted = rf"local_url is 'http://models:1': set by your administrator \({path}, line 2\)"
    with pytest.raises(PolicyError, match=wanted):
        agentnb.settings().set("local_url", "http://mine")
    agentnb.settings().reset("local_url")  # the user's own value can be removed


def test_site_limit_rejects_wider_settings(site: Site) -> None:
    """The user may choose a tighter value; a wider one is refused."""
    site('freedom_at_most = "edit"\n[agents."*"]\nconfine = true\n')
    agentnb.settings().set("freedom", "ask")
    assert settings()["freedom"].source == "user"
    for name, value in (("freedom", "auto"), ("confine", "off"), ("permissions", "allow"), ("headless", "allow")):
        with pytest.raises(PolicyError, match=f"{name} is at most .*: set by your administrator"):
            agentnb.settings().set(name, value)
    assert list(settings()["freedom"].choices) == ["ask", "edit"]
    assert settings()["confine"].value == "on"


def test_plugin_denied_by_the_site_is_not_loaded(site: Site) -> None:
    site('[site.plugins]\ndeny = ["export"]\n')
    done = run_agentnb("plugins", AGENTNB_PLUGINS="export,checks")
    assert "export: The plug-in 'export' is not allowed here: set by your administrator" in done.stdout
    assert "checks: " in done.stdout
    assert "exporters" not in done.stdout


def test_site_table_in_a_user_file_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path))
    (tmp_path / "policy.toml").write_text("[site.agents]\nallow = ['*']\n")
    with pytest.raises(PolicyError, match=r"\[site\] is for the administrator"):
        agentnb.settings().add_rule("deny", command="x")


def test_site_policy_is_read_again_when_it_changes(site: Site) -> None:
    path = site("")
    agentnb.start("eliza", cwd=path.parent).close()
    site('[site.agents]\ndeny = ["eliza"]\n')
    with pytest.raises(PolicyError) as refused:
        agentnb.start("eliza", cwd=path.parent)
    why = f"The agent 'eliza' is not allowed here: set by your administrator ({path}, line 2)."
    assert str(refused.value) == why
