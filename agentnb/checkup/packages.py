"""Python, the packages of Jupyter, and the kernels: are they there, new enough, and able to import agentnb?"""

from __future__ import annotations

import asyncio
import contextlib
import platform
import re
import shlex
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb import __version__
from agentnb.acp.doctor import Checkup
from agentnb.agent.child import Child, inherited
from agentnb.agent.registry import older
from agentnb.distribution import NAME, OTHER, other_version, pip, remove_other, requirements
from agentnb.plugin_registry import plugins
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping


NEEDED = (
    "ipython",
    "ipywidgets",
    "anywidget",
    "traitlets",
    "markdown-it-py",
    "msgspec",
    "nest-asyncio",
    "tree-sitter",
    "tree-sitter-bash",
)
"""The packages that agentnb itself requires, on every version of Python."""

PAGES = {
    "ipykernel": "runs notebooks",
    "jupyterlab": "shows them, with the chat in its sidebar",
    "notebook": "shows them, one at a time",
    "sidecar": "shows the chat beside a notebook where there is no sidebar of agentnb's",
}
"""The programs in which agentnb is used, and what each does; kernels and pages may come from other environments."""
_NOT_REQUIRED = {"notebook": ">=7", "sidecar": ">=0.7"}
"""Versions of packages that no requirement of agentnb's names; the group `test` in pyproject.toml has the same."""

_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;]*)")
_AT_LEAST, _BELOW = re.compile(r">=\s*([\w.]+)"), re.compile(r"<\s*([\w.]+)")


def examine_packages() -> list[Checkup]:
    """Check which packages are installed, and whether their versions are in the range that works here."""
    python = checkup("python", "ready", platform.python_version(), f"{sys.executable}.")
    rows = [python, _own(), *(_needed(name, version_of(name)) for name in NEEDED)]
    versions = {name: version_of(name) for name in PAGES}
    if not any(versions.values()):
        message = "Jupyter is not installed in this environment. Here agentnb works in scripts and IPython."
        jupyter = checkup("jupyter", "absent", None, message, todo=pip("install", f'"{NAME}[lab]"'))
        return [*rows, jupyter, *_plugins()]
    return [*rows, *_plugins(), *(_page(name, version) for name, version in versions.items())]


TITLES = {
    "log": "the session log",
    "changes": "the stores of changes",
    "policy": "the policy",
    "site policy": "the site's policy",
    "confinement": "confinement of agents",
    "cassette": "a cassette",
    "extension": "agentnb's extension",
    "widgets": "@jupyter-widgets/jupyterlab-manager",
}
"""Titles of the items that have a title other than their name."""


def checkup(
    name: str, state: Any, version: str | None, message: str, *, todo: str | None = None, title: str = ""
) -> Checkup:
    title = title or TITLES.get(name, name)
    return Checkup(name=name, title=title, state=state, version=version, message=message, todo=todo, kind="jupyter")


def version_of(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def ranges() -> dict[str, str]:
    """Returns the versions that agentnb works with, by package; those of requirements come from its metadata."""
    requirements_read = (match.groups() for match in map(_REQUIREMENT.match, requirements()) if match)
    required = {name.lower(): bounds.strip() for name, bounds in requirements_read if bounds.strip()}
    return {**_NOT_REQUIRED, **required}


def outside(version: str, bounds: str) -> bool:
    least, end = _AT_LEAST.search(bounds), _BELOW.search(bounds)
    return (least is not None and older(version, least[1])) or (end is not None and not older(version, end[1]))


def problems() -> list[str]:
    """Returns what is wrong with this environment's packages, one line each: too old, too new, missing, shadowed."""
    wrong = [_own(), *(_needed(name, version_of(name)) for name in NEEDED)]
    return [f"{each.name} {each.version or 'is missing'}: {each.message}" for each in wrong if each.state != "ready"]


def _own() -> Checkup:
    """Check agentnb itself, and whether the other project with the same import name overwrites its files."""
    other = other_version()
    if other is None:
        return checkup("agentnb", "ready", __version__, f"This one, {NAME} on the package index.")
    message = (
        f"The distribution {OTHER} {other} is installed as well. It is another project (or this one under "
        f"its former name) with the same import name. It overwrites files of {NAME}, or is imported instead of it."
    )
    return checkup("agentnb", "broken", __version__, message, todo=remove_other(__version__))


def _plugins() -> list[Checkup]:
    """Returns one row for the plug-ins that work, and one row for each that does not."""
    registry = plugins()
    broken = [checkup(f"plug-in {each.plugin}", "broken", None, each.message) for each in registry.problems]
    names = ", ".join(registry.loaded) or "none"
    return [checkup("plug-ins", "ready", None, f"Loaded: {names}. `agentnb plugins` lists what each adds."), *broken]


def _needed(name: str, version: str | None) -> Checkup:
    if version is None:
        return checkup(name, "missing", None, "agentnb needs it.", todo=_install(name))
    return _in_range(name, version, "agentnb needs it.")


def _page(name: str, version: str | None) -> Checkup:
    if version is None:
        return checkup(
            name, "absent", None, f"It {PAGES[name]}. It is not installed in this environment.", todo=_install(name)
        )
    return _in_range(name, version, f"It {PAGES[name]}.")


def _in_range(name: str, version: str, message: str) -> Checkup:
    bounds = ranges().get(name, "")
    if outside(version, bounds):
        return checkup(name, "old", version, f"agentnb works with {bounds}.", todo=_install(name))
    return checkup(name, "ready", version, message)


def _install(name: str) -> str:
    return pip("install", "--upgrade", f'"{name}{ranges().get(name, "")}"')


AT_ONCE = 4
"""The most interpreters that run at a time."""
SECONDS = 30.0
"""Seconds that one interpreter may take."""
MOST = 20_000
MARK = "agentnb-checkup"
REMOVE = "jupyter kernelspec remove"
ANOTHER = "agentnb-another"
PROBLEM = "agentnb-problem"
CODE = f"""
from importlib.util import find_spec
spec = find_spec('agentnb')
if spec and spec.origin and b'load_ipython_extension' not in open(spec.origin, 'rb').read():
    raise SystemExit('{ANOTHER} ' + spec.origin)
import agentnb, ipykernel
print('{MARK}', agentnb.__version__, ipykernel.__version__)
from agentnb.checkup.packages import problems
for problem in problems():
    print('{PROBLEM}', problem)
"""
"""Code to run in the kernel's Python. Is its agentnb this project's, which version, are its packages in range?"""
_LAUNCHER = re.compile(r"ipykernel(_launcher)?$")
_OWN = re.compile(r"python(\d+(\.\d+)?)?(\.exe)?$")


class Tried(NamedTuple):
    """The result of trying a Python interpreter."""

    status: int | None
    output: str
    complaint: str
    refused: str | None = None


async def examine_kernels(folders: Mapping[str, str] | None = None, seconds: float = SECONDS) -> list[Checkup]:
    folders = registered() if folders is None else folders
    turnstile = asyncio.Semaphore(AT_ONCE)

    async def one(name: str, folder: str) -> Checkup:
        async with turnstile:
            return await _examined(name, Path(folder), seconds)

    return list(await asyncio.gather(*(one(name, folders[name]) for name in sorted(folders))))


def registered() -> dict[str, str]:
    """Returns the folders of the kernels that Jupyter finds, by name; empty if Jupyter is not installed."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager
    except ImportError:
        return {}
    specs: dict[str, str] = KernelSpecManager().find_kernel_specs()
    return specs


async def _examined(name: str, folder: Path, seconds: float) -> Checkup:
    row, path = f"kernel {name}", folder / "kernel.json"
    remove = f"{REMOVE} {shlex.quote(name)}"
    try:
        spec = read_json(path.read_bytes())
        command, env = [str(word) for word in spec["argv"]], dict(spec.get("env") or {})
        title = str(spec.get("display_name") or name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{path} is not a kernel's description: {type(error).__name__}: {error}."
        return checkup(row, "broken", None, reason, todo=remove)
    if str(spec.get("language") or "python").lower() != "python":
        return checkup(row, "absent", None, f"{title} is not a Python kernel: agentnb does not run in it.", title=title)
    python = interpreter(command, folder)
    if python is None:
        message = f"{title} is not started as `python -m ipykernel_launcher`, so it was not tested."
        return checkup(row, "absent", None, message, title=title)
    tried = await _ran([*python, "-c", CODE], env, seconds)
    state, version, message, todo = _judged(tried, python, seconds)
    return checkup(row, state, version, f"{title}: {message}", todo=remove if todo is REMOVE else todo, title=title)


def interpreter(command: list[str], folder: Path) -> list[str] | None:
    """Returns the command that starts a kernel's Python, without the module that it runs; None if unknown."""
    at = next((at for at, word in enumerate(command) if word == "-m"), len(command))
    if at == 0 or at + 1 >= len(command) or not _LAUNCHER.match(command[at + 1]):
        return None
    python = [word.replace("{resource_dir}", str(folder)) for word in command[:at]]
    if _OWN.match(python[0]):  # as Jupyter does: the Python that runs the server
        python[0] = sys.executable
    return python


async def _ran(command: list[str], env: dict[str, Any], seconds: float) -> Tried:
    outputs = {1: bytearray(), 2: bytearray()}

    def received(descriptor: int, data: bytes) -> None:
        outputs[descriptor] = (outputs[descriptor] + data)[-MOST:]

    ended = asyncio.Event()
    whole = inherited({name: str(value) for name, value in env.items()})
    with tempfile.TemporaryDirectory(prefix="agentnb-doctor-") as folder:
        try:
            child = await Child.spawn(command, cwd=Path(folder), env=whole, on_output=received, on_end=ended.set)
        except (OSError, ValueError) as error:
            return Tried(None, "", "", getattr(error, "strerror", None) or str(error))
        child.close_stdin()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.gather(child.exited.wait(), ended.wait()), seconds)
        status = child.returncode
        await child.stop(patience=0)
    output, complaint = (outputs[number].decode("utf-8", "replace").strip() for number in (1, 2))
    return Tried(status, output, complaint.splitlines()[-1].strip() if complaint else "")


def _judged(tried: Tried, python: list[str], seconds: float) -> tuple[str, str | None, str, str | None]:
    """Returns the state, the version, the message, and the command to type."""
    typed = " ".join(f'"{word}"' if " " in word else word for word in python)
    try_it, install = f'{typed} -c "import agentnb"', pip("install", f"{NAME}=={__version__}", python=typed)
    if tried.refused is not None:
        return "broken", None, f"{python[0]} cannot be started: {tried.refused}.", REMOVE
    if tried.complaint.startswith(ANOTHER):
        where = tried.complaint.removeprefix(ANOTHER).strip()
        message = f"its agentnb is a different project with the same import name ({where}); this one is {NAME}."
        return "broken", None, message, remove_other(__version__, typed, dependencies=True)
    if (match := re.search(rf"{MARK} (\S+) (\S+)", tried.output)) is not None:
        if wrong := re.findall(rf"^{PROBLEM} (.+)$", tried.output, re.MULTILINE):
            return "broken", match[1], " ".join(wrong), f"{typed} -m agentnb doctor jupyter"
        if match[1] == __version__:
            return "ready", match[1], f"it imports agentnb, with ipykernel {match[2]}.", None
        message = (
            f"it has agentnb {match[1]}, this environment {__version__}; kernel and page should have the same version."
        )
        return "old", match[1], message, install
    if tried.status is None:
        return "broken", None, f"its Python did not answer within {seconds:g} s.", try_it
    if "No module named 'agentnb'" in tried.complaint:
        return "missing", None, "agentnb is not installed in it.", install
    return "broken", None, f"it cannot import agentnb: {tried.complaint or f'status {tried.status}'}", try_it
