"""A third-party plug-in appears everywhere; a broken one is named, and everything else works."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.unit.forked import run_script

WEATHER = ROOT / "tests/plugins/weather"
PROMPT = """
import sys, agentnb
session = agentnb.start(command=[sys.executable, sys.argv[1]], permissions=sys.argv[3])
turn = session.prompt(sys.argv[2]).wait(60)
print(turn.text)
for part in turn.snapshot.response_parts:
    print(getattr(part, "content", ""))
"""
PAGE = """
import json
from agentnb.server.service import Service
from agentnb.host import Host
sent = []
host = Host()
service = Service(host, lambda client, message: sent.append(message))
print([service.method("x-agentnb/weather/look").name])
for number, place in enumerate(("Cairo", "Rome")):
    result = service.ask("page", "x-agentnb/weather/look", {"place": place})
    try:
        print(json.dumps(host.loop.submit(result).result(30)))
    except Exception as error:
        print(type(error).__name__, error)
host.close()
"""


def installed(folder: Path, name: str, value: str, source: Path | str) -> None:
    """Installs a package with a plug-in, as pip would leave it."""
    module = value.partition(":")[0]
    text = source if isinstance(source, str) else (source / f"{module}.py").read_text()
    (folder / f"{module}.py").write_text(text)
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[agentnb.plugins]\n{name} = {value}\n")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Returns a folder of packages in which a third-party plug-in is installed."""
    site = tmp_path / "site"
    site.mkdir()
    installed(site, "weather", "agentnb_weather:PLUGIN", WEATHER)
    return site


def run(site: Path, code: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs Python code with the packages in *site* and separate settings."""
    env = {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}", "AGENTNB_CONFIG_DIR": str(site / "config")}
    env |= {"AGENTNB_DATA_DIR": str(site / "data"), **variables}
    return run_script(f"import sys\nsys.path.insert(0, {str(site)!r})\n{code}", *words, cwd=site, **env)


COMMAND = "import runpy\nrunpy.run_module('agentnb', run_name='__main__', alter_sys=True)"


def agentnb(site: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run(site, COMMAND, *words, **variables)


def prompted(site: Path, prompt: str, permissions: str = "deny") -> list[str]:
    """Returns the lines of the MCP agent's answer and of the turn's notices."""
    done = run(site, PROMPT, str(ROOT / "tests/agents/uses_mcp.py"), prompt, permissions)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_plugins_command_lists_a_third_party_plugin(site: Path) -> None:
    done = agentnb(site, "plugins", "--json")
    rows = {row["name"]: row["offers"] for row in json.loads(done.stdout)["plugins"]}
    assert rows["weather"] == {
        "commands": ["weather"],
        "magics": ["weather"],
        "tools": ["weather"],
        "requests": ["weather/look"],
        "exporters": ["shout"],
    }
    assert {"export", "eliza", "local", "chain", "knowledge"} <= set(rows)
    assert done.returncode == 0


def test_plugin_adds_a_command(site: Path) -> None:
    """The help lists it, and its errors name the plug-in."""
    assert "Says the weather." in agentnb(site, "--help").stdout
    assert agentnb(site, "weather", "Paris", "Cairo").stdout == "Paris: rain Cairo: sun\n"
    failed = agentnb(site, "weather", "Rome")
    assert failed.returncode == 1
    assert "The plug-in 'weather' failed in `agentnb weather`: KeyError" in failed.stderr
    assert "agentnb settings plugins_off weather" in failed.stderr


def test_plugin_adds_a_magic(site: Path) -> None:
    """`%agents weather Paris`; its errors name the plug-in."""
    script = (
        "from IPython.testing.globalipapp import start_ipython; ip = start_ipython();"
        "ip.run_line_magic('load_ext', 'agentnb');"
        "print(ip.run_line_magic('agents', 'weather Cairo'));"
        "ip.run_line_magic('agents', 'weather Rome')"
    )
    done = run(site, script)
    assert "sun" in done.stdout
    assert "The plug-in 'weather' failed in `%agents weather`" in done.stdout + done.stderr


def test_agent_gets_errors_of_a_plugin_tool(site: Path) -> None:
    answer = json.loads(prompted(site, "weather weather place")[0])
    assert answer["isError"]
    assert "The plug-in 'weather' failed in the tool 'weather'" in answer["content"][0]["text"]


def test_plugin_adds_a_request_for_pages(site: Path) -> None:
    """The plug-in's structs describe it; its errors name the plug-in."""
    done = run(site, PAGE)
    assert done.stdout.splitlines()[:2] == ["['x-agentnb/weather/look']", '{"weather": "sun"}'], done.stderr
    assert "PluginFailed The plug-in 'weather' failed in the request 'weather/look'" in done.stdout


def test_plugin_adds_an_exporter(site: Path) -> None:
    """`--to` takes its name; the error for an unknown name lists the known ones."""
    notebook = ROOT / "notebooks/quickstart.ipynb"
    shouted = agentnb(site, "export", str(notebook), "--to", "shout").stdout
    assert shouted == agentnb(site, "export", str(notebook)).stdout.upper()
    unknown = agentnb(site, "export", str(notebook), "--to", "frob")
    assert "There is no form 'frob'. There are md, html, jsonl, ipynb, shout." in unknown.stderr


@pytest.mark.parametrize("how", ["setting", "variable"])
def test_switched_off_plugin_adds_nothing(site: Path, how: str) -> None:
    variables = {"AGENTNB_PLUGINS": "export"} if how == "variable" else {}
    if how == "setting":
        assert agentnb(site, "settings", "plugins_off", "weather").returncode == 0
    assert "weather: switched off" in agentnb(site, "plugins", **variables).stdout
    assert agentnb(site, "weather", "Paris", **variables).returncode == 2
    assert agentnb(site, "export", "--help", **variables).returncode == 0


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import no_such_module", "No module named 'no_such_module'"),
        ("PLUGIN = 1", "is a int, not an agentnb.ports.Plugin"),
        ("from agentnb.ports import Plugin\nPLUGIN = Plugin('broken', 'x', ports=99)", "version 99 of the ports"),
        ("from agentnb.ports import Plugin\nPLUGIN = Plugin('other', 'x')", "it calls itself 'other'"),
    ],
)
def test_broken_plugin_is_reported_and_everything_else_works(site: Path, source: str, why: str) -> None:
    """The list and the doctor name it, the chat once."""
    installed(site, "broken", "agentnb_broken:PLUGIN", source)
    listed = agentnb(site, "plugins")
    assert (listed.returncode, why in listed.stdout) == (1, True)
    assert "The plug-in 'broken' could not be loaded" in agentnb(site, "doctor", "jupyter").stdout
    assert agentnb(site, "weather", "Cairo").stdout == "Cairo: sun\n"
    assert sum("The plug-in 'broken' could not be loaded" in line for line in prompted(site, "leave")) == 1


CUSTOMIZER = """
from agentnb.ports import Plugin

class Fails:
    name = "fails"

    def customizations(self, *_, **__):
        raise RuntimeError("no list today")

PLUGIN = Plugin("broken", "x", customizers=(Fails(),))
"""


def test_plugin_with_a_failing_customizer_is_reported(site: Path) -> None:
    """All other skills and servers are shown."""
    installed(site, "broken", "agentnb_broken:PLUGIN", CUSTOMIZER)
    code = """
from pathlib import Path
from agentnb.agent.catalog import find
from agentnb.host import current_host
from agentnb.host.agents.agent_events import customizations
from agentnb.plugin_registry import plugins
host = current_host()
configuration = host.loop.call(lambda: host.open(find("eliza"), cwd=Path.cwd(), kernel_tools=True)).configuration
print([each["name"] for each in customizations(configuration, host.environment)])
print([each.message for each in plugins().new_problems()])
"""
    done = run(site, code)
    assert done.returncode == 0, done.stderr
    names, problems = done.stdout.splitlines()
    assert "'kernel'" in names
    assert "The plug-in 'broken' failed in customizers" in problems
