"""Shared by all tests: a temporary home, the kernels under test, the reference data next to the checkout."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.named_skips import watch_skips
from tests.thorough import examples, leave_out

ROOT = Path(__file__).parents[1]
IPYKERNEL6 = Path(os.environ.get("AGENTNB_IPYKERNEL6", ROOT / ".venv-ipykernel6/bin/python"))
KERNELS = {"ipykernel7": Path(sys.executable), "ipykernel6": IPYKERNEL6}

settings.register_profile("agentnb", deadline=None, derandomize=True, max_examples=examples(100))
settings.load_profile("agentnb")


def pytest_configure(config: pytest.Config) -> None:
    """Makes CI fail a skip without a named reason."""
    watch_skips(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keeps collected objects out of garbage collection: they live until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves thorough tests to ``make test-all``."""
    leave_out(config, items)


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A temporary home: no test reads or changes the user's files."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith(("JUPYTER", "IPYTHON", "AGENTNB_", "XDG_"))]:
            if name not in (
                "AGENTNB_BATCHES",
                "AGENTNB_BATCH_ANSWERED",
                "AGENTNB_BATCH_ASKED",
                "AGENTNB_CASES",
                "AGENTNB_CHROMIUM",
                "AGENTNB_IPYKERNEL6",
                "AGENTNB_PEERS",
                "AGENTNB_PLUGINS",
                "AGENTNB_REPLAYS",
                "AGENTNB_SHARED",
            ):
                environment.delenv(name)
        for name in ("PYTHONASYNCIODEBUG", "PYTHONDEVMODE"):  # child processes would report slow callbacks on stderr
            environment.delenv(name, raising=False)
        environment.setenv("HOME", str(folder))
        environment.setenv("IPYTHONDIR", str(folder / "ipython"))
        environment.setenv("JUPYTER_CONFIG_DIR", str(folder / "jupyter/config"))
        environment.setenv("JUPYTER_CONFIG_PATH", str(folder / "jupyter/site"))
        environment.setenv("JUPYTER_DATA_DIR", str(folder / "jupyter/data"))
        environment.setenv("JUPYTER_RUNTIME_DIR", str(folder / "jupyter/runtime"))
        environment.setenv("JUPYTER_PLATFORM_DIRS", "1")
        yield folder


@pytest.fixture(scope="session")
def kernelspecs(home: Path) -> Path:
    """The data folder with the kernels ``ipykernel7`` and, if installed, ``ipykernel6``."""
    data = home / "jupyter/data"
    for name, python in KERNELS.items():
        if python.exists():
            folder = data / "kernels" / name
            folder.mkdir(parents=True)
            argv = [str(python), "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            spec = {"argv": argv, "display_name": name, "language": "python", "metadata": {"debugger": False}}
            (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    return data


@pytest.fixture(params=list(KERNELS))
def kernel_name(request: pytest.FixtureRequest, kernelspecs: Path) -> str:
    """Each of the kernels in turn."""
    name = str(request.param)
    if not (kernelspecs / "kernels" / name).exists():
        pytest.skip(f"no {name}: {KERNELS[name]} is missing; `make test-kernel` makes it")
    return name


@pytest.fixture(scope="session")
def shared() -> Path:
    """The reference data next to the checkout (``AGENTNB_SHARED``)."""
    folder = Path(os.environ.get("AGENTNB_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no reference data at {folder} (AGENTNB_SHARED)")
    return folder
