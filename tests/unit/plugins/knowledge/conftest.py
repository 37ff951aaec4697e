"""A notebook whose cells have run, a language server for it, installed packages, and offers of their skills."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb.agent.catalog import find
from agentnb.host.environment import Environment, current_environment
from agentnb.plugin_registry import plugins
from agentnb.plugins.knowledge.code.language_server import server_for
from tests.unit.api.conftest import AGENTS
from tests.unit.host.conftest import configuration
from tests.unit.kernel.shell_tools import Tools

Ran = Callable[..., None]
Serves = Callable[..., None]


@pytest.fixture
def ran(tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ran]:
    """Returns a function that sets the kernel's cells, as if they had run in order, and its variables.

    Nothing runs. The workspace is ``tmp_path``.
    """

    def as_if(*sources: str, **variables: Any) -> None:
        tools.shell.history_manager.input_hist_raw[:] = ["", *sources]
        tools.shell.user_ns.update(variables)

    monkeypatch.chdir(tmp_path)
    current_environment().connect(shell=tools)
    yield as_if
    current_environment().connect(shell=None)


@pytest.fixture
def serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serves]:
    """Returns a function that chooses an installed language server, or the scripted one that behaves as *odd* says.

    The scripted one stands for pyright and writes a line to the file ``starts`` whenever it starts.
    """

    def choose(name: str = "pyright", *, odd: str = "") -> None:
        if odd:
            program = tmp_path / "bin" / "pyright-langserver"
            program.parent.mkdir(exist_ok=True)
            command = shlex.join([sys.executable, "-S", str(AGENTS / "language_server.py"), odd])
            program.write_text(f"#!/bin/sh\necho >> {shlex.quote(str(tmp_path / 'starts'))}\nexec {command}\n")
            program.chmod(0o755)
            monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        elif not Path(sysconfig.get_path("scripts"), name).exists() and shutil.which(name) is None:
            pytest.skip(f"{name} is not installed, so jedi answers.")
        agentnb.settings().set("language_server", name)

    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "config"))
    yield choose
    for folder in (tmp_path, tmp_path / "work"):
        server_for(folder.resolve(), None)


def starts(folder: Path) -> int:
    """Returns how many times the scripted language server has started."""
    file = folder / "starts"
    return len(file.read_text().splitlines()) if file.exists() else 0


def ask(question: Any, *symbol: str, **place: Any) -> Any:
    """Returns the answer of :func:`agentnb.code`, of any type."""
    return agentnb.code(question, *symbol, **place)


def places(rows: Any) -> list[tuple[int | str, int, int]]:
    """Returns the cell's n of ``In [n]`` or the file's name, the line and the column of each row."""
    return [(place_of(each), each.line, each.column) for each in rows]


def place_of(row: Any) -> int | str:
    return int(row.cell_id.strip("In []")) if row.cell_id else Path(row.path).name


TEXT = "---\nname: {name}\ndescription: {description}\n---\nUse it well.\n"


class Site:
    """A folder of installed packages, whose skills alone are looked at here; and a workspace."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "site"
        self.workspace = folder / "work"

    def install(
        self, package: str, *skills: str, version: str = "1.0", under: str = ".agents/skills", text: str = TEXT
    ) -> Path:
        """Installs a package with skills; returns the folder of the last one."""
        folder = self.folder / package
        info = self.folder / f"{package}-{version}.dist-info"
        info.mkdir(parents=True)
        record = [f"{package}/__init__.py,,"]
        for skill in skills:
            folder = self.folder / package / under / skill
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_text(text.format(name=skill, description=f"About {skill}."))
            record.append(f"{package}/{under}/{skill}/SKILL.md,,")
        (info / "RECORD").write_text("\n".join(record))
        return folder

    @contextlib.contextmanager
    def alone(self) -> Iterator[Any]:
        """Yields :func:`agentnb.skills`, without the packages of this Python."""
        path = sys.path
        sys.path = [each for each in path if "site-packages" not in each]
        try:
            yield agentnb.skills()
        finally:
            sys.path = path

    def skills(self) -> list[Any]:
        """Returns the rows of all skills and tools."""
        with self.alone() as skills:
            return list(skills)

    def offered(self) -> list[str]:
        """Returns the ids of the skills and tools that agents get."""
        return [each.id for each in self.skills() if each.trusted and not each.problem]

    def problem(self) -> str:
        (skill,) = self.skills()
        return str(skill.problem)

    def show(self, skill: str) -> str:
        with self.alone() as skills:
            return str(skills.show(skill))

    def trust(self, package: str) -> list[Any]:
        """Trusts a package; returns the rows of its skills and tools."""
        with self.alone() as skills:
            return list(skills.trust(package))

    def revoke(self, package: str) -> bool:
        with self.alone() as skills:
            return bool(skills.revoke(package))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Returns a new site, on the import path; the current folder is its workspace."""
    made = Site(tmp_path)
    made.workspace.mkdir()
    monkeypatch.chdir(made.workspace)
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.syspath_prepend(str(made.folder))
    return made


class Offers:
    """The plug-in's offers of skills: the page shows them, and its requests decide about them."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        (self._customizer,) = [each for _, each in plugins().offers("customizers") if each.name == "skills"]

    def open(self) -> dict[str, str]:
        """Returns the digest of each package that the user is asked about, by its name and version."""
        asked = configuration(find("eliza"), self._workspace, kernel_tools=True)
        entries = self._customizer.customizations(asked, Environment(), asks=True)
        offers = [each for each in entries if each["id"].startswith("offer:")]
        return {each["name"]: each["_meta"]["agentnb"]["digest"] for each in offers}

    def decide(self, action: str, package: str, digest: str = "") -> None:
        """Trusts or refuses what the package's offer shows now, or what *digest* stands for."""
        shown = digest or next(each for name, each in self.open().items() if name.split()[0] == package)
        assert self._customizer.decide(action, package, shown=shown)


@pytest.fixture
def offers(site: Site) -> Offers:
    return Offers(site.workspace)
