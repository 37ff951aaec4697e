"""The public registry of agents: read, searched, and brought up to date."""

from __future__ import annotations

import functools
import http.client
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, NoReturn

import msgspec

from agentnb.errors import UsageError
from agentnb.folders import config_folder
from agentnb.hidden_characters import CONTROLS, HIDDEN
from agentnb.safe_files import write_atomically
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Iterable

LARGEST = 1024 * 1024
"""The largest registry file, in bytes; the public one has less than a tenth of that."""
MOST_AGENTS = 500
MOST_WORDS = 40
LONGEST_TEXT = 1000
"""The longest name, description, address or argument, in characters."""

_ID = re.compile(r"[a-z][a-z0-9-]{0,63}\Z")
_VERSION = r"[0-9][0-9A-Za-z.+!-]{0,63}"
_NPM = re.compile(rf"(?P<name>(?:@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*)(?:@(?P<version>{_VERSION}))?\Z")
_PYTHON = re.compile(rf"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:(?:==|@)(?P<version>{_VERSION}))?\Z")
_SHELL = re.compile(r"[;&|<>`$\n\r\\\"'(){}*?!^%]|[\x00-\x1f\x7f]")
_UNSHOWN = re.compile(f"[{CONTROLS}\t\n\r{HIDDEN}]")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
_DECIDING = re.compile(
    r"(?:PATH|HOME|SHELL|ENV|BASH_ENV|IFS|PS4|TMPDIR|COMSPEC|SYSTEMROOT|EDITOR|PAGER|.*_PROXY"
    r"|(?:LD|DYLD|PYTHON|NODE|NPM|UV|PIP|GIT|SSL|SSH|XDG|AGENTNB|JUPYTER|PERL|RUBY)[A-Z0-9_]*)\Z",
    re.IGNORECASE,
)
"""Variables that choose which programs, libraries, servers or settings are used."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A program to download for one platform (``binary``); agentnb names it and does not download it."""

    archive: str
    cmd: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict)


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """A package of npm (``npx``) or of the Python package index (``uvx``)."""

    package: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict)


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """The ways to run an agent; kinds that this version does not know are ignored."""

    binary: dict[str, Target] | None = None
    npx: Package | None = None
    uvx: Package | None = None


class RegistryAgent(msgspec.Struct, frozen=True, kw_only=True):
    """One agent of a registry (``agent.json``); fields that this version does not know are ignored."""

    id: str
    name: str
    version: str
    description: str
    distribution: Distribution
    repository: str | None = None
    authors: tuple[str, ...] = ()
    license: str | None = None
    icon: str | None = None


class Registry(msgspec.Struct, frozen=True, kw_only=True):
    """A registry file (``registry.json``)."""

    version: str
    agents: tuple[RegistryAgent, ...]


PREFIX_OPTION = "--prefix="
"""The option that tells npx where to look for the packages and settings of a project."""


class PackageRunner(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Runs an agent from a package index without an install."""

    kind: Literal["npx", "uvx"]
    package: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict)
    python: str | None = None

    def command_in(self, folder: Path) -> tuple[str, ...]:
        """The command, in which npx looks in *folder* instead of the workspace."""
        if self.kind == "uvx":
            return self.words
        return (*self.words[:2], f"{PREFIX_OPTION}{folder}", *self.words[2:])

    @property
    def words(self) -> tuple[str, ...]:
        """The command as one types it."""
        if self.kind == "npx":
            return ("npx", "--yes", self.package, *self.args)
        python = () if self.python is None else ("--python", self.python)
        return ("uvx", *python, self.package, *self.args)

    def pinned(self, install: str) -> str:
        """The command line *install* with this version, if it installs the same package, else unchanged."""
        name = self.package.partition("==")[0]
        if self.kind == "npx":
            name = self.package[:1] + self.package[1:].partition("@")[0]  # a scope also begins with @
        own = "npm" if self.kind == "npx" else "uv"
        words = install.split(" ")
        return " ".join(self.package if word == name else word for word in words) if words[0] == own else install

    @property
    def install(self) -> str:
        """The line that installs the same package."""
        if self.kind == "npx":
            return f"npm install -g {self.package}"
        return f"uv tool install {self.package}" + ("" if self.python is None else f" --python {self.python}")


def read_registry(data: bytes) -> Registry:
    if len(data) > LARGEST:
        _refuse(f"it has more than {LARGEST // 1024:,} KB")
    try:
        registry = read_record(data, Registry)
    except ValueError as error:
        _refuse(_UNSHOWN.sub(" ", str(error))[:200])
    if len(registry.agents) > MOST_AGENTS:
        _refuse(f"it has {len(registry.agents):,} agents; the limit is {MOST_AGENTS}")
    seen: set[str] = set()
    for agent in registry.agents:
        _check(agent)
        if agent.id in seen:
            _refuse(f"it has two agents with the id {agent.id!r}")
        seen.add(agent.id)
    return registry


def runner_of(agent: RegistryAgent, python: str | None = None) -> PackageRunner | None:
    """Returns how *agent* is run from a package index, with its version; None if it is a program to download."""
    npx, uvx = agent.distribution.npx, agent.distribution.uvx
    if npx is not None:
        package = _pinned(_NPM.match(npx.package), "@", agent.version)
        return PackageRunner(kind="npx", package=package, args=npx.args, env=npx.env)
    if uvx is not None:
        package = _pinned(_PYTHON.match(uvx.package), "==", agent.version)
        return PackageRunner(kind="uvx", package=package, args=uvx.args, env=uvx.env, python=python)
    return None


def _pinned(package: re.Match[str] | None, sign: str, version: str) -> str:
    assert package is not None  # noqa: S101 - a registry with another form is refused
    return f"{package['name']}{sign}{package['version'] or version}"


@functools.cache
def snapshot() -> Registry:
    """The registry that ships with agentnb."""
    return read_registry(Path(__file__).with_name("registry.json").read_bytes())


def registry_file() -> Path:
    """Returns the path of the user's newer registry."""
    return config_folder() / "registry.json"


def current() -> tuple[dict[str, RegistryAgent], str | None]:
    """The snapshot's agents, overridden by the user's newer registry, and what is wrong with that one, if anything."""
    agents = {agent.id: agent for agent in snapshot().agents}
    newer, wrong = _newer(registry_file())
    return {**agents, **{agent.id: agent for agent in newer}}, wrong


def _newer(file: Path) -> tuple[tuple[RegistryAgent, ...], str | None]:
    try:
        known = file.stat()
    except FileNotFoundError:
        return (), None
    except OSError as error:
        return (), f"{file}: {error.strerror}"
    return _read_file(file, known.st_mtime_ns, known.st_size)


@functools.lru_cache(maxsize=2)
def _read_file(file: Path, _modified: int, size: int) -> tuple[tuple[RegistryAgent, ...], str | None]:
    """Read *file*, cached by its time and size; if it is unusable, returns no agents and the reason."""
    try:
        if size > LARGEST:
            _refuse(f"it has more than {LARGEST // 1024:,} KB")
        return read_registry(file.read_bytes()).agents, None
    except (UsageError, OSError) as error:
        return (), f"{file} is ignored: {error}"


def _check(agent: RegistryAgent) -> None:
    """Refuse an entry that must not be shown, then one that must not be run."""
    if not _ID.match(agent.id):
        _refuse(f"an agent's id is lower-case letters, digits and hyphens, not {_quoted(agent.id)}")
    texts = {"name": agent.name, "description": agent.description, "license": agent.license, "icon": agent.icon}
    for field, text in {**texts, "repository": agent.repository, "authors": " ".join(agent.authors)}.items():
        if text is not None and (len(text) > LONGEST_TEXT or _UNSHOWN.search(text)):
            _refuse_in(agent, f"its {field} is too long or has characters that are not shown")
    if not agent.name.strip():
        _refuse_in(agent, "it has no name")
    if not re.match(rf"{_VERSION}\Z", agent.version):
        _refuse_in(agent, f"its version {_quoted(agent.version)} is not valid")
    if agent.repository is not None and not _is_address(agent.repository):
        _refuse_in(agent, f"its repository {_quoted(agent.repository)} is not an https address")
    if agent.icon is not None and not (_is_address(agent.icon) or _is_inner_path(agent.icon)):
        _refuse_in(agent, "its icon is neither an https address nor a file beside it")
    _check_distribution(agent)


def _check_distribution(agent: RegistryAgent) -> None:
    distribution = agent.distribution
    for pattern, package, index in ((_NPM, distribution.npx, "npm"), (_PYTHON, distribution.uvx, "Python")):
        if package is None:
            continue
        if not pattern.match(package.package):
            _refuse_in(agent, f"{_quoted(package.package)} is not a valid name of a {index} package")
        _check_words(agent, package.args, package.env)
    for target in (distribution.binary or {}).values():
        if not _is_address(target.archive):
            _refuse_in(agent, f"its archive {_quoted(target.archive)} is not an https address")
        if not _is_inner_path(target.cmd) or _SHELL.search(target.cmd):
            _refuse_in(agent, f"its command {_quoted(target.cmd)} is not a file in its archive")
        _check_words(agent, target.args, target.env)


def _check_words(agent: RegistryAgent, args: Iterable[str], env: dict[str, str]) -> None:
    words = tuple(args)
    if len(words) > MOST_WORDS or len(env) > MOST_WORDS:
        _refuse_in(agent, f"it has more than {MOST_WORDS} arguments or variables")
    for word in words:
        if not word or len(word) > LONGEST_TEXT or _SHELL.search(word):
            _refuse_in(agent, f"its argument {_quoted(word)} is empty, too long, or has shell syntax")
    for name, value in env.items():
        if not _VARIABLE.match(name) or _DECIDING.match(name):
            _refuse_in(agent, f"it sets the variable {_quoted(name)}, which a registry may not")
        if len(value) > LONGEST_TEXT or _SHELL.search(value):
            _refuse_in(agent, f"the value of its variable {name} is too long or has shell syntax")


def _is_address(text: str) -> bool:
    return re.match(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[^\s\"'<>`\\^{|}]*)?\Z", text) is not None


def _is_inner_path(text: str) -> bool:
    """True if *text* is the relative path of a file, in plain characters, that stays in its folder."""
    if not re.match(r"(?:\./)?[A-Za-z0-9_@+. -][A-Za-z0-9_@+./ -]*\Z", text):
        return False
    return ".." not in text.split("/") and not text.startswith(("-", "/"))


def _quoted(text: str) -> str:
    return repr(_UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", text[:60]))


def _refuse_in(agent: RegistryAgent, why: str) -> NoReturn:
    _refuse(f"of {agent.id!r}: {why}")


def _refuse(why: str) -> NoReturn:
    raise UsageError(f"This is not a registry that can be used: {why}.", hint="Nothing was changed.")


def older(version: str | None, least: str) -> bool:
    """True if *version* is known, and comes before *least*."""
    actual, wanted = _numbers(version or ""), _numbers(least)
    length = max(len(actual), len(wanted))
    return bool(actual) and actual + (0,) * (length - len(actual)) < wanted + (0,) * (length - len(wanted))


def _numbers(version: str) -> tuple[int, ...]:
    begin = re.match(r"v?(\d+(?:\.\d+)*)", version.strip())
    return tuple(map(int, begin[1].split("."))) if begin else ()


SECONDS = 30.0
"""Seconds that the whole download may take."""
_PIECE = 64 * 1024
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Updated(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    agents: int
    versions: tuple[str, ...]


def update_registry(source: str) -> Updated:
    """Read a registry from *source* and keep it for this user."""
    data = _download(source) if "://" in source else _read(Path(source).expanduser())
    registry = read_registry(data)
    file = registry_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, data, mode=0o644, sync=True)
    except OSError as error:
        raise _failed(str(file), error.strerror or str(error), "be written") from error
    return Updated(path=str(file), agents=len(registry.agents), versions=_changed(registry))


def _changed(registry: Registry) -> tuple[str, ...]:
    known = {agent.id: agent.version for agent in snapshot().agents}
    return tuple(
        f"{agent.id} {known[agent.id]} → {agent.version}" if agent.id in known else f"{agent.id} {agent.version}"
        for agent in registry.agents
        if known.get(agent.id) != agent.version
    )


def _read(file: Path) -> bytes:
    try:
        if not file.is_file():
            raise _failed(str(file), "there is no such file")
        with file.open("rb") as opened:
            return opened.read(LARGEST + 1)
    except OSError as error:
        raise _failed(str(file), error.strerror or str(error)) from error


def _download(address: str) -> bytes:
    _check_address(address)
    request = urllib.request.Request(address, headers={"Accept": "application/json", "User-Agent": "agentnb"})  # noqa: S310 - checked above
    opener = urllib.request.build_opener(_Redirects())
    try:
        with opener.open(request, timeout=SECONDS) as answer:
            return _read_within(answer, time.monotonic() + SECONDS)
    except urllib.error.HTTPError as error:
        with error:
            raise _failed(address, f"the server answered {error.code}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise _failed(address, str(reason)[:200]) from error


def _read_within(answer: IO[bytes], deadline: float) -> bytes:
    """Read at most one byte more than a registry may have; a server too slow for *deadline* is given up."""
    read1 = getattr(answer, "read1", answer.read)
    data = bytearray()
    while len(data) <= LARGEST:
        if time.monotonic() > deadline:
            raise TimeoutError(f"it took more than {SECONDS:.0f} seconds")
        piece = read1(_PIECE)
        if not piece:
            break
        data += piece
    return bytes(data)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to another address that the user could have named."""

    def redirect_request(  # noqa: PLR0917 - urllib's signature
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        _check_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_address(address: str) -> None:
    try:
        parts = urllib.parse.urlsplit(address)
        is_allowed = bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        )
    except ValueError:
        is_allowed = False
    if not is_allowed:
        raise _failed(address, "an address must start with https:// (http:// only on this machine)")


def _failed(source: str, why: str, what: str = "be read") -> UsageError:
    return UsageError(f"{source[:300]} could not {what}: {why}.", hint="The previous registry stays.")
