"""The inside: the memory that a container's control groups leave, in files as Linux writes them, and a real group."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentnb.memory import CGROUPS, free_in_container
from tests.conftest import ROOT

MB = 1_000_000
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
V2 = ("memory.max", "memory.current", "inactive_file")
UNLIMITED = {V1: "9223372036854771712", V2: "max"}


def group(folder: Path, names: tuple[str, str, str], limit: int | None, used: int, file_pages: int = 0) -> None:
    """Writes the files of one control group."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{UNLIMITED[names] if limit is None else limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {file_pages}\ninactive_anon 7\n")


@pytest.fixture(params=[V2, V1], ids=["version 2", "version 1"])
def names(request: pytest.FixtureRequest) -> tuple[str, str, str]:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def tree(tmp_path: Path, names: tuple[str, str, str]) -> Path:
    """The folder of groups with memory limits."""
    return tmp_path if names is V2 else tmp_path / "memory"


def free(tmp_path: Path, path: str) -> int | None:
    """Returns the memory that the groups leave to a process in the group *path*, in both versions."""
    own = tmp_path / "own"
    own.write_text(f"12:pids:/\n4:cpu,memory:{path}\n3:name=systemd:/a:b\nnonsense\n0::{path}\n")
    return free_in_container(tmp_path, own)


Group = tuple[str, int | None, int, int]
"""A group's path, its limit, the memory in use, and file pages in it, in megabytes."""
GROUPS: dict[str, tuple[list[Group], str, int]] = {
    "a limit": ([("", None, 900, 0), ("pod/app", 500, 300, 120)], "/pod/app", 320),
    "a lower limit of a parent": ([("pod", 500, 450, 0), ("pod/app", 400, 100, 0)], "/pod/app", 50),
    "only the root is visible, as in Docker": ([("", 256, 100, 0)], "/docker/0f3a91c2", 156),
    "more in use than allowed": ([("", 100, 130, 0)], "/", 0),
}


@pytest.mark.parametrize("case", GROUPS)
def test_free_memory_is_the_limit_minus_use_without_file_pages(
    tmp_path: Path, tree: Path, names: tuple[str, str, str], case: str
) -> None:
    groups, path, left = GROUPS[case]
    for name, limit, used, pages in groups:
        group(tree / name, names, None if limit is None else limit * MB, used * MB, pages * MB)
    assert free(tmp_path, path) == left * MB


def test_free_memory_is_unknown_without_a_readable_limit(
    tmp_path: Path, tree: Path, names: tuple[str, str, str]
) -> None:
    assert free_in_container(tmp_path, tmp_path / "missing") is None
    group(tree / "app", names, None, 100 * MB)
    assert free(tmp_path, "/app") is None
    (tree / "app" / names[0]).write_text("much\n")
    assert free(tmp_path, "/app") is None
    assert free(tmp_path, "/../../outside") is None


READ = "from agentnb.memory import available_memory, free_in_container; print(free_in_container(), available_memory())"


@contextlib.contextmanager
def real_group(limit: int) -> Iterator[Path]:
    """A group with a limit below this process's group, if the machine allows it."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    first = next((path for _, controllers, path in lines if "memory" in controllers.split(",")), None)
    last = next((path for _, controllers, path in lines if controllers == ""), "/")
    names, root, own = (V2, CGROUPS, last) if first is None else (V1, CGROUPS / "memory", first)
    folder = root / own.strip("/") / f"agentnb-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"this machine lets us make no control group: {error.strerror}")
    try:
        try:
            (folder / names[0]).write_text(str(limit))
        except OSError as error:
            pytest.skip(f"this machine lets us make no control group: {error.strerror}")
        yield folder
    finally:
        folder.rmdir()


@pytest.mark.skipif(not CGROUPS.is_dir(), reason="Linux only: control groups")
def test_free_memory_in_a_real_group_is_below_its_limit() -> None:
    limit = 200 * MB
    with real_group(limit) as folder:
        enter = f"open({str(folder / 'cgroup.procs')!r}, 'w').write('0')"
        code = f"{enter}\n{READ}"
        ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    free_here, available = map(int, ran.stdout.split())
    assert free_here < limit
    assert available <= free_here + MB  # memory in use changes by some pages between readings
