"""The catalogue: every agent known by name, one TOML file each, plus what installed packages add."""

from __future__ import annotations

import difflib
import functools
import os
import re
import shlex
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from agentnb.agent import registry
from agentnb.agent.confinement import Needs, checked_confining
from agentnb.agent.elsewhere import is_address, with_connecting_command
from agentnb.agent.mcp import mcp_servers
from agentnb.agent.programs import find_on_path
from agentnb.agent.registry import PackageRunner, older, runner_of
from agentnb.errors import AgentnbError, PolicyError, UnknownAgent, UsageError
from agentnb.folders import config_folder
from agentnb.site_policy import site_policy
from agentnb.toml_file import parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentnb.agent.programs import Find

MODE = "mode"


class Asks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings that make an agent ask before it edits files or runs commands."""

    mode: str | None = None
    modes: tuple[str, ...] = ()
    options: dict[str, str | bool] = msgspec.field(default_factory=dict)
    env: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def settings(self) -> dict[str, tuple[str | bool, ...]]:
        """The values, by setting, with which the agent asks; the first value is the one that is set."""
        mode = {} if self.mode is None else {MODE: (self.mode, *self.modes)}
        return {**mode, **{option: (value,) for option, value in self.options.items()}}

    def overruled(self, environ: Mapping[str, str]) -> str | None:
        """Returns the variable whose value in *environ* differs from the one required; None if there is none."""
        return next((name for name, value in self.env.items() if environ.get(name) != value), None)


GROUP = "agentnb.agents"
TOUR = "eliza"
"""The built-in agent that demonstrates what agents do; not for real work."""
Bases: TypeAlias = "Callable[[], Mapping[str, AgentSpec]]"
"""Returns the agents that a description can be based on."""

_OF_THE_PROGRAM = ("install", "requires", "upgrade", "min_version", "seen", "runner")
_OURS = ("built in", "registry")
REGISTRY_RANK = 50
"""The place in lists of an agent that only the registry knows."""


class Capabilities(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The capabilities that agentnb offers at ``initialize`` (ACP ``clientCapabilities``)."""

    read_text_file: bool = True
    write_text_file: bool = True
    terminal: bool = True
    elicitation: bool = True
    boolean_options: bool = True
    terminal_login: bool = True
    prompt_suggestions: bool = True


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model provider that an agent sends its requests to (ACP ``ProviderInfo``)."""

    api_type: str = ""
    base_url: str = ""
    token_variable: str | None = None
    disabled: bool = False


class AgentSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One agent of the catalogue: its command, installation and login."""

    name: str
    title: str
    about: str | None = None
    command: tuple[str, ...]
    env: dict[str, str] = msgspec.field(default_factory=dict)
    install: str | None = None
    requires: str | None = None
    upgrade: str | None = None
    login: str | None = None
    logout: str | None = None
    icon: str | None = None
    homepage: str | None = None
    rank: int = 0
    capabilities: Capabilities = Capabilities()
    steering: bool = False
    initialize_timeout: float = 60.0
    root_env: dict[str, str] = msgspec.field(default_factory=dict)
    min_version: str | None = None
    seen: str | None = None
    mcp_servers: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    takes_mcp: bool = True
    mcp_transport: Literal["stdio", "http"] = "stdio"
    mcp_per_session: bool = False
    counts_tokens: Literal["turn", "session"] | None = None
    components: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    registry: tuple[str, ...] = ()
    python: str | None = None
    confinement: Needs | None = None
    confine: bool | str | tuple[str, ...] | None = None
    asks: Asks | None = None
    runner: PackageRunner | None = None
    url: str | None = None
    token_variable: str | None = None
    unencrypted: bool = False
    folder: str | None = None
    protocol: Literal[1, 2] = 1
    providers: dict[str, Provider] = msgspec.field(default_factory=dict)
    origin: str = "command"

    @property
    def line(self) -> str:
        """The agent's command as one types it in a shell, or its address."""
        return self.url or shlex.join(self.command)

    @property
    def own_program(self) -> tuple[str, ...]:
        """The words of the agent's own program; empty if that is on another machine."""
        return self.command if self.url is None else ()


def find(name: str) -> AgentSpec:
    """The agent called *name*: in the project, in the user's settings, in installed packages, or built in."""
    specs = _specs()
    if name in specs:
        if (why := why_not(specs[name])) is not None:
            raise PolicyError(why)
        return specs[name]
    if own := [each for each in additions()[1] if Path(each.partition(": ")[0]).stem == name]:
        raise UnknownAgent(f"The agent {name!r} cannot be read. {own[0]}", hint="Fix that file.")
    close = difflib.get_close_matches(name.lower(), specs, n=2)
    guess = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
    hint = f"{guess}Known agents: {', '.join(spec.name for spec in known())}; any other is started with its command."
    raise UnknownAgent(f"There is no agent called {name!r}.", hint=hint)


def known() -> list[AgentSpec]:
    """Every agent in the catalogue that the site allows, by name."""
    return [spec for _, spec in sorted(_specs().items()) if why_not(spec) is None]


def every_name() -> tuple[str, ...]:
    """The names of all agents in the catalogue, including those that the site does not allow."""
    return tuple(sorted(_specs()))


def why_not(spec: AgentSpec) -> str | None:
    """Returns why the site does not allow *spec*, in a sentence; None if it does.

    The site can allow an agent of ours or of the registry by name; any other agent only by its command line.
    """
    return site_policy().why_not_agent(spec.name, spec.command, is_known=spec.origin in _OURS)


def custom(command: Sequence[str], *, name: str | None = None) -> AgentSpec:
    """A spec for an agent that is not in the catalogue."""
    if isinstance(command, str) or not command or not all(command):
        hint = 'For example: command=["opencode", "acp"].'
        raise UsageError("An agent's command must be a list of words.", hint=hint)
    program = command[0]
    if len(command) == 1 and is_address(program):
        data = with_connecting_command({"url": program}, {})
        called = name or urlsplit(program).hostname or "agent"
        return msgspec.convert({**data, "name": called, "title": called}, AgentSpec)
    called = name or program.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    return AgentSpec(name=called, title=called, command=tuple(command))


def installed(spec: AgentSpec, path: str | None = None, *, find: Find = find_on_path) -> str | None:
    """The path of the agent's program; None if it is not installed, as when only npx or uvx runs it."""
    if spec.runner is not None and spec.command == spec.runner.words:
        return None
    return find(spec.command[0], path)


def run_by(spec: AgentSpec, path: str | None = None, *, find: Find = find_on_path) -> PackageRunner | None:
    """Returns how to run *spec* from a package index if it is not installed; None if that program is missing."""
    return spec.runner if spec.runner is not None and find(spec.runner.kind, path) else None


def root_hint(spec: AgentSpec) -> str | None:
    """Returns what to set if this process runs as root and the agent must know that; None if nothing."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    whole = {**os.environ, **spec.env}
    unset = [f"{name}={value}" for name, value in spec.root_env.items() if not whole.get(name)]
    if not unset:
        return None
    where = "before Jupyter starts, if this machine is a container or a sandbox"
    return f"It runs as root: some or all of its modes may be refused. Set {' '.join(unset)} {where}."


def additions() -> tuple[dict[str, AgentSpec], list[str]]:
    """Returns the agents that the user and the project add, and the problems in their files and packages' entry points.

    The user's files, ``agents/*.toml`` in agentnb's settings folder (:func:`agentnb.folders.config_folder`), may
    replace a known agent. The project's files, ``.agentnb/agents/*.toml``, may only add agents: a repository that you
    open does not choose what your ``claude`` starts.
    """
    shipped, packages_wrong = _shipped()
    added, wrong = _folder(user_folder(), "user", catalogue)
    taken = {**shipped, **added}
    project_added, project_wrong = _folder(Path(".agentnb/agents"), "project")
    for name, spec in project_added.items():
        if name in taken:
            ignored = f"The project's description of {name!r} was ignored"
            project_wrong.append(f"{ignored}: a project cannot replace an agent of yours.")
        else:
            added[name] = spec
    listed_wrong = registry.current()[1]
    return added, [*packages_wrong, *([listed_wrong] if listed_wrong else []), *wrong, *project_wrong]


def user_folder() -> Path:
    """The folder of the user's own descriptions of agents."""
    return config_folder() / "agents"


def catalogue() -> dict[str, AgentSpec]:
    """The agents that are built in, from installed packages or from the registry, by name."""
    return _with_registry(_shipped()[0])


def _specs() -> dict[str, AgentSpec]:
    return {**catalogue(), **additions()[0]}


def _with_registry(shipped: dict[str, AgentSpec]) -> dict[str, AgentSpec]:
    """Returns the shipped agents, each with its runner, and the registry's other agents that npx or uvx can run."""
    listed = registry.current()[0]
    specs: dict[str, AgentSpec] = {}
    ours: set[str] = set()
    for name, spec in shipped.items():
        ids = spec.registry or (name,)
        ours.update(ids)
        runners = (_runner(spec, each) for at in ids if (each := listed.get(at)) is not None)
        own = (runner_of(each, spec.python) for each in registry.snapshot().agents if each.id in ids)
        runner = spec.runner or next((each for each in runners if each is not None), None) or next(own, None)
        install = runner.pinned(spec.install) if runner is not None and spec.install else spec.install
        specs[name] = msgspec.structs.replace(spec, runner=runner, install=install)
    for at, agent in listed.items():
        runner = runner_of(agent)
        if at in ours or at in specs or runner is None:
            continue
        specs[at] = AgentSpec(
            name=at,
            title=agent.name,
            about=agent.description,
            command=runner.words,
            homepage=agent.repository,
            rank=REGISTRY_RANK,
            runner=runner,
            origin="registry",
        )
    return specs


def _runner(spec: AgentSpec, agent: registry.RegistryAgent) -> PackageRunner | None:
    """Returns how the registry runs *spec*; None if its version is too old to work here."""
    if spec.min_version is not None and older(agent.version, spec.min_version):
        return None
    return runner_of(agent, spec.python)


@functools.cache
def _shipped() -> tuple[dict[str, AgentSpec], list[str]]:
    files = Path(__file__).with_name("catalog").glob("*.toml")
    specs = [_from(read(file.read_text("utf-8")), "built in") for file in files]
    added, wrong = _from_packages()
    return {spec.name: spec for spec in (*specs, *added)}, wrong


def _folder(folder: Path, origin: str, bases: Bases | None = None) -> tuple[dict[str, AgentSpec], list[str]]:
    specs: dict[str, AgentSpec] = {}
    wrong: list[str] = []
    try:
        files = sorted(name for name in os.listdir(folder) if name.endswith(".toml"))  # noqa: PTH208 - `glob` hides what is wrong
    except (FileNotFoundError, NotADirectoryError):
        return specs, wrong
    except OSError as error:
        return specs, [f"{folder}: {error.strerror}"]
    for file in map(folder.joinpath, files):
        try:
            spec = _from(read(file.read_text("utf-8"), bases), origin)
        except (AgentnbError, OSError, UnicodeError) as error:
            wrong.append(f"{file}: {error}")
        else:
            specs[spec.name] = spec
    return specs, wrong


def _from(spec: AgentSpec, origin: str) -> AgentSpec:
    asking = {} if spec.asks is None else spec.asks.env
    return msgspec.structs.replace(spec, origin=origin, env={**asking, **spec.env})


def read(text: str, bases: Bases | None = None) -> AgentSpec:
    key = ""
    try:
        data = own = parsed(text)
        if bases is not None and "based_on" in data:
            key = "based_on"
            data = _on_base(dict(data), bases())
        key = "url"
        data = with_connecting_command(data, own)
        key = ""
        spec = msgspec.convert(data, AgentSpec)
        key = "name" if not spec.name else "command"
        if not spec.name or not spec.command or not all(spec.command):
            raise UsageError("it needs a name and a command")
        key = "mcp_servers"
        mcp_servers(spec.mcp_servers)  # raises an error now, not when a session is opened
        key = "confine"
        confine = None if spec.confine is None else checked_confining(spec.confine)
    except (AgentnbError, ValueError, RecursionError) as error:
        raise UsageError(f"This is not an agent's description: {problem(text, error, key)}.") from error
    command = tuple(sys.executable if word == "{python}" else word for word in spec.command)
    return msgspec.structs.replace(spec, command=command, confine=confine)


def _on_base(data: dict[str, Any], bases: Mapping[str, AgentSpec]) -> dict[str, Any]:
    named = data.pop("based_on")
    base = bases.get(named) if isinstance(named, str) else None
    if base is None:
        raise UsageError(f"there is no agent {named!r} to base it on")
    under = msgspec.to_builtins(base)
    command = data.get("command", under["command"])
    # The base agent's install, run and upgrade commands do not apply to another program.
    if command != under["command"] or "url" in data:
        under |= dict.fromkeys(_OF_THE_PROGRAM)
    env = data.get("env", {})
    return {**under, **data, "env": {**under["env"], **env} if isinstance(env, dict) else env}


def _from_packages() -> tuple[list[AgentSpec], list[str]]:
    specs, wrong = [], []
    for point in metadata.entry_points(group=GROUP):
        try:
            loaded = point.load()
            spec = loaded if isinstance(loaded, AgentSpec) else loaded()
        except Exception as error:  # noqa: BLE001 - another package's code; the other agents count all the same
            wrong.append(f"The entry point {point.name!r} in {GROUP!r} fails: {type(error).__name__}: {error}")
            continue
        if isinstance(spec, AgentSpec):
            specs.append(_from(spec, "package"))
        else:
            wrong.append(f"The entry point {point.name!r} in {GROUP!r} is not an AgentSpec.")
    return specs, wrong


_NAME, _INDEX = re.compile(r"[\w-]+"), re.compile(r"\[[^\[\]]*\]")
_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_PATH = re.compile(r" - at `\$([^`]*)`$")
_UNKNOWN_FIELD = re.compile(r"unknown field `([^`]+)`")
_KEY_IN_LINE = re.compile(r"\A[\s\[]*[\"']?([\w.-]+)[\"']?\s*(?:=|\])")
_WORDS = {
    "array": "a list",
    "object": "a table",
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}
_TYPE = re.compile(rf"`({'|'.join(_WORDS)})`")


def problem(text: str, error: Exception, key: str = "") -> str:
    """Returns a message for *error* in the TOML *text*, preceded by the line and the key."""
    message = str(error).removesuffix(".")
    if (syntax := _LINE.search(message)) is not None:
        lines = text.splitlines() or [""]
        number = int(syntax[1] or len(lines))
        key_match = _KEY_IN_LINE.match(lines[min(number, len(lines)) - 1])
        return f"{_place(number, key_match[1] if key_match else '')}{message[: syntax.start()]}"
    if (path := _PATH.search(message)) is not None:
        keys = _NAME.findall(_INDEX.sub("", path[1]))
        key, message = (keys[-1] if keys else key), message[: path.start()]
    if (unknown := _UNKNOWN_FIELD.search(message)) is not None:
        key, message = unknown[1], "there is no such key"
    message = _TYPE.sub(lambda match: _WORDS[match[1]], message.replace("Object missing required field", "it lacks"))
    return f"{_place(_line_of(text, key), key)}{message}"


def _place(line: int, key: str) -> str:
    words = [f"line {line}"] if line else []
    return ", ".join([*words, key] if key else words) + (": " if words or key else "")


def _line_of(text: str, key: str) -> int:
    if not key:
        return 0
    wanted = re.compile(rf"\s*(?:\[+\s*(?:[\w-]+\s*\.\s*)*)?[\"']?{re.escape(key)}[\"']?\s*(?:[=.\]])")
    return next((number for number, each in enumerate(text.splitlines(), 1) if wanted.match(each)), 0)
