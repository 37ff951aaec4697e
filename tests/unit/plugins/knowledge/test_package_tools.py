"""Tools of packages: read without an import, off until trusted, run only if the policy allows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from agentnb import UsageError
from tests.unit.kernel.shell_tools import Tools
from tests.unit.plugins.knowledge.conftest import TEXT, Site

SOURCE = '''
from . import helper

def shout(text: str, times: int = 1) -> str:
    """Says a text loudly."""
    return helper.loud(text) * times

async def later(text: str) -> str:
    """Says it later."""
    return text

def raises() -> None:
    """Raises."""
    raise ValueError("not today")

def hangs() -> None:
    """Never comes back."""
    while True:
        pass

def leaks() -> None:
    """Prints a secret."""
    import os
    print("key", os.environ["BOX_API_KEY"])
'''
NAMES = ("shout", "later", "raises", "hangs", "leaks")


def install(
    site: Site, package: str = "box", *, version: str = "1.0", source: str = SOURCE, tools: Any = NAMES
) -> Path:
    """Installs a package with tools; returns its folder."""
    site.install(package, version=version)
    folder = site.folder / package
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").write_text(f"__version__ = {version!r}\n")
    (folder / "helper.py").write_text("def loud(text):\n    return text.upper()\n")
    (folder / "agent.py").write_text(source)
    rows = [f"{name} = {package}.agent:{name}" for name in tools]
    info = site.folder / f"{package}-{version}.dist-info"
    (info / "entry_points.txt").write_text("\n".join(["[agentnb.tools]", *rows]))
    return folder


def test_package_tool_is_off_until_its_package_is_trusted(site: Site) -> None:
    """The user reads its code, the agent its parameters."""
    install(site, "crate")
    tools = Tools()
    assert (site.offered(), sorted(each.name for each in site.skills())) == ([], sorted(NAMES))
    text = site.show("crate/leaks")
    assert "a tool: crate.agent:leaks in" in text
    assert text.endswith('print("key", os.environ["BOX_API_KEY"])')
    assert "Check these lines:" in text
    assert "shout" not in tools.text("read_skill")
    site.trust("crate")
    assert site.offered() == [f"crate/{name}" for name in sorted(NAMES)]
    assert "crate/shout(text: str, times: int=1): Says a text loudly." in tools.text("read_skill")
    assert site.revoke("crate")
    assert site.offered() == []
    assert "crate" not in sys.modules
    tools.loop.stop()


def test_trust_ends_when_code_of_the_package_changes(site: Site) -> None:
    """The change may be in the tool's module, an imported one, a new file or an update."""
    folder = install(site, tools=["shout"])
    for file in ("agent.py", "helper.py", "more.py"):
        site.trust("box")
        assert site.offered() == ["box/shout"]
        (folder / file).write_text(f"{SOURCE}\n# changed\n")
        assert site.offered() == []
        assert "It has changed since you trusted its package" in site.problem()
    site.trust("box")
    (site.folder / "box-1.0.dist-info").rename(site.folder / "box-1.1.dist-info")
    assert site.offered() == []


UNUSABLE = {
    "def f(x): 'Doc.'": "The argument 'x' of f has no type.",
    "def f(x: bytes): 'Doc.'": "The argument 'x' of f has the type bytes.",
    "def f(x: 'list[list[int]]'): 'Doc.'": "has the type 'list[list[int]]'",
    "def f(*x: int): 'Doc.'": "takes arguments without names",
    "def f(): pass": "The docstring of box.agent:f has 1 to 1,024 characters",
    "from math import f": "defines no function 'f' of its own",
    "def f(": "is not Python that can be read",
    "x" * 500_001: "has more than 500,000 bytes",
}


def test_tool_without_a_valid_description_is_rejected(site: Site) -> None:
    """No agent gets it, trusted or not."""
    folder = install(site, tools=["f"])
    for source, why in UNUSABLE.items():
        (folder / "agent.py").write_text(source)
        site.trust("box")
        assert why in site.problem(), source[:50]
        assert site.offered() == []


def test_entry_point_outside_its_package_is_rejected(site: Site, tmp_path: Path) -> None:
    """It leads through a link out of the packages' folder, to compiled code, or has an invalid name."""
    folder = install(site, tools=[])
    (tmp_path / "outside.py").write_text('def f(): "Doc."')
    (folder / "linked.py").symlink_to(tmp_path / "outside.py")
    rows = ("[agentnb.tools]", "a = box.linked:f", "b = box.gone:f", "c = box.agent:f; import os", "d = ../x:f", "e")
    (site.folder / "box-1.0.dist-info" / "entry_points.txt").write_text("\n".join(rows))
    skills = site.trust("box")
    assert [(each.name, "readable" in each.problem) for each in skills] == [("a", True), ("b", True)]
    assert site.offered() == []


def test_tools_are_limited_and_same_names_need_the_package_name(site: Site) -> None:
    """At most a hundred tools of a package are listed."""
    many = [f"f{number}" for number in range(101)]
    install(site, "many", source="\n".join(f'def {name}(): "Doc."' for name in many), tools=many)
    for package in ("few", "other"):
        install(site, package, tools=["shout"])
    assert len(site.skills()) == 102
    with pytest.raises(UsageError, match="2 skills are called 'shout'"):
        site.show("shout")
    assert site.show("few/shout").startswith("few/shout 1.0, a tool")


@pytest.fixture
def trusted(site: Site, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the folder of an importable package whose tools and skill the user trusts."""
    monkeypatch.setenv("BOX_API_KEY", "0123456789abcdef0123456789")
    folder = install(site)
    skill = folder / ".agents" / "skills" / "pack"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text(TEXT.format(name="pack", description="Packs."))
    for name, text in SCRIPTS.items():
        (skill / "scripts" / name).write_text(text)
    (site.folder / "box-1.0.dist-info" / "RECORD").write_text("box/.agents/skills/pack/SKILL.md,,")
    for name in [each for each in sys.modules if each.split(".")[0] == "box"]:
        monkeypatch.delitem(sys.modules, name)
    site.trust("box")
    return folder


SCRIPTS = {
    "echo.py": "import os, sys\nprint(sys.argv[1:], os.environ['BOX_API_KEY'], os.getcwd())",
    "fails.sh": "echo broken\nexit 3",
    "hangs.sh": "sleep 1000 & echo started; wait",
    "data.csv": "1,2",
}


def use(tools: Tools, tool: str, **more: Any) -> tuple[bool, str]:
    result = tools.call("use_package_tool", tool=tool, **more)
    return bool(result.get("isError")), "\n".join(each.get("text", "") for each in result["content"])


@pytest.mark.usefixtures("trusted")
def test_tool_call_is_code_in_the_kernel_that_needs_permission(tools: Tools) -> None:
    """The answer is its value."""
    assert use(tools, "box/shout", arguments={"text": "it's", "times": 2}) == (False, "\"IT'SIT'S\"")
    (request,) = [each for each in tools.requests if each.kind != "read"]
    assert request.kind == "kernel"
    assert request.command == ("__import__('importlib').import_module('box.agent').shout(text=\"it's\", times=2)")
    assert "soon" in use(tools, "later", arguments={"text": "soon"})[1]
    tools.denies = True
    assert use(tools, "box/shout", arguments={"text": "no"})[0]


CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "wrong type": ({"tool": "shout", "arguments": {"text": 1}}, "'text' of shout is a string, not 1."),
    "missing": ({"tool": "shout"}, "shout wants 'text'. It is shout(text: str, times: int=1)."),
    "unknown": ({"tool": "shout", "arguments": {"text": "a", "x": 1}}, "shout has no argument 'x'."),
    "no tool": ({"tool": "nothing"}, "There is no tool 'nothing' for agents."),
    "raises": ({"tool": "raises"}, "ValueError: not today"),
    "hangs": ({"tool": "hangs", "seconds": 1}, "was interrupted: its time was up"),
    "no script": ({"tool": "box/pack/scripts/gone.py"}, "cannot be read"),
    "leads out": ({"tool": "box/pack/scripts/../../../../agent.py"}, "leads out of the skill's folder"),
    "no program": ({"tool": "box/pack/scripts/data.csv"}, "is not a script that can be run. It ends with .py or .sh"),
    "bad args": ({"tool": "box/pack/scripts/echo.py", "arguments": {"args": "x"}}, "'args', a list of strings"),
    "exit code": ({"tool": "box/pack/scripts/fails.sh"}, "broken\nExit code 3."),
    "script hangs": (
        {"tool": "box/pack/scripts/hangs.sh", "seconds": 1},
        "started\nIt took more than 1 s and was stopped.",
    ),
}


@pytest.mark.usefixtures("trusted")
def test_failed_tool_call_returns_the_reason(tools: Tools) -> None:
    """The kernel and the conversation continue."""
    for case, (arguments, message) in CALLS.items():
        failed, text = use(tools, **arguments)
        assert failed, case
        assert message in text, case


def test_tool_reports_a_failed_import(tools: Tools, trusted: Path, site: Site) -> None:
    """The error is the same as in a cell."""
    (trusted / "helper.py").write_text("import no_such_module_of_ours")
    site.trust("box")
    failed, text = use(tools, "box/shout", arguments={"text": "a"})
    assert failed
    assert "No module named 'no_such_module_of_ours'" in text


def test_secrets_in_output_of_tools_and_scripts_are_hidden(tools: Tools, trusted: Path) -> None:
    """A script gets the user's environment, like every command; its request has its arguments."""
    printed = use(tools, "box/leaks")[1] + use(tools, "box/pack/scripts/echo.py", arguments={"args": ["a b"]})[1]
    assert "0123456789abcdef" not in printed
    assert printed.count("***") == 2
    assert "['a b'] *** " in printed
    request = tools.requests[-1]
    script = trusted / ".agents/skills/pack/scripts/echo.py"
    assert (request.kind, request.command) == ("terminal", f"{sys.executable} {script} 'a b'")


def test_script_changed_during_the_request_does_not_run(tools: Tools, trusted: Path) -> None:
    """Its skill is no longer trusted."""
    script = trusted / ".agents/skills/pack/scripts/echo.py"
    tools.while_asked = lambda: script.write_text("print('other')")
    failed, text = use(tools, "box/pack/scripts/echo.py")
    assert (failed, "other" in text) == (True, False)


def test_tool_does_not_run_when_another_package_has_its_name(
    tools: Tools, trusted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workspace module comes first on the path, or an older version is imported."""
    (tmp_path / "box.py").write_text("raise SystemExit")
    with monkeypatch.context() as first:
        first.syspath_prepend(str(tmp_path))
        failed, text = use(tools, "box/shout", arguments={"text": "a"})
        assert failed
        assert "`import box` gives another package than box 1.0" in text
    assert not use(tools, "box/shout", arguments={"text": "a"})[0]
    monkeypatch.setattr(sys.modules["box"], "__version__", "0.9")
    failed, text = use(tools, "box/shout", arguments={"text": "a"})
    assert failed
    assert "The kernel has imported box 0.9, and 1.0 is installed and trusted." in text
