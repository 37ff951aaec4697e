"""The inside: no path leads out of the workspace, in any spelling, and even if folders move at the worst moment."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentnb.acp.files import Files
from agentnb.errors import OutsideWorkspace
from agentnb.policy.workspace import WorkspaceBoundary
from agentnb.rpc_message import RpcError
from agentnb.safe_files import open_entry, open_parent
from tests.thorough import examples
from tests.unit.acp.recording_listener import RecordingListener
from tests.unit.policy.decisions import judge, request, situation
from tests.unit.running import run

SECRET = "the secret outside"
TRIES = 400


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with links of every kind, and a secret next to it."""
    root = tmp_path / "work"
    (root / "in/deep").mkdir(parents=True)
    (root / "in/file").write_text("inside")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    (root / "out").symlink_to(outside)
    (root / "in/up").symlink_to("../..")
    (root / "loop").symlink_to("loop")
    (root / "secret").symlink_to(outside / "secret")
    (root / "chain").symlink_to("in/up/outside")
    return root.resolve()


NAMES = st.sampled_from(
    [
        "",
        ".",
        "..",
        "in",
        "out",
        "loop",
        "up",
        "deep",
        "secret",
        "chain",
        "outside",
        "work",
        "file",
        "new",
        "~",
        "*",
        "in\\..",
        " ",
        "…",
    ]
)
PATHS = st.lists(NAMES, max_size=8).map("/".join) | st.text(max_size=12)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


async def tried(root: Path, path: str) -> set[str]:
    """Reads and writes *path* through the service and returns the outcomes; checks that no secret is returned."""
    files, outcomes = Files(WorkspaceBoundary(root), RecordingListener()), set[str]()
    for name, service in (
        ("read", files.read({"path": path})),
        ("write", files.write({"path": path, "content": "written"})),
    ):
        try:
            answer = await service
        except OutsideWorkspace:
            outcomes.add(f"{name} outside")
        except RpcError:
            outcomes.add(f"{name} failed")
        else:
            outcomes.add(name)
            assert SECRET not in answer.get("content", "")
    return outcomes


EVERYTHING = {"read", "write", "read outside", "write outside", "read failed", "write failed"}


def test_no_spelling_of_a_path_leaves_the_workspace(root: Path) -> None:
    """Nothing outside is read or changed; the examples include successful reads and writes."""
    outside, outcomes = root.parent / "outside", set[str]()
    before = tree(outside)

    @settings(max_examples=examples(300))
    @given(path=PATHS, absolute=st.booleans())
    @example(path="in/file", absolute=False)
    @example(path="in/deep/new", absolute=True)
    @example(path="out/secret", absolute=False)
    @example(path="chain/../outside/secret", absolute=True)
    @example(path="in/up/outside/secret", absolute=False)
    @example(path="in/file/x", absolute=False)
    def spelled(path: str, absolute: bool) -> None:
        outcomes.update(run(tried(root, f"{root}/{path}" if absolute else path)))
        assert tree(outside) == before
        assert {each.name for each in root.parent.iterdir()} == {"work", "outside"}

    spelled()
    assert outcomes >= EVERYTHING


LINKS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "in/a", "in/b", "in/in/a"]),
    st.sampled_from(["..", "../..", "../outside", "../../outside", "../outside/secret", "a", "b", "c/a", "in", "in/a"])
    | st.sampled_from([".", "in/../..", "{outside}", "{outside}/secret", "{outside}/new", "/", "../work", "missing/x"]),
    max_size=6,
)
STEPS = st.lists(st.sampled_from(["a", "b", "c", "in", "..", ".", "outside", "secret", "new", "work"]), max_size=7)


def test_no_tree_of_links_leaves_the_workspace(tmp_path: Path) -> None:
    """Real folders with links of every kind, one tree for each example."""
    outcomes, numbers = set[str](), itertools.count()

    @settings(max_examples=examples(250), deadline=None)
    @given(links=LINKS, steps=STEPS)
    @example(links={"a": "../outside"}, steps=["a", "secret"])
    @example(links={"a": "b", "b": "{outside}/new"}, steps=["a"])
    @example(links={"in/a": ".."}, steps=["in", "a", "in", "file"])
    @example(links={"a": "in"}, steps=["a", "new"])
    def grown(links: dict[str, str], steps: list[str]) -> None:
        above = tmp_path / str(next(numbers))
        root, outside = above / "work", above / "outside"
        (root / "in/in").mkdir(parents=True)
        outside.mkdir()
        (root / "in/file").write_text("inside")
        (outside / "secret").write_text(SECRET)
        for name, target in links.items():
            (root / name).symlink_to(target.format(outside=outside))
        before = tree(outside)
        outcomes.update(run(tried(root.resolve(), "/".join(steps))))
        assert tree(outside) == before
        assert {each.name for each in above.iterdir()} == {"work", "outside"}
        assert {each.name for each in outside.iterdir()} == {"secret"}

    grown()
    assert outcomes >= {"read", "write", "read outside", "write outside"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=PATHS)
def test_engine_allows_only_paths_inside_the_workspace(root: Path, path: str) -> None:
    """For any path that an agent names."""
    real = os.path.realpath(f"{root}/{path}".replace("\0", ""))
    verdict = judge(request("permission", asked="edit", paths=(real,)), situation(mode="allow", root=root))
    assert verdict.outcome == "ask" or Path(real).is_relative_to(root)


async def test_folder_swapped_for_a_link_never_leaves_the_workspace(root: Path) -> None:
    """A thread swaps it all the time, during reads and writes."""
    inside, aside, outside = root / "swap", root / "aside", root.parent / "outside"
    inside.mkdir()
    (inside / "secret").write_text("inside")
    stop, swapped = threading.Event(), threading.Event()

    def swap() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError):  # the service may have made the folder meanwhile
                inside.rename(aside)
                inside.symlink_to(outside)
                swapped.set()
            try:
                inside.unlink()
            except OSError:
                shutil.rmtree(inside, ignore_errors=True)
            with contextlib.suppress(OSError):
                aside.rename(inside)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        swapped.wait()
        files, outcomes = Files(WorkspaceBoundary(root), RecordingListener()), set[str]()
        before = tree(outside)
        for number in range(50 * TRIES):
            if number > TRIES and {"read", "write"} < outcomes:
                break
            for name, request in (
                ("read", files.read({"path": "swap/secret"})),
                ("write", files.write({"path": f"swap/new{number % 3}", "content": "written"})),
            ):
                try:
                    answer = await request
                except (OutsideWorkspace, RpcError) as error:
                    outcomes.add(f"{name} refused: {type(error).__name__}")
                else:
                    outcomes.add(name)
                    assert SECRET not in answer.get("content", "")
    finally:
        stop.set()
        thread.join()
    assert tree(outside) == before
    assert {"read", "write"} <= outcomes
    assert any("refused" in outcome for outcome in outcomes)


def test_folder_replaced_by_a_link_after_the_check_is_refused(root: Path) -> None:
    """This is the exact moment that a race must hit."""
    path = WorkspaceBoundary(root).resolve("in/file")
    (root / "in").rename(root / "was")
    (root / "in").symlink_to(root.parent / "outside")
    with pytest.raises(OutsideWorkspace, match="no longer leads"), open_parent(root, path):
        pass
    with pytest.raises(OutsideWorkspace, match="no longer leads"), open_parent(root, root / "in/new/x", make=True):
        pass


def test_file_swapped_for_a_link_is_not_opened(root: Path) -> None:
    """The last path component is checked too."""
    with open_parent(root, root / "secret") as folder, pytest.raises(OutsideWorkspace, match="no longer leads"):
        open_entry(folder, "secret", os.O_RDONLY, root / "secret")
