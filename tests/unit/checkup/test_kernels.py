"""Each kernel is really started, and each problem is reported with a command to fix it.

The inside: the command would start every kernel of this machine for each case.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from agentnb import __version__
from agentnb.checkup.packages import examine_kernels, interpreter
from tests.conftest import ROOT

Kernel = Callable[..., dict[str, str]]
LAUNCH = ("-m", "ipykernel_launcher", "-f", "{connection_file}")


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    """Writes a kernel spec that starts with these words; returns its place, as Jupyter does."""

    def describe(*words: str, **more: Any) -> dict[str, str]:
        spec = {"argv": [*words, *LAUNCH], "display_name": "Mine", "language": "python", **more}
        (tmp_path / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
        return {"mine": str(tmp_path)}

    return describe


def script(folder: Path, text: str) -> str:
    """Writes a program that runs *text*; returns its path."""
    path = folder / "my python"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


async def test_a_kernel_that_imports_agentnb_is_ready(kernel: Kernel) -> None:
    """With the environment of its kernel spec."""
    (checkup,) = await examine_kernels(kernel(sys.executable, "-Xfrozen_modules=off", env={"PYTHONPATH": str(ROOT)}))
    found = (checkup.name, checkup.title, checkup.state, checkup.version, checkup.kind)
    assert found == ("kernel mine", "Mine", "ready", __version__, "jupyter")
    assert "with ipykernel 7" in checkup.message


PIP = f"-m pip install jupyter-agentnb=={__version__}"
OLD = f"Mine: it has agentnb 0.0.1, this environment {__version__}"
FOUND: dict[str, tuple[list[str], dict[str, Any], str, str, str | None]] = {
    "without agentnb": (
        [sys.executable, "-I", "-S"], {}, "missing", "Mine: agentnb is not installed in it.",
        f"{sys.executable} -I -S {PIP}",
    ),
    "another version": (["echo agentnb-checkup 0.0.1 7.4"], {}, "old", OLD, f'"{{script}}" {PIP}'),
    "an import error": (
        ["echo one >&2; echo ImportError: libx is gone >&2; exit 1"], {}, "broken",
        "Mine: it cannot import agentnb: ImportError: libx is gone", '"{script}" -c "import agentnb"',
    ),
    "an end without a word": (["exit 4"], {}, "broken", "status 4", '"{script}" -c "import agentnb"'),
    "a deleted environment": (
        ["/no/such/env/bin/python"], {}, "broken",
        "Mine: /no/such/env/bin/python cannot be started: No such file or directory.",
        "jupyter kernelspec remove mine",
    ),
    "another language": (
        ["R"], {"language": "R", "display_name": "R 4"}, "absent",
        "R 4 is not a Python kernel: agentnb does not run in it.", None,
    ),
    "a command of its own": (
        ["bash"], {"argv": ["bash", "start-kernel.sh", "{connection_file}"]}, "absent", "was not tested", None,
    ),
}  # fmt: skip
"""The words that start a kernel (with blanks: a script), what its description adds, and what the doctor says."""


@pytest.mark.parametrize("case", FOUND)
async def test_kernel_that_does_not_work_gets_a_command_to_type(kernel: Kernel, tmp_path: Path, case: str) -> None:
    """With the kernel's own Python, and the last line of its output."""
    words, more, state, message, todo = FOUND[case]
    python = script(tmp_path, words[0]) if " " in words[0] else words[0]
    (checkup,) = await examine_kernels(kernel(python, *words[1:], **more))
    assert (checkup.state, message in checkup.message) == (state, True), checkup.message
    assert checkup.todo == (todo and todo.replace("{script}", python))


async def test_hanging_interpreter_and_its_children_are_killed(kernel: Kernel, tmp_path: Path) -> None:
    ours = str(86_400 + os.getpid())  # each run of these tests sleeps for a different time
    python = script(tmp_path, f"sleep {ours} & wait")
    (checkup,) = await examine_kernels(kernel(python), seconds=1.0)
    assert (checkup.state, checkup.message) == ("broken", "Mine: its Python did not answer within 1 s.")
    assert checkup.todo == f'"{python}" -c "import agentnb"'
    left = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert [words for words in left if python in words or ours in words] == []


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '{"display_name": "x"}', '{"argv": 7}', '{"argv": ["python"], "env": 7}', "\xff"]
)
async def test_invalid_kernel_spec_is_reported(tmp_path: Path, text: str) -> None:
    """It does not affect other kernels."""
    (tmp_path / "kernel.json").write_bytes(text.encode("latin-1"))
    checkups = await examine_kernels({"a b": str(tmp_path), "gone": str(tmp_path / "none")})
    assert [(each.name, each.state) for each in checkups] == [("kernel a b", "broken"), ("kernel gone", "broken")]
    assert checkups[0].todo == "jupyter kernelspec remove 'a b'"
    assert "is not a kernel's description" in checkups[0].message


def test_kernel_python_is_found_in_its_command() -> None:
    """Jupyter's own names mean the Python that runs it; the spec's folder is filled in."""
    for command, python in (
        (["python3", *LAUNCH], [sys.executable]),
        (["{resource_dir}/bin/python", "-m", "ipykernel", "-f", "x"], ["/k/bin/python"]),
        (["conda", "run", "-n", "x", "python", *LAUNCH], ["conda", "run", "-n", "x", "python"]),
        (["python", "-m", "bash_kernel", "-f", "x"], None),
        (["-m", "ipykernel"], None),
        (["python", "-m"], None),
        ([], None),
    ):
        assert interpreter(command, Path("/k")) == python


async def test_kernel_with_the_other_agentnb_gets_a_replace_command(kernel: Kernel, tmp_path: Path) -> None:
    """The package index has another `agentnb` with the same import name; its code must not run."""
    other = tmp_path / "site/agentnb"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("raise RuntimeError('its code runs')", encoding="utf-8")
    (checkup,) = await examine_kernels(kernel(sys.executable, "-B", env={"PYTHONPATH": str(other.parent)}))
    assert (checkup.state, checkup.version) == ("broken", None)
    assert f"a different project with the same import name ({other / '__init__.py'})" in checkup.message
    assert checkup.todo == (
        f"{sys.executable} -B -m pip uninstall --yes agentnb && "
        f"{sys.executable} -B -m pip install --force-reinstall jupyter-agentnb=={__version__}"
    )


async def test_kernel_with_incompatible_packages_is_broken(kernel: Kernel, tmp_path: Path) -> None:
    """Too old or too new ones, and the other project installed next to this one."""
    versions = {"ipython": "8.12.3", "anywidget": "1.0.0", "traitlets": "5.14", "agentnb": "0.3.10"}
    for name, version in versions.items():
        folder = tmp_path / f"site/{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (folder / "METADATA").write_text(text, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path / "site"), str(ROOT)])
    (checkup,) = await examine_kernels(kernel(sys.executable, env={"PYTHONPATH": path}))
    assert (checkup.state, checkup.version) == ("broken", __version__)
    assert "ipython 8.12.3: agentnb works with >=8.18." in checkup.message
    assert "anywidget 1.0.0: agentnb works with " in checkup.message
    assert "traitlets" not in checkup.message
    assert "The distribution agentnb 0.3.10 is installed as well." in checkup.message
    assert checkup.todo == f"{sys.executable} -m agentnb doctor jupyter"
