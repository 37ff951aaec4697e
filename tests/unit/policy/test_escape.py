"""The wall: no path, however it is spelled and whoever moves folders meanwhile, leads out of the workspace."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentnb.acp.failure import RpcError
from agentnb.acp.files import Files
from agentnb.errors import OutsideWorkspace
from agentnb.policy import Door, Situation, Workspace, judge
from agentnb.policy.beneath import folder_of, open_in
from tests.unit.acp.ear import Ear
from tests.unit.running import run

SECRET = "the secret outside"
TRIES = 400


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with links of every kind, and a secret beside it."""
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
    """What is in *folder*."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(path=PATHS, absolute=st.booleans())
def test_no_spelling_of_a_path_leads_out(root: Path, path: str, absolute: bool) -> None:
    """Read and written through the service: what is outside is neither told nor touched."""
    outside = root.parent / "outside"
    before = tree(outside)
    named = f"{root}/{path}" if absolute else path

    async def both() -> None:
        files = Files(Workspace(root), Ear())
        for request in (files.read({"path": named}), files.write({"path": named, "content": "written"})):
            try:
                answer = await request
            except (OutsideWorkspace, RpcError):
                continue
            assert SECRET not in answer.get("content", "")

    run(both())
    assert tree(outside) == before
    assert {each.name for each in root.parent.iterdir()} == {"work", "outside"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=PATHS)
def test_what_the_engine_allows_unasked_is_inside(root: Path, path: str) -> None:
    """Whatever an agent says that it works on."""
    real = os.path.realpath(f"{root}/{path}".replace("\0", ""))
    door = Door(kind="permission", title="x", asked="edit", paths=(real,))
    verdict = judge(door, Situation(agent="a", mode="allow", root=root))
    assert verdict.outcome == "ask" or Path(real).is_relative_to(root)


async def test_a_folder_that_is_swapped_for_a_link_never_leads_out(root: Path) -> None:
    """Somebody swaps it all the time, while it is read and written."""
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
        files, outcomes = Files(Workspace(root), Ear()), set[str]()
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


def test_a_link_put_on_the_way_after_the_look_is_noticed(root: Path) -> None:
    """The very moment that a race would have to hit."""
    path = Workspace(root).resolve("in/file")
    (root / "in").rename(root / "was")
    (root / "in").symlink_to(root.parent / "outside")
    with pytest.raises(OutsideWorkspace, match="no longer leads"), folder_of(root, path):
        pass
    with pytest.raises(OutsideWorkspace, match="no longer leads"), folder_of(root, root / "in/new/x", make=True):
        pass


def test_a_file_swapped_for_a_link_is_not_opened(root: Path) -> None:
    """The last component, too."""
    with folder_of(root, root / "secret") as folder, pytest.raises(OutsideWorkspace, match="no longer leads"):
        open_in(folder, "secret", os.O_RDONLY, root / "secret")


async def test_a_rule_of_the_users_opens_the_wall(root: Path) -> None:
    """For what it names, and nothing else."""
    ear = Ear()
    ear.opened = str(root.parent / "outside")
    files = Files(Workspace(root), ear)
    assert await files.read({"path": "out/secret"}) == {"content": SECRET}
    await files.write({"path": str(root.parent / "outside/made/x"), "content": "y"})
    assert (root.parent / "outside/made/x").read_text() == "y"
    with pytest.raises(OutsideWorkspace):
        await files.read({"path": "../other"})


@settings(max_examples=300)
@given(
    st.text(max_size=30)
    | st.lists(st.sampled_from(["rm -rf ~", ";", "'", '"', "$(", ")", "`", "|", "\n", "a", "\\", "#"])).map("".join)
)
def test_no_command_is_allowed_without_being_read(command: str) -> None:
    """What cannot be read asks; what can, and deletes a home, asks too; nothing raises."""
    verdict = judge(Door(kind="terminal", title="x", command=command), Situation(agent="a", mode="allow"))
    if verdict.floor == "unreadable":
        assert (verdict.outcome, verdict.severity) == ("ask", "high")
    if any("rm -rf" in (subject.command or "") and "'" not in (subject.command or "") for subject in verdict.subjects):
        assert verdict.outcome == "ask"
