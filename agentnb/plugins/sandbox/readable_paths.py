"""The paths that a confined agent reads besides the workspace: the system, programs, and files for git and installers.

It cannot write the user's caches: programs that are not confined run their content later (a wheel in the cache of pip,
say), so a shared cache would be a way out.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.agent.programs import certificate_files
from agentnb.folders import data_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

FOLDER = "confined"
OWN_FOLDERS = {
    "XDG_CACHE_HOME": "cache",
    "UV_CACHE_DIR": "uv",
    "PIP_CACHE_DIR": "pip",
    "npm_config_cache": "npm",
    "YARN_CACHE_FOLDER": "yarn",
    "BUN_INSTALL_CACHE_DIR": "bun",
    "CARGO_HOME": "cargo",
    "GOCACHE": "go/build",
    "GOMODCACHE": "go/modules",
    "MPLCONFIGDIR": "matplotlib",
    "IPYTHONDIR": "ipython",
    "JUPYTER_RUNTIME_DIR": "jupyter",
}
"""Variables that name a folder which a tool writes outside the workspace, and its replacement for a confined agent."""
RUNNER_FOLDERS = {"uvx": {"UV_TOOL_DIR": "uv-tools", "UV_PYTHON_INSTALL_DIR": "uv-python"}}
"""Additional variables like these for agents started with ``uvx``."""
_LONGEST = 80


def own_folder(agent: str) -> Path:
    """Returns the folder for the caches of the confined *agent*."""
    return data_folder() / FOLDER / (re.sub(r"[^\w-]", "_", agent)[:_LONGEST] or "_")


def confined_variables(
    agent: str, temporary: Path, configured: Mapping[str, str], *, runner: str = ""
) -> tuple[Path, dict[str, str]]:
    """Make the confined *agent*'s folder; returns it, and the variables that lead to it and to *temporary*.

    If the folder cannot be made, the caches are in *temporary*, and are deleted with it.
    """
    folder = own_folder(agent)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        folder = temporary
    variables = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    named = {**OWN_FOLDERS, **RUNNER_FOLDERS.get(runner, {})}
    variables |= {name: str(folder / place) for name, place in named.items() if name not in configured}
    return folder, variables


_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/snap", "/sys", "/proc"),
    *("/run/systemd/resolve", "/run/resolvconf", "/run/current-system", "/var/lib/ca-certificates", "/home/linuxbrew"),
    *("/System", "/Library", "/Applications", "/private/etc", "/private/var/db"),
)
_GIT = ("~/.gitconfig", "~/.config/git/config", "~/.config/git/ignore", "~/.config/git/attributes")
"""Git's configuration of the user, without which git refuses to work; its stored passwords are in other files."""
_INDEXES = ("~/.config/pip/pip.conf", "~/.pip/pip.conf", "~/.config/uv/uv.toml", "~/.condarc")
"""Settings of the package index, without which nothing can be installed if only a mirror is reachable."""
_INDEX_VARIABLES = (
    *("PIP_CONFIG_FILE", "UV_CONFIG_FILE", "PIP_CERT", "npm_config_cafile", "NPM_CONFIG_CAFILE", "NODE_EXTRA_CA_CERTS"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "npm_config_globalconfig"),
)
"""Variables that name such settings, and certificates."""
_TOOLS = (
    *("~/.local/bin", "~/.local/lib", "~/.local/pipx/venvs", "~/.local/share/pipx/venvs", "~/.local/share/uv/tools"),
    *("~/.local/share/uv/python", "~/.rustup", "~/.cargo/bin", "~/.pyenv/versions", "~/.nvm/versions"),
)
"""Programs and Pythons that users install for themselves; these folders hold no secrets."""
_MOST_INTERPRETER = 200
_MOST_LINKS = 5_000
_LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables with the folders of shared libraries, which on clusters are mostly outside the system's folders."""
_MACHINE_SECRET = re.compile(
    r"g?shadow.*|sudoers.*|ssh|krb5\.keytab|security|NetworkManager|wireguard|ipsec.*|\.pwd\.lock"
)
"""Names in ``/etc`` that hold passwords and keys of the machine."""
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_SCRIPTS = {".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".pl"}


def readable_paths(
    program: str, cwd: Path, env: Mapping[str, str], folder: Path, started: Iterable[Sequence[str]] = ()
) -> list[str]:
    """Returns what a confined agent may read besides what its description names; some of the paths contain ``~``."""
    package = str(Path(__file__).parent.parent.parent)
    python = [sys.prefix, sys.base_prefix, sys.exec_prefix]
    python += [each for each in sys.path if Path(each).name in _INSTALLED]  # also those of an underlying environment
    here = [*_install(program, env, folder), *_modules(env, folder), *repository_of(cwd, folder)]
    here += [path for command in started for path in _server(command, env, folder)]
    named = [env[name] for name in _INDEX_VARIABLES if name in env]
    machine = [*_SYSTEM, *_settings(), *python, package]
    return [*machine, *here, *_GIT, *_INDEXES, *named, *certificate_files(env, folder), *_TOOLS]


def _settings() -> list[str]:
    """Returns the contents of ``/etc`` without passwords and keys of the machine, which root could read."""
    try:
        names = sorted(os.listdir("/etc"))
    except OSError:
        return []
    return [f"/etc/{name}" for name in names if not _MACHINE_SECRET.fullmatch(name)]


def repository_of(cwd: Path, folder: Path) -> list[str]:
    """Returns what git reads of the repository around a workspace, which may be a subfolder or a worktree."""
    real = Path(os.path.realpath(cwd))
    root = next((each for each in (real, *real.parents) if os.path.lexists(each / ".git")), None)
    if root is None or not _is_narrow(root, folder):
        return []
    return [*([] if root == real else [str(root)]), *_shared_by_worktrees(root / ".git")]


def _shared_by_worktrees(link: Path) -> list[str]:
    """Returns the ``.git`` that a worktree's *link* names, if it names *link*: the agent may have written that."""
    try:
        own = Path(link.read_text().removeprefix("gitdir:").strip()) if link.is_file() else None
        known = own is not None and os.path.realpath((own / "gitdir").read_text().strip()) == os.path.realpath(link)
    except (OSError, ValueError):
        return []
    return [str(own.parent.parent)] if own is not None and known else []


def _install(program: str, env: Mapping[str, str], folder: Path) -> list[str]:
    """Returns where the program, what runs it, and its installation are."""
    installed: list[str] = []
    for each in (program, *_interpreters(program, env)):
        for path in {os.path.abspath(each), os.path.realpath(each)}:
            beside, _, within = path.partition("/node_modules/")
            installed += [f"{beside}/node_modules"] if within else []
            installed += _prefix(Path(path).parent, folder)
    paths = [Path(each) for each in env.get("PATH", "").split(os.pathsep)]
    paths += [each.parent for each in paths if each.name == "shims"]  # shims (pyenv) run programs beside their folder
    paths += [each.parent for each in paths if (each.parent / "lib").is_dir() and each.parent.name != ".local"]
    paths += [Path(each) for name in _LIBRARIES for each in env.get(name, "").split(os.pathsep)]
    installed += [str(each) for each in paths if _is_narrow(each, folder)]
    return installed


def _modules(env: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Yields where Python finds modules outside its own folders (``PYTHONPATH``: clusters, ``pip --target``)."""
    for path in map(Path, env.get("PYTHONPATH", "").split(os.pathsep)):
        if not _is_narrow(path, folder):
            continue
        yield str(path)
        try:
            with os.scandir(path) as entries:
                links = [each.path for each in islice(entries, _MOST_LINKS) if each.is_symlink()]
        except OSError:
            continue
        targets = {Path(os.path.realpath(each)).parent for each in links}
        yield from (str(each) for each in targets if each.name in _INSTALLED)


def _server(command: Sequence[str], env: Mapping[str, str], folder: Path) -> list[str]:
    """Returns where an MCP server is installed, and the files and folders that its arguments name, for it to serve."""
    program = shutil.which(command[0], path=env.get("PATH"))
    paths = _install(program, {}, folder) if program is not None else []
    own = Path(os.path.realpath(folder))
    for word in command[1:]:
        where = Path(os.path.realpath(word))
        is_hidden = where.is_relative_to(own) and where.relative_to(own).as_posix().startswith(".")
        if not os.path.isabs(word) or not where.exists() or is_hidden or not _is_narrow(where, own):
            continue
        paths += [str(where), *(_install(str(where), {}, own) if where.suffix in _SCRIPTS else [])]
    return paths


def _prefix(folder: Path, own: Path) -> list[str]:
    """Returns the folder of a program and, if that is ``bin``, also the folder above it."""
    above = [folder.parent] if folder.name == "bin" and folder.parent.name != ".local" else []
    return [str(each) for each in (folder, *above) if _is_narrow(each, own)]


def _is_narrow(folder: Path, own: Path) -> bool:
    """True if a folder is absolute, and neither the home folder nor one above it."""
    return folder.is_absolute() and folder != own and folder not in own.parents


def _interpreters(program: str, env: Mapping[str, str]) -> Iterable[str]:
    """Returns what runs a script (its ``#!`` line)."""
    try:
        with Path(program).open("rb") as file:
            first = file.readline(_MOST_INTERPRETER)
    except OSError:
        return []
    if not first.startswith(b"#!"):
        return []
    words = os.fsdecode(first[2:]).split()
    named = words[1:2] if words and words[0].endswith("/env") else words[:1]
    return [program_path for each in named if (program_path := shutil.which(each, path=env.get("PATH"))) is not None]
