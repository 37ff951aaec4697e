"""Each kernel is really started, and each problem is reported with a command to fix it."""

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
from agentnb.checkup.packages import examine_kernels, interpreter, registered
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
    assert (checkup.name, checkup.title, checkup.state, checkup.version) == (
        "kernel mine",
        "Mine",
        "ready",
        __version__,
    )
    assert checkup.kind == "jupyter"
    assert "with ipykernel 7" in checkup.message


async def test_kernel_without_agentnb_gets_an_install_command(kernel: Kernel) -> None:
    """With its own Python."""
    (checkup,) = await examine_kernels(kernel(sys.executable, "-I", "-S"))
    assert (checkup.state, checkup.message) == ("missing", "Mine: agentnb is not installed in it.")
    assert checkup.todo == f"{sys.executable} -I -S -m pip install jupyter-agentnb=={__version__}"


async def test_kernel_with_another_agentnb_version_is_reported(kernel: Kernel, tmp_path: Path) -> None:
    """Kernel and page need the same version."""
    python = script(tmp_path, "echo agentnb-checkup 0.0.1 7.4")
    (checkup,) = await examine_kernels(kernel(python))
    assert (checkup.state, checkup.version) == ("old", "0.0.1")
    assert f"it has agentnb 0.0.1, this environment {__version__}" in checkup.message
    assert checkup.todo == f'"{python}" -m pip install jupyter-agentnb=={__version__}'


async def test_kernel_that_cannot_import_agentnb_shows_why(kernel: Kernel, tmp_path: Path) -> None:
    """Shows the last line of its output."""
    says_why = script(tmp_path, "echo one >&2; echo ImportError: libx is gone >&2; exit 1")
    (checkup,) = await examine_kernels(kernel(says_why))
    assert (checkup.state, checkup.message) == ("broken", "Mine: it cannot import agentnb: ImportError: libx is gone")
    (silent,) = await examine_kernels(kernel(script(tmp_path, "exit 4")))
    assert silent.message.endswith("status 4")


async def test_hanging_interpreter_and_its_children_are_killed(kernel: Kernel, tmp_path: Path) -> None:
    ours = str(86_400 + os.getpid())  # each run of these tests sleeps for a different time
    python = script(tmp_path, f"sleep {ours} & wait")
    (checkup,) = await examine_kernels(kernel(python), seconds=1.0)
    assert (checkup.state, checkup.message) == ("broken", "Mine: its Python did not answer within 1 s.")
    assert checkup.todo == f'"{python}" -c "import agentnb"'
    left = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert [words for words in left if python in words or ours in words] == []


async def test_kernel_without_its_python_gets_a_remove_command(kernel: Kernel) -> None:
    """For example after the user deleted an environment."""
    (checkup,) = await examine_kernels(kernel("/no/such/env/bin/python"))
    assert (checkup.state, checkup.todo) == ("broken", "jupyter kernelspec remove mine")
    assert checkup.message == "Mine: /no/such/env/bin/python cannot be started: No such file or directory."


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


async def test_kernel_of_another_language_is_reported_as_absent(kernel: Kernel) -> None:
    (checkup,) = await examine_kernels(kernel("R", language="R", display_name="R 4"))
    assert (checkup.state, checkup.message, checkup.todo) == (
        "absent",
        "R 4 is not a Python kernel: agentnb does not run in it.",
        None,
    )


async def test_kernel_with_a_custom_command_is_not_tested(kernel: Kernel) -> None:
    (checkup,) = await examine_kernels(kernel("bash", argv=["bash", "start-kernel.sh", "{connection_file}"]))
    assert (checkup.state, checkup.todo) == ("absent", None)
    assert "was not tested" in checkup.message


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


def test_jupyter_lists_the_registered_kernels(kernelspecs: Path) -> None:
    assert registered()["ipykernel7"] == os.fspath(kernelspecs / "kernels/ipykernel7")


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
    """An old IPython, and the other project installed next to this one, both in the kernel."""
    for name, version in (("ipython", "8.12.3"), ("agentnb", "0.3.10")):
        folder = tmp_path / f"site/{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (folder / "METADATA").write_text(text, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path / "site"), str(ROOT)])
    (checkup,) = await examine_kernels(kernel(sys.executable, env={"PYTHONPATH": path}))
    assert (checkup.state, checkup.version) == ("broken", __version__)
    assert "ipython 8.12.3: agentnb works with >=8.18." in checkup.message
    assert "The distribution agentnb 0.3.10 is installed as well." in checkup.message
    assert checkup.todo == f"{sys.executable} -m agentnb doctor jupyter"
