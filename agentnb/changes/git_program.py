"""Runs the git program on a private repository, unaffected by the project's repository and the user's settings.

The repository is a folder of ours (``GIT_DIR``); the workspace is only its work tree. So git never reads the project's
hooks, filters, file system monitor and aliases. ``info/attributes`` overrides every ``.gitattributes`` in the
workspace, so every file is stored byte by byte.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from agentnb.changes.coverage import TooSlow, ignores_case, read_file
from agentnb.changes.ignore import MOST_BYTES, IgnoreRule, matches_name, read_rules
from agentnb.errors import ChangesError, ChangesUnavailable
from agentnb.safe_files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


OLDEST = (2, 30)  # the oldest version of git that is used

ANSWER_SECONDS = 120.0  # seconds that one run of git may take; after that, it counts as hanging

_CONFIG = """\
# agentnb writes this file; it is read by no repository of yours.
[core]
\trepositoryformatversion = 0
\tbare = false
\tfileMode = true
\tsymlinks = true
\tignoreCase = {ignore_case}
\tautocrlf = false
\tsafecrlf = false
\thooksPath = /dev/null
\tfsmonitor = false
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tuntrackedCache = false
\tsplitIndex = false
\tpreloadIndex = true
\tprecomposeUnicode = false
\tprotectHFS = false
\tprotectNTFS = false
\tsharedRepository = 0600
\tlogAllRefUpdates = false
\tcompression = 1
\tlooseCompression = 1
[index]
\tthreads = true
\tversion = 4
[gc]
\tauto = 0
[maintenance]
\tauto = false
[submodule]
\trecurse = false
[pack]
\twriteBitmaps = false
\tcompression = 1
\twindow = 4
\tdepth = 10
\tthreads = 1
"""
_ATTRIBUTES = (
    "* -text -crlf !eol -filter -ident !working-tree-encoding !diff !merge !export-ignore !export-subst !delta\n"
)
_PASSED_ON = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_HIGHEST = 40  # most folders searched above the workspace


class GitFailed(ChangesError):
    """A run of git ended with an error; ``str`` says what git said."""


class InstalledGit(NamedTuple):
    path: str
    version: tuple[int, int]


def find_git(workspace: Path) -> InstalledGit | None:
    """Returns the installed git if it is version 2.30 or later and outside *workspace*, else None."""
    folders = [each for each in os.get_exec_path() if os.path.isabs(each)]  # noqa: PTH117 - a Path takes longer
    trusted = [each for each in folders if not Path(each).resolve().is_relative_to(workspace)]
    program = shutil.which("git", path=os.pathsep.join(trusted))
    if program is None or Path(program).resolve().is_relative_to(workspace):
        return None
    if sys.platform == "darwin" and program == "/usr/bin/git" and not _has_developer_tools():
        return None
    try:
        state = os.stat(program)  # noqa: PTH116 - a Path takes longer
        version = _version_of(
            program, (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return None if version < OLDEST else InstalledGit(program, version)


@functools.lru_cache(maxsize=8)
def _version_of(program: str, _state: tuple[int, ...]) -> tuple[int, int]:
    """Returns the first two numbers of git's version, zeros if it prints none; asks again if the file changed."""
    output = subprocess.run(
        [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=True, env=clean()
    ).stdout.decode("ascii", "replace")
    version = re.match(r"git version (\d{1,5})\.(\d{1,5})", output)
    return (0, 0) if version is None else (int(version[1]), int(version[2]))


def clean(home: Path | None = None) -> dict[str, str]:
    """Returns the environment for git, without variables that name settings, a repository, an editor or a prompt."""
    return {
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        "HOME": os.fspath(home) if home else os.devnull,
        "XDG_CONFIG_HOME": os.fspath(home) if home else os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "GIT_PAGER": "",
    }


class GitProgram:
    """Runs git on the repository *folder* with *workspace* as its work tree."""

    def __init__(self, program: str, folder: Path, workspace: Path) -> None:
        self.folder = folder
        self._workspace = workspace
        self._command = (
            *(program, f"--git-dir={folder}", f"--work-tree={workspace}"),
            *("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
        )
        self._environment = clean(folder)

    def prepare(self) -> None:
        """Create the repository if there is none, and always write our own settings."""
        head = self.folder / "HEAD"
        if not head.is_file():
            for each in ("", "refs", "objects", "objects/info", "objects/pack"):
                (self.folder / each).mkdir(parents=not each, exist_ok=True, mode=0o700)
            write_atomically(head, b"ref: refs/heads/main\n")
        ignore_case = str(ignores_case(self._workspace)).lower()
        _write_if_other(self.folder / "config", _CONFIG.format(ignore_case=ignore_case))
        self.write_info("attributes", _ATTRIBUTES)

    def write_info(self, name: str, text: str) -> None:
        """Write a file in the repository's ``info`` folder, unless it already has that text."""
        info = self.folder / "info"
        info.mkdir(exist_ok=True, mode=0o700)
        _write_if_other(info / name, text)

    def run(self, *arguments: str, standard_input: bytes | None = None, seconds: float = ANSWER_SECONDS) -> bytes:
        with self.start(*arguments, has_input=standard_input is not None, errors=subprocess.PIPE) as process:
            try:
                printed, printed_errors = process.communicate(standard_input, timeout=seconds)
            except subprocess.TimeoutExpired as error:
                process.kill()
                process.communicate()
                raise TooSlow(seconds) from error
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise _failure(arguments[0], process.returncode, printed_errors.decode("utf-8", "replace").strip())
        return printed

    def paths(self, *arguments: str, most: int) -> tuple[list[str], bool]:
        """Run git and return what it lists (``-z``), at most *most* entries, and whether there are more."""
        received = bytearray()
        count = 0
        with tempfile.TemporaryFile() as errors, self.start(*arguments, has_input=False, errors=errors) as process:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            with killed_after(process, ANSWER_SECONDS) as is_slow:
                try:
                    while count <= most and (block := process.stdout.read(1 << 20)):
                        received += block
                        count += block.count(0)
                    if count > most:
                        process.kill()
                    process.wait()
                except BaseException:
                    process.kill()
                    raise
            errors.seek(0)
            words = errors.read(10_000).decode("utf-8", "replace").strip()
        if is_slow.is_set():
            raise TooSlow(ANSWER_SECONDS)
        if count <= most and process.returncode:
            raise _failure(arguments[0], process.returncode, words)
        return [os.fsdecode(each) for each in bytes(received).split(b"\0")[: min(count, most)]], count > most

    def start(
        self, *arguments: str, has_input: bool = True, errors: IO[bytes] | int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [*self._command, *arguments],
                stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self._workspace,
                env=self._environment,
                umask=0o077,
                start_new_session=True,  # an interrupt of the kernel reaches its whole process group
            )
        except OSError as error:
            raise ChangesUnavailable(f"git cannot be run in {self._workspace}: {error.strerror}.") from error


@contextlib.contextmanager
def killed_after(process: subprocess.Popen[bytes], seconds: float) -> Iterator[threading.Event]:
    """Kill *process* if the block takes longer than *seconds*; the event is set if it did."""
    is_slow = threading.Event()

    def stop() -> None:
        is_slow.set()
        process.kill()

    watch = threading.Timer(seconds, stop)
    watch.daemon = True
    watch.start()
    try:
        yield is_slow
    finally:
        watch.cancel()


def _failure(command: str, code: int, output: str) -> ChangesError:
    """Returns the error to raise when git fails; a git ended by a signal says nothing about the store."""
    if code < 0:
        message = f"git {command} was stopped by signal {-code}."
        return ChangesUnavailable(message, hint="The next snapshot tries again.")
    return GitFailed(output or f"git {command} failed.")


def nul_joined(paths: Iterable[str]) -> bytes:
    """Returns *paths* in the format that git reads with ``-z``."""
    return b"".join(os.fsencode(each) + b"\0" for each in paths)


def _write_if_other(path: Path, text: str) -> None:
    content = os.fsencode(text)
    if not path.is_file() or path.read_bytes() != content:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123
            file.write(content)


def _has_developer_tools() -> bool:
    """True if macOS has a git: without these folders ``/usr/bin/git`` offers to install one. Never run on macOS."""
    return any(Path(each).exists() for each in ("/Library/Developer/CommandLineTools", "/Applications/Xcode.app"))


class PackedContents:
    """Contents, by name, that are packed by git and are not files of their own."""

    def __init__(self, git: GitProgram) -> None:
        self._git = git
        self._lock = threading.Lock()
        self._readers = 0
        self._process: subprocess.Popen[bytes] | None = None

    @contextlib.contextmanager
    def many(self) -> Iterator[None]:
        """Keep git running from the first read until the block ends."""
        with self._lock:
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1
                if not self._readers:
                    self._end()

    def read(self, name: str) -> bytes | None:
        """Returns the content *name*; None if git does not have it, or it is damaged."""
        with self.many(), self._lock:
            if self._process is None:
                self._process = self._git.start("cat-file", "--batch")
            content = self._answer(self._process, name)
            if content is None and self._process.poll() is not None:
                self._end()
            return content

    def _answer(self, process: subprocess.Popen[bytes], name: str) -> bytes | None:
        standard_input, printed = process.stdin, process.stdout
        assert standard_input is not None and printed is not None  # noqa: S101, PT018 - both are pipes
        content = None
        with killed_after(process, ANSWER_SECONDS) as is_slow:
            try:
                content = _content(standard_input, printed, name)
            except OSError:  # git has ended
                process.wait()
        if is_slow.is_set():
            self._end()
            raise TooSlow(ANSWER_SECONDS)
        return content

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()  # safe: this git only reads
            with process:
                pass


def _content(standard_input: IO[bytes], printed: IO[bytes], name: str) -> bytes | None:
    """Ask git for one content: it answers ``NAME blob SIZE``, the content and a newline, or ``NAME missing``."""
    standard_input.write(f"{name}\n".encode())
    standard_input.flush()
    head = printed.readline().split()
    if len(head) != 3:  # noqa: PLR2004 - name, kind, size; nothing where git has ended
        if not head:
            raise BrokenPipeError
        return None
    size = int(head[2])
    content = printed.read(size + 1)
    if len(content) != size + 1:
        raise BrokenPipeError
    return content[:-1]


def outer_excludes(workspace: Path) -> str:
    """Returns the ignore rules from outside the workspace that apply to all of it, as one ignore file for it."""
    top = _top(workspace)
    if top is None:
        return ""
    texts = [_inside(_text(_common_folder(top / ".git") / "info" / "exclude"), top, workspace)]
    here = top
    for name in workspace.relative_to(top).parts:
        texts.append(_inside(_text(here / ".gitignore"), here, workspace))
        here /= name
    return "\n".join(texts)


def folder_rules(folder: Path) -> tuple[IgnoreRule, ...]:
    return read_rules(_text(folder / ".gitignore"))


def _top(workspace: Path) -> Path | None:
    here = os.fspath(workspace)
    for _ in range(_HIGHEST):
        if os.path.lexists(f"{here}/.git"):
            return Path(here)
        here, below = os.path.dirname(here), here  # noqa: PTH120 - a Path takes ten times as long
        if here == below:
            break
    return None


def _common_folder(git: Path) -> Path:
    """Returns the folder with a repository's data."""
    if git.is_dir():
        return git
    folder_text = _text(git).strip()
    folder = (git.parent / folder_text.removeprefix("gitdir:").strip()) if folder_text.startswith("gitdir:") else git
    common = _text(folder / "commondir").strip()
    return folder / common if common else folder


def _inside(text: str, folder: Path, workspace: Path) -> str:
    """Returns the rules of *folder* as they apply in *workspace*, a folder in it."""
    outer = workspace.relative_to(folder).parts
    if not outer:
        return text
    return "\n".join(line for rule in read_rules(text) if (line := _line(rule, outer)))


def _line(rule: IgnoreRule, outer: tuple[str, ...]) -> str:
    end = "/" if rule.only_folders else ""
    sign = "" if rule.ignores else "!"
    if not rule.anchored:
        return f"{sign}{rule.parts[0]}{end}"
    if rule.parts[0] == "**":
        return f"{sign}{'/'.join(rule.parts)}{end}"
    above, below = rule.parts[: len(outer)], rule.parts[len(outer) :]
    if not below or not all(map(matches_name, above, outer)):
        return ""
    return f"{sign}/{'/'.join(below)}{end}"


def _text(path: Path) -> str:
    try:
        return os.fsdecode(read_file(os.fspath(path), MOST_BYTES))
    except OSError:
        return ""
