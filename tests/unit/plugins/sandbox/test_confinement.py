"""Agents are confined: they and their children read and change only what they need.

The inside: hostile programs run in the confinement itself, also in ways of confining that this machine does not choose.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentnb.agent.catalog import custom
from agentnb.agent.confinement import LONGEST_TEXT, Confine, Needs, RefusedAccess, refused_accesses
from agentnb.agent.process import SpawnedAgent
from agentnb.plugins.sandbox.confinement import (
    Confinement,
    bubblewrap,
    bubblewrap_here,
    confinement_of,
    profile,
    way_here,
)
from agentnb.plugins.sandbox.readable_paths import confined_variables, readable_paths, repository_of
from tests.confinement_here import needs_landlock
from tests.conftest import ROOT
from tests.other_users import open_to_all
from tests.unit.agent.test_installation import needs_npm
from tests.unit.plugins.around import around

_SECRET = "hunter2-is-the-secret"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes a workspace below a home folder with a secret and another project."""
    return _project(tmp_path, monkeypatch)


@pytest.fixture
def reachable_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Makes the same in a folder that other users can reach."""
    with open_to_all() as home:
        yield _project(home, monkeypatch)


def _project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(home))
    for name in (".ssh", "other", "project", ".mine"):
        (home / name).mkdir()
    (home / ".ssh" / "id_test").write_text(_SECRET)
    (home / "other" / "notes.txt").write_text(_SECRET)
    return home / "project"


def confined(
    folder: Path, confine: Confine, *words: str, needs: Needs | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Runs *words* confined, with *env* added to this environment."""
    env = {**os.environ, **env}
    command = confinement_of(needs or Needs(), words[0], folder, confine, env).command(words)
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)


@needs_landlock
def test_confined_agent_works_in_its_workspace_and_state(folder: Path) -> None:
    """It reads the system, writes the workspace, further folders and its state, starts programs, opens a terminal."""
    further = folder.parent / "further"
    further.mkdir()
    command = "echo 1 > a; mkdir b; mv a b/a; echo 2 > ~/.mine/x; echo 3 > ~/.new/y; echo 4 > ../further/z; ls /usr"
    needs = Needs(writes=("~/.mine/", "~/.new/"))
    done = confined(
        folder, Confine(directories=(str(further),)), "/bin/sh", "-ec", f"{command}; git --version", needs=needs
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [(folder / "b/a").read_text(), (further / "z").read_text()] == ["1\n", "4\n"]
    assert (folder.parent / ".new/y").read_text() == "3\n"
    terminal = "import os; one, other = os.openpty(); os.write(other, b'x'); print(os.isatty(other), os.read(one, 1))"
    assert confined(folder, Confine(), sys.executable, "-c", terminal).stdout == "True b'x'\n"


@needs_landlock
def test_confined_agent_uses_git_without_reading_passwords(folder: Path) -> None:
    """Git fails if it may not read the user's settings."""
    home = folder.parent
    (home / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    (home / ".git-credentials").write_text(_SECRET)
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/credentials").write_text(_SECRET)
    command = "git init -q . && echo x > f && git add f && git commit -qm one && git log --format=%an"
    done = confined(folder, Confine(), "/bin/sh", "-c", f"{command}; cat ~/.git-credentials ~/.config/git/credentials")
    assert done.stdout == "Ada\n"
    assert done.stderr.count("Permission denied") == 2


@needs_landlock
def test_confined_agent_runs_programs_behind_shims(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with pyenv: a script on the PATH runs a program beside its folder."""
    for name, text in {"shims/tool": 'exec "$(dirname "$0")/../libexec/tool"', "libexec/tool": "echo ran"}.items():
        program = folder.parent / ".shimmed" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder.parent}/.shimmed/shims{os.pathsep}{os.environ['PATH']}")
    assert confined(folder, Confine(), "/bin/sh", "-c", "tool").stdout == "ran\n"


@needs_landlock
def test_confined_agent_has_no_access_to_other_files(folder: Path) -> None:
    """It has no access to the user's keys, other projects and shell start-up files; nor have its children."""
    commands = (
        *("cat ~/.ssh/id_test", "cat ../other/notes.txt", "echo x >> ~/.bashrc", "ls ~"),
        *("echo x > /tmp/agentnb-x", "touch /etc/x"),
    )
    tries = "; ".join(f"sh -c {command!r} && echo allowed {command!r}" for command in commands)
    done = confined(folder, Confine(), "/bin/sh", "-c", tries)
    assert done.stdout == ""
    assert done.stderr.count("denied") + done.stderr.count("Read-only file system") == len(commands)


@pytest.fixture
def terminal() -> Iterator[str]:
    """Yields the path of another user's terminal."""
    one, other = os.openpty()
    yield os.ttyname(other)
    os.close(one)
    os.close(other)


@pytest.fixture
def shared_memory() -> Iterator[int]:
    """Yields the key of another process's System V shared memory."""
    libc, key = ctypes.CDLL(None), 0x5A000000 | (os.getpid() & 0xFFFFFF)
    number = libc.shmget(key, 4096, 0o1600)  # IPC_CREAT
    yield key
    libc.shmctl(number, 0, None)  # IPC_RMID


@needs_landlock
def test_confined_agent_cannot_escape(folder: Path, terminal: str, shared_memory: int) -> None:
    """It reaches no file outside, secret, server, process, device, terminal, shared memory or Unix socket."""
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    datagrams.bind(str(folder.parent / "datagrams"))
    datagrams.setblocking(False)
    with around(folder) as words:
        words += [str(folder.parent / "datagrams"), terminal, str(shared_memory)]
        script = folder / "escapes.py"
        script.write_text((ROOT / "tests/agents/escapes.py").read_text())
        done = confined(folder, Confine(network="none"), sys.executable, "-I", str(script), *words)
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("ESCAPED")] == []
    assert lines[-1:] == ["done"], done.stderr
    with datagrams, pytest.raises(BlockingIOError):
        datagrams.recv(1)


_ORDINARY_USER = 65534
_SYSTEM_PYTHON = "/usr/bin/python3"


@needs_landlock
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(not os.access(_SYSTEM_PYTHON, os.X_OK), reason="another user may not run this Python")
@pytest.mark.parametrize("has_namespaces", [True, False], ids=["with namespaces", "without namespaces"])
def test_confined_agent_of_an_ordinary_user_has_only_known_gaps(
    reachable_folder: Path, terminal: str, shared_memory: int, *, has_namespaces: bool
) -> None:
    """Without a separate file system, the summary names what Landlock does not check."""
    folder = reachable_folder
    home, outside, own = folder.parent, folder.parent / "outside.txt", folder.parent / "own"
    outside.write_text("kept")
    shutil.copytree(ROOT / "agentnb/plugins/sandbox", own / "agentnb/plugins/sandbox")
    for package in ("agentnb", "agentnb/plugins"):
        (own / package / "__init__.py").touch()
    for name in ("processes", "system_calls"):
        shutil.copy(ROOT / f"agentnb/{name}.py", own / "agentnb")
    for name in ("escapes", "without_namespaces"):
        shutil.copy(ROOT / f"tests/agents/{name}.py", own)

    ordinary: Any = {"user": _ORDINARY_USER, "group": _ORDINARY_USER, "extra_groups": ()}
    datagrams, unix, tcp = (socket.socket(*kind) for kind in ((1, 2), (1,), (2,)))
    with datagrams, unix, tcp, subprocess.Popen(["sleep", "1000"], **ordinary) as other:
        datagrams.bind(str(home / "datagrams"))
        unix.bind(str(home / "socket"))
        unix.listen()
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        for path in (Path(terminal), home, *home.rglob("*")):
            os.chown(path, _ORDINARY_USER, _ORDINARY_USER)
        made = confinement_of(Needs(reads=(str(own),)), _SYSTEM_PYTHON, folder, Confine(network="none"), os.environ)
        words = [str(outside), str(home / ".ssh/id_test"), str(tcp.getsockname()[1]), str(home / "socket"), "none"]
        words += [str(other.pid), str(home / "datagrams"), terminal, str(shared_memory)]
        command = made.command([_SYSTEM_PYTHON, "-I", str(own / "escapes.py"), *words])
        command[0], command[3] = _SYSTEM_PYTHON, str(own / "agentnb/plugins/sandbox/confined_program.py")
        prefix = [] if has_namespaces else [_SYSTEM_PYTHON, str(own / "without_namespaces.py")]
        env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": str(own)}
        started: Any = {"cwd": folder, "env": env, "capture_output": True, "text": True, "timeout": 300, **ordinary}
        done = subprocess.run([*prefix, *command], check=False, **started)
        other.kill()
    if done.returncode == 77:
        pytest.skip(f"namespaces cannot be forbidden here: {done.stderr.strip()}")
    escaped = {line.removeprefix("ESCAPED ") for line in done.stdout.splitlines() if line.startswith("ESCAPED")}
    kinds = {"permissions outside", "times outside", "attributes outside", "other terminal", "keys of another terminal"}
    assert done.stdout.splitlines()[-1:] == ["done"], done.stderr
    assert escaped == (set() if has_namespaces else kinds)
    assert outside.read_text() == "kept"


@needs_landlock
def test_confinement_names_gaps_when_namespaces_are_missing(folder: Path) -> None:
    """The session's summary and `agentnb doctor` name it."""
    code = """
import os
from pathlib import Path
from agentnb.agent.confinement import Confine, Needs, unchecked_here
from agentnb.plugins.sandbox.confinement import confinement_of
from agentnb.checkup.files import confinement
print(confinement_of(Needs(), "/bin/sh", Path.cwd(), Confine(), os.environ).summary)
print(confinement("on", "Landlock", "", unchecked_here()).message)
"""
    program, env = str(ROOT / "tests/agents/without_namespaces.py"), {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, program, sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == 77:
        pytest.skip(f"namespaces cannot be forbidden here: {done.stderr.strip()}")
    named = "permissions, times and attributes of your other files; your other terminals"
    never = "when your other files change (inotify); your other programs' command lines"
    summary, doctor = done.stdout.splitlines() or ("", done.stderr)
    assert summary.endswith(f"can write only to this folder (not checked on this system: {named})")
    assert doctor.endswith(f"Not checked on this system: {named}. Never checked: {never}.")


@pytest.mark.parametrize(
    ("about", "summary"),
    [
        ({"has_settings": True}, "can write only to this folder and its own settings"),
        (
            {"directories": ("~/data",), "has_settings": True, "network": "none"},
            "can write only to this folder, ~/data and its own settings, in a sandbox without network",
        ),
        ({"network": ("pypi.org",)}, "can write only to this folder, and reaches only pypi.org"),
    ],
)
def test_confinement_summary_lists_what_is_allowed(about: dict[str, Any], summary: str) -> None:
    assert Confinement(way="Landlock", read=(), write=(), **about).summary == summary


def test_agent_that_cannot_be_confined_does_not_start(folder: Path) -> None:
    assert way_here(2)[0] != "Landlock"
    if sys.platform == "linux" and way_here(2)[0] is None:
        assert way_here(2)[1].startswith("the kernel's Landlock has version 2, 3 is needed (Linux 6.2)")
    broken = Confinement(way="Landlock", read=(), write=())
    done = subprocess.run(broken.command(["true"]), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in {126, 127}
    assert done.stderr.endswith(".\n")


@needs_landlock
def test_confined_agent_only_reads_the_git_repository_around_it(folder: Path) -> None:
    """It reads the repository that its workspace is a folder or worktree of, and does not change it."""
    git = "git -c user.name=Ada -c user.email=ada@example.org"
    notebooks, tree = folder / "notebooks", folder.parent / "tree"
    made = f"git init -q . && echo x > f && git add f && {git} commit -qm one && mkdir notebooks && "
    made += f"git worktree add {tree}"
    subprocess.run(["/bin/sh", "-ec", made], cwd=folder, check=True, capture_output=True)
    for each in (notebooks, tree):
        done = confined(
            each, Confine(), "/bin/sh", "-c", f"git log --format=%s && git status -s; {git} commit -qam two"
        )
        assert done.stdout == "one\n"
        assert str(folder / ".git") in done.stderr
    assert confined(notebooks, Confine(), "/bin/sh", "-c", "cat ../f").stdout == "x\n"


def test_workspace_cannot_choose_its_own_git_repository(folder: Path) -> None:
    """An agent can write its workspace's ``.git`` file: only a repository that knows this worktree counts."""
    assert repository_of(folder, folder.parent) == []
    (folder / ".git").write_text(f"gitdir: {folder.parent}/.ssh\n")
    assert repository_of(folder, folder.parent) == []
    (folder / ".git").write_text(f"gitdir: {folder}/fake/x\n")
    (folder / "fake/x").mkdir(parents=True)
    (folder / "fake/x/gitdir").write_text(f"{folder.parent}/elsewhere/.git\n")
    assert repository_of(folder, folder.parent) == []
    (folder / ".git").unlink()
    (folder.parent / ".git").mkdir()  # the home folder is a repository
    assert repository_of(folder, folder.parent) == []


@needs_landlock
@pytest.mark.parametrize("is_linked", [False, True], ids=["installed", "linked"])
def test_confined_agent_imports_modules_from_pythonpath(folder: Path, *, is_linked: bool) -> None:
    """Clusters keep packages in separate folders; also if that folder only links to them."""
    modules, store = folder.parent / "modules", folder.parent / "store/lib/site-packages"
    place = store if is_linked else modules
    modules.mkdir()
    (place / "kept").mkdir(parents=True)
    (place / "kept/__init__.py").write_text("print('imported')")
    if is_linked:
        (modules / "kept").symlink_to(store / "kept")
    words = (sys.executable, "-c", "import kept")
    done = confined(folder, Confine(), *words, PYTHONPATH=f"{modules}{os.pathsep}")
    assert (done.stdout, done.stderr) == ("imported\n", "")


@needs_landlock
def test_confined_agent_reads_libraries_on_ld_library_path(folder: Path) -> None:
    """As after ``module load`` on clusters; the home folder is not a folder of libraries."""
    library = folder.parent / "apps/libffi/lib"
    library.mkdir(parents=True)
    (library / "libffi.so.8").write_text("read")
    env = {**os.environ, "LD_LIBRARY_PATH": f"{library}{os.pathsep}{folder.parent}{os.pathsep}"}
    made = confinement_of(Needs(), "/bin/sh", folder, Confine(), env)
    command = made.command(["/bin/sh", "-c", f"cat {library}/libffi.so.8; cat {folder.parent}/.ssh/id_test"])
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, "denied" in done.stderr) == ("read", True)


def test_links_on_pythonpath_give_access_only_to_packages(folder: Path) -> None:
    """It could have made the links itself; and the home folder is not a folder of modules."""
    home = folder.parent
    (folder / "keys").symlink_to(home / ".ssh")
    (folder / "id_test").symlink_to(home / ".ssh/id_test")
    for path in (folder, home, home.parent, "", "modules"):
        read = {*readable_paths("/bin/sh", folder, {"PYTHONPATH": str(path)}, home)}
        assert not {str(home / ".ssh"), str(home / ".ssh/id_test"), str(home), str(home.parent), "modules"} & read


@needs_landlock
def test_confined_agent_reads_files_named_by_its_mcp_servers(tmp_path: Path) -> None:
    """A script with the files beside it, or a folder; not hidden folders in the home, nor all of the home."""
    home = tmp_path / "home"
    data, hidden, script = home / "data", home / ".ssh", home / "servers/server.py"
    for each in (data, hidden, script.parent):
        each.mkdir(parents=True)
    script.touch()
    link = tmp_path / "link.py"
    link.symlink_to(hidden / "id")
    (hidden / "id").touch()
    words = ("sh", str(script), str(data), str(hidden), str(link), str(home), "/", "--root", "data")
    read = {*readable_paths("/bin/sh", tmp_path, {}, home, [words])}
    assert {str(script), str(script.parent), str(data)} <= read
    assert not {str(hidden), str(hidden / "id"), str(link), str(home), str(tmp_path), "/"} & read


def test_confined_agent_uses_folders_named_by_variables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples are ``CLAUDE_CONFIG_DIR``, ``XDG_STATE_HOME`` and agentnb's own folders."""
    for name in ("moved", "state", "settings", "kept"):
        (folder.parent / name).mkdir()
    (folder.parent / "settings/local.toml").write_text("model = 1")
    for name, where in {"MINE": "moved", "XDG_STATE_HOME": "state", "AGENTNB_CONFIG_DIR": "settings"}.items():
        monkeypatch.setenv(name, str(folder.parent / where))
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(folder.parent / "kept"))
    needs = Needs(
        writes=("~/.local/state/mine/", "{data}/mine/"), reads=("{config}/local.toml",), variables=("MINE", "OTHER")
    )
    command = "echo 1 > ../moved/a; echo 2 > ../state/mine/b; echo 3 > ../kept/mine/c; cat ../settings/local.toml"
    done = confined(folder, Confine(), "/bin/sh", "-ec", command, needs=needs)
    assert (done.returncode, done.stdout, done.stderr) == (0, "model = 1", "")
    assert confined(folder, Confine(), "/bin/sh", "-ec", "echo 1 > ../kept/d", needs=needs).returncode != 0


def test_caches_are_temporary_when_no_folder_can_be_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container without a home is an example."""
    (folder / "file").write_text("")
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(folder / "file"))
    own, variables = confined_variables("mine", folder, {"PIP_CACHE_DIR": "/given"})
    assert own == folder
    assert variables["UV_CACHE_DIR"] == str(folder / "uv")
    assert "PIP_CACHE_DIR" not in variables
    assert "UV_TOOL_DIR" not in variables
    assert "UV_TOOL_DIR" in confined_variables("mine", folder, {}, runner="uvx")[1]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.skipif(not bubblewrap_here()[1], reason="bubblewrap can make no namespaces here")
def test_bubblewrap_limits_an_agent_to_its_workspace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For kernels without Landlock: programs run, workspace files are written, all else is absent."""
    monkeypatch.setenv("TMPDIR", str(folder.parent / ".mine"))
    made = confinement_of(Needs(), "/bin/sh", folder, Confine(network="none"), os.environ, by="bubblewrap")
    command = (
        "git --version >&2; echo 1 > a; mktemp >&2; cat ../.ssh/id_test; cat ../other/notes.txt; echo x >> ~/.bashrc;"
        f" echo x > /usr/x; kill -0 {os.getpid()} && echo signalled; grep -c : /proc/net/dev"
    )
    words = made.command(["/bin/sh", "-c", command])
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "1\n", done.stderr  # only the loopback interface
    assert done.stderr.startswith("git version")
    assert str(folder.parent / ".mine/tmp.") in done.stderr
    assert done.stderr.count("No such file or directory") == 2
    assert "/usr/x: Read-only file system" in done.stderr
    assert (folder / "a").read_text() == "1\n"
    assert not (folder.parent / ".bashrc").exists()
    assert refused_accesses(done.stderr, made, str(folder.parent)) == (RefusedAccess("/usr/x", "writing"),)


def test_bubblewrap_and_macos_profile_have_the_same_limits() -> None:
    """The arguments of bubblewrap and the profile of macOS name the readable and writable paths, and the network."""
    confinement = Confinement(way="bubblewrap", read=("/usr",), write=('/w "s"', "/dev/null"), network="none")
    words = bubblewrap(confinement)
    bound = ["--ro-bind-try", "/usr", "/usr", "--bind-try", '/w "s"', '/w "s"']
    assert words[-9:] == [*bound, "--remount-ro", "/", "--"]
    assert "--unshare-net" in words
    assert "--unshare-net" not in bubblewrap(replace(confinement, network="all"))
    text = profile(confinement)
    assert '(allow file-write* (subpath "/w \\"s\\"") (subpath "/dev/null"))' in text
    assert "network" not in text
    assert "(allow network*)" in profile(replace(confinement, network="all"))


@needs_npm
@needs_landlock
async def test_confined_npm_uses_the_mirror_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real npm runs confined; it cannot read the file with the login."""
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / ".npmrc").write_text("registry=https://mirror.example.org/npm/\n", encoding="utf-8")
    for name in [each for each in os.environ if each.lower().startswith("npm_config_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    spec = custom(["npm", "config", "get", "registry"])
    output, ended = bytearray(), asyncio.Event()
    process = await SpawnedAgent.spawn(spec, work, confine=Confine(), on_output=output.extend, on_end=ended.set)
    await asyncio.wait_for(ended.wait(), 60)
    await process.stop()
    assert output.decode().strip() == "https://mirror.example.org/npm/"


CONFINED = Confinement(way="Landlock", read=("/usr", "/etc"), write=("/home/ada/work", "/dev/null"))
HOME = "/home/ada"


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("sh: 1: cannot create /home/ada/.bashrc: Permission denied", [("~/.bashrc", "writing")]),
        ("bash: line 1: /home/ada/.bashrc: Permission denied", []),
        ("bash: line 1: /home/ada/.env: Permission denied", [("~/.env", "using")]),
        ("cat: ../other/notes.txt: Permission denied", [("~/other/notes.txt", "using")]),
        ("cat: '/home/ada/.ssh/id': Permission denied", [("~/.ssh/id", "using")]),
        ("Error: EACCES: permission denied, mkdir '/home/ada/.npm'", [("~/.npm", "writing")]),
        ("PermissionError: [Errno 13] Permission denied: '/data/a.csv'", [("/data/a.csv", "using")]),
        ("touch: cannot touch '/etc/x': Permission denied", [("/etc/x", "writing")]),
        ("cat: /etc/shadow: Permission denied", []),
        ("sh: 1: cannot create /home/ada/work/a: Permission denied", []),
        ("git@github.com: Permission denied (publickey).", []),
        ("/home/ada/.bashrc is fine", []),
        ("", []),
    ],
)
def test_refused_accesses_are_found_in_program_output(printed: str, expected: list[tuple[str, str]]) -> None:
    """Only paths outside the confinement count: others were refused by something else."""
    assert [tuple(each) for each in refused_accesses(printed, CONFINED, HOME)] == expected


def test_number_of_refused_accesses_is_limited() -> None:
    """Each counts once; only the end of a long text is read."""
    same = "cat: /data/x: Permission denied\n"
    many = "".join(f"cat: /data/{number}: Permission denied\n" for number in range(100))
    assert len(refused_accesses(same * 50, CONFINED, HOME)) == 1
    assert len(refused_accesses(many, CONFINED, HOME)) == 20
    assert refused_accesses(same + "x" * LONGEST_TEXT, CONFINED, HOME) == ()
