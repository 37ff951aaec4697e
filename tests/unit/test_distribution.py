"""The distribution: its name in every place, its requirements, and its licences."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import agentnb
from tests.conftest import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAME = "jupyter-agentnb"
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
PATTERNS = ("*.md", "docs/**/*.md", "agentnb/**/*.py", "agentnb/**/*.toml", "js/src/**/*.ts*", "notebooks/*.ipynb")
INSTALLED_BY_IMPORT_NAME = re.compile(r"pip install (?:[-\w]+ )*[\"'`]?agentnb(?![\w-])")
ALLOWED = "Do not `pip install agentnb`"


def test_name_is_the_same_in_metadata_code_and_front_end() -> None:
    """Users install `jupyter-agentnb` with pip; the lab extension says so in JupyterLab's list."""
    install = json.loads((ROOT / "labextension/install.json").read_text(encoding="utf-8"))
    assert (PROJECT["name"], install["packageName"]) == (NAME, NAME)
    assert install["uninstallInstructions"] == f"pip uninstall {NAME}"


def test_version_is_the_same_everywhere() -> None:
    """Metadata, module, front end, manual and changelog; the lab extension gets it from the module."""
    version = PROJECT["version"]
    front_end = json.loads((ROOT / "js/package.json").read_text(encoding="utf-8"))["version"]
    lock = json.loads((ROOT / "js/package-lock.json").read_text(encoding="utf-8"))
    lab = json.loads((ROOT / "labextension/package.json").read_text(encoding="utf-8"))["version"]
    wheel = re.findall(r"jupyter_agentnb-(\S+)-py3", (ROOT / "docs/how-to/install.md").read_text(encoding="utf-8"))
    written = {agentnb.__version__, front_end, lock["version"], lock["packages"][""]["version"], lab, *wheel}
    assert written == {version}


def test_changelog_has_each_version_and_section_once() -> None:
    """Newest first, including this version: merging branches must not double a section."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    names = [release.splitlines()[0] for release in releases]
    versions = [match[1] for name in names if (match := re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d", name))]
    assert names[0] == "[Unreleased]"
    assert versions == sorted(set(versions), key=lambda each: [*map(int, each.split("."))], reverse=True)
    assert (versions[0], len(versions)) == (PROJECT["version"], len(names) - 1)
    for release in releases:
        sections = re.findall(r"^### (.+)$", release, re.MULTILINE)
        assert len(sections) == len(set(sections)), release.splitlines()[0]


def test_no_text_names_the_other_project_to_install() -> None:
    """`pip install agentnb` installs another project."""
    texts = {path: path.read_text(encoding="utf-8") for pattern in PATTERNS for path in ROOT.glob(pattern)}
    wrong = [path for path, text in texts.items() if INSTALLED_BY_IMPORT_NAME.search(text.replace(ALLOWED, ""))]
    assert (wrong, len(texts) > 100) == ([], True)


def test_every_bundled_package_has_its_licence_text() -> None:
    """In the wheel's package and the separately installed lab extension."""
    names = json.loads((ROOT / "js/package.json").read_text(encoding="utf-8"))["dependencies"]
    for folder in ("agentnb/static", "labextension"):
        text = (ROOT / folder / "THIRD-PARTY-LICENSES.txt").read_text(encoding="utf-8")
        assert [name for name in names if not re.search(rf"^{name} \d\S* \(.+\)$", text, re.MULTILINE)] == []
        assert text.lower().count("permission") >= len(names)


def test_licence_expression_covers_every_bundled_package() -> None:
    """And no other; the licence files have the texts."""
    text = (ROOT / "agentnb/static/THIRD-PARTY-LICENSES.txt").read_text(encoding="utf-8")
    bundled = set(re.findall(r"^\S+ \d\S* \((.+)\)$", text, re.MULTILINE))
    lab = json.loads((ROOT / "labextension/package.json").read_text(encoding="utf-8"))
    assert (set(PROJECT["license"].split(" AND ")), lab["license"]) == ({"Apache-2.0", *bundled}, PROJECT["license"])
    assert set(PROJECT["license-files"]) == {"LICENSE", "agentnb/static/THIRD-PARTY-LICENSES.txt"}


def test_lab_extension_has_the_author_and_urls_of_the_project() -> None:
    """Its addresses are the package index's."""
    lab = json.loads((ROOT / "labextension/package.json").read_text(encoding="utf-8"))
    urls = PROJECT["urls"]
    assert lab["author"]["name"] == PROJECT["authors"][0]["name"]
    assert (lab["homepage"], lab["bugs"]["url"]) == (urls["Homepage"], urls["Issues"])
    assert lab["repository"]["url"] == f"git+{urls['Source']}.git"
    assert set(lab["keywords"]) <= set(PROJECT["keywords"])


def test_extras_are_only_for_users() -> None:
    """Needs of tests, manual and developers are dependency groups, which distributions leave out."""
    assert set(PROJECT["optional-dependencies"]) == {"code", "dask", "export", "lab", "serve"}
    assert set(SETTINGS["dependency-groups"]) == {"dev", "docs", "test"}


def test_every_requirement_has_a_lowest_version() -> None:
    """`make test-floors` installs the script's output: one exact version for each requirement."""
    done = subprocess.run([sys.executable, "scripts/floors.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    floors = dict(re.findall(r"^([\w.-]+)==(\S+)", done.stdout, re.MULTILINE))
    named = [re.split(r"[>=\[ ;]", text)[0] for text in PROJECT["dependencies"]]
    assert [name for name in named if name not in floors] == []
    assert floors["ipython"] == "8.18"


def test_conda_recipe_matches_version_and_requirements() -> None:
    """In conda's form: a space before the bounds, and no markers, as one package serves every Python."""
    recipe = (ROOT / "conda/recipe.yaml").read_text(encoding="utf-8")
    run = re.search(r"^  run:\n((?:    - .+\n)+)", recipe, re.MULTILINE)
    assert run is not None
    wanted = [re.sub(r"^([\w-]+)", r"\1 ", text.partition(";")[0].strip()) for text in PROJECT["dependencies"]]
    assert {f"python {PROJECT['requires-python']}", *wanted} == set(re.findall(r"- (.+)", run[1]))
    assert (f'version: "{PROJECT["version"]}"' in recipe, f"license: {PROJECT['license']}" in recipe) == (True, True)


def test_wheel_requires_exactly_the_built_front_end_files() -> None:
    """An obsolete file name would prevent every wheel; an unnamed file could be missing."""
    hook = SETTINGS["tool"]["hatch"]["build"]["hooks"]["jupyter-builder"]
    built = {f"agentnb/static/{path.name}" for path in (ROOT / "agentnb/static").iterdir()}
    assert set(hook["ensured-targets"]) == {*built, "labextension/package.json"}
    assert hook["skip-if-exists"] == hook["ensured-targets"]


THEIRS = {
    "early": "from .state import CommandState",  # as in agentnb 0.3.10: our package `state` comes before its module
    "late": "__version__ = '0.3.10'",
}
PROGRAM = "import sys\nfrom agentnb.cli import main\nsys.exit(main())\n"


@pytest.fixture(params=THEIRS)
def overwritten(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with packages, in which the other project overwrote this one, and with the program."""
    package = tmp_path / "packages/agentnb"
    shutil.copytree(ROOT / "agentnb", package, ignore=shutil.ignore_patterns("static", "__pycache__"))
    files = {
        "__init__.py": THEIRS[request.param],
        "__main__.py": "from .cli import main\nimport sys\nsys.exit(main())\n",
        "errors.py": "class TheirError(Exception): ...",
        "state.py": "class CommandState: ...",
        "cli.py": "",
    }
    for name, text in files.items():
        (package / name).write_text(text, encoding="utf-8")
    ours = ("__init__.py", "__main__.py", "errors.py", "cli/__init__.py")
    for name, version, recorded in (("agentnb", "0.3.10", tuple(files)), ("jupyter-agentnb", "0.2.0", ours)):
        info = package.parent / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
        (info / "RECORD").write_text("".join(f"agentnb/{each},,\n" for each in recorded), encoding="utf-8")
    (tmp_path / "agentnb").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("program", ["agentnb", "-m agentnb"])
def test_doctor_reports_files_overwritten_by_the_other_project(overwritten: Path, program: str) -> None:
    """Whichever of its files Python reads first."""
    environment = {**os.environ, "PYTHONPATH": str(overwritten / "packages")}
    command = [sys.executable, *program.split(), "doctor"]
    done = subprocess.run(command, cwd=overwritten, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(
        "agentnb  broken  Another project, agentnb 0.3.10, has overwritten agentnb/__init__.py, agentnb/__main__.py, "
        "agentnb/errors.py of jupyter-agentnb 0.2.0, because both have the import name agentnb."
    )
    assert "pip uninstall --yes agentnb && " in done.stderr
    assert "--force-reinstall --no-deps jupyter-agentnb==0.2.0" in done.stderr


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """A folder with the other project's distribution, installed separately."""
    package = tmp_path / "theirs/agentnb"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '0.3.10'", encoding="utf-8")
    info = package.parent / "agentnb-0.3.10.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: agentnb\nVersion: 0.3.10\n", encoding="utf-8")
    (tmp_path / "agentnb").write_text(
        "import sys\nfrom jupyter_agentnb import main\nsys.exit(main())\n", encoding="utf-8"
    )
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_doctor_reports_that_the_other_project_is_installed(beside: Path, first: str) -> None:
    """In both orders, the same command removes it."""
    folders = [str(beside / "theirs"), str(ROOT)]
    path = os.pathsep.join(folders if first == "theirs" else reversed(folders))
    command = [sys.executable, "agentnb", "doctor", "jupyter"]
    done = subprocess.run(
        command, cwd=beside, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    output = done.stderr if first == "theirs" else done.stdout
    (line,) = [each for each in output.splitlines() if each.startswith("agentnb ")]
    assert (done.returncode, "broken" in line) == (1, True)
    assert "-m pip uninstall --yes agentnb" in line
    assert (f"finds another project, in {beside / 'theirs/agentnb'}" in line) == (first == "theirs")
    assert ("The distribution agentnb 0.3.10 is installed as well." in line) == (first == "ours")
