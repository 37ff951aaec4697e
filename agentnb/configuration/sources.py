"""The values in force, and where each comes from; environment variables that make no sense are named."""

from __future__ import annotations

import functools
import os
import re
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentnb import distribution, site_policy
from agentnb.configuration.setting import BUDGETS, Setting, size_of
from agentnb.configuration.site_settings import Layer, Source, is_tighter, settings_of, site_bounds
from agentnb.configuration.table import GROUPS, SETTINGS, setting
from agentnb.errors import PolicyError, UsageError
from agentnb.folders import config_folder
from agentnb.toml_file import parsed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentnb.policy.keys import Mode


_WORDS = {"AGENTNB_AUDIENCE": ("nobody",), "AGENTNB_IDS": ("counted",), "AGENTNB_EVENTS_TEXT": ("0", "1")}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_reported: set[str] = set()


def wrong_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Returns a sentence for each variable with an invalid value."""
    return [
        f"{name} cannot be {value!r:.200}. {wanted} It has no effect."
        for name in (*_WORDS, "AGENTNB_PROGRESS_SECONDS", "AGENTNB_CHANGES_MAX")
        if (value := environ.get(name, "").strip()) and (wanted := _wanted(name, value))
    ]


def tell_wrong_variables() -> None:
    """Write each wrong variable to stderr, once per process: for programs, which do not load the extension."""
    for each in (*_of_settings(os.environ), *wrong_variables()):
        if each not in _reported:
            _reported.add(each)
            sys.stderr.write(f"agentnb: {each}\n")


def _of_settings(environ: Mapping[str, str]) -> list[str]:
    problems = []
    for each in SETTINGS.values():
        text = environ.get(each.variable, "") if each.variable else ""
        try:
            if text.strip():
                each.read(text)
        except UsageError as error:
            problems.append(f"{each.variable}: {error} It has no effect.")
    return problems


def _wanted(name: str, value: str) -> str:
    """Returns what the variable accepts, if *value* is not valid; else ''."""
    if name in _WORDS:
        return "" if value in _WORDS[name] else f"It must be {' or '.join(_WORDS[name])}."
    if name == "AGENTNB_PROGRESS_SECONDS":
        return "" if _NUMBER.fullmatch(value) else "It must be a number of seconds."
    return "" if size_of(value) is not None else "It must be a size, such as 500M or 2G."


USER = "settings.toml"
PROJECT = Path(".agentnb", USER)
"""The project's file, in the workspace; it can only choose narrower values."""
SOURCES: dict[Source, str] = {
    "site": site_policy.SET_BY,
    "%config": "%config in this kernel",
    "startup": "ipython_config.py",
    "environment": "environment variable",
    "project": "the project's file",
    "user": "your file",
    "default": "default",
}
"""The sources of values, in words."""


class SettingValue(msgspec.Struct, frozen=True, kw_only=True):
    """A setting as it is now, with its value in each source, the one that counts first."""

    setting: Setting
    layers: tuple[Layer, ...]
    problem: str | None = None
    bound: Layer | None = None

    @property
    def name(self) -> str:
        return self.setting.name

    @property
    def group(self) -> str:
        return self.setting.group

    @property
    def about(self) -> str:
        return self.setting.about

    @property
    def value(self) -> Any:
        return self.layers[0].value

    @property
    def source(self) -> Source:
        return self.layers[0].source

    @property
    def is_locked(self) -> bool:
        """True if the site's policy sets it, so that no other source counts."""
        return self.source == "site"

    @property
    def choices(self) -> dict[str, str]:
        """The values of a choice that the site's policy allows, each with its label."""
        every = self.setting.choices
        return {each: every[each] for each in every if self.bound is None or not self._is_beyond(self.bound, each)}

    def demand_free(self, value: Any) -> None:
        """Raise if the site's policy does not let users set *value*."""
        fixed = self.layers[0] if self.is_locked and self.bound is None else None
        if value is not None and (fixed is not None or (self.bound is not None and self._is_beyond(self.bound, value))):
            layer = fixed or self.bound
            assert layer is not None  # noqa: S101 - for mypy
            most = "is" if fixed is not None else "is at most"
            where = f"{layer.where}, line {layer.line}" if layer.line else layer.where
            raise PolicyError(f"{self.name} {most} {layer.value!r:.200}: {site_policy.SET_BY} ({where}).")

    def _is_beyond(self, bound: Layer, value: Any) -> bool:
        order = self.setting.order
        return value in order and is_tighter(self.setting, bound.value, value)

    @property
    def is_of_kernel(self) -> bool:
        """True if it was set in this kernel, by ``%config`` or ``ipython_config.py``."""
        return self.source in ("%config", "startup")

    @property
    def where(self) -> str:
        """The file or variable that the value comes from; empty for the default."""
        return self.layers[0].where

    @property
    def origin(self) -> str:
        """The place that sets the value, for an error: file, line and key, the variable, or what was typed."""
        layer, which = self.layers[0], self.setting
        if layer.source in ("user", "project", "site"):
            line = f", line {layer.line}" if layer.line else ""
            return f"{layer.where}{line}, {which.file_key}"
        if layer.source == "environment":
            return f"The environment variable {layer.where}"
        if layer.source == "startup":
            return f"c.Agentnb.{which.name} in ipython_config.py"
        return f"%config Agentnb.{which.name}" if layer.source == "%config" else f"The default of {which.name}"

    @property
    def in_file(self) -> Any:
        """The value in the user's file; None if it is not set there."""
        return next((layer.value for layer in self.layers if layer.source == "user"), None)

    @property
    def file(self) -> Path | None:
        """The user's file that changes are written to; None if no file holds this setting."""
        return config_folder() / self.setting.file if self.setting.file else None


class Sources(msgspec.Struct, frozen=True):
    values: dict[str, SettingValue]
    problems: tuple[str, ...] = ()
    site_problem: str | None = None

    def __getitem__(self, name: str) -> SettingValue:
        return self.values[setting(name).name]

    @property
    def mode(self) -> Mode:
        """The permissions of new conversations: `permissions`, but `freedom` decides if that is "ask"."""
        permissions: Mode = self["permissions"].value
        freedom: Mode = self["freedom"].value
        return freedom if permissions == "ask" else permissions

    @property
    def look(self) -> dict[str, Any]:
        """The values of the appearance settings that are set, by name."""
        return {
            name: each.value for name, each in self.values.items() if each.setting.is_look and each.source != "default"
        }

    def grouped(self) -> Iterator[tuple[str, list[SettingValue]]]:
        for group, title in GROUPS.items():
            settings = [each for each in self.values.values() if each.setting.group == group]
            if settings:
                yield title, settings


def read_settings(
    kernel: Mapping[str, Layer] | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
) -> Sources:
    folder = config_folder(environ)
    files = {name: _read(folder / name) for name in (USER, "local.toml", "policy.toml")}
    project = _read(_here() / PROJECT)
    site, site_problem = settings_of(site_policy.site_policy(environ).files)
    values = {each.name: _value(each, kernel or {}, files, project, environ) for each in SETTINGS.values()}
    for name, layer in site.items():
        values[name] = msgspec.structs.replace(values[name], layers=(layer, *values[name].layers))
    values |= {name: _bounded(values[name], bound) for name, bound in site_bounds().items()}
    problems = [file.problem for file in (files[USER], files["local.toml"], project)]
    policy = files["policy.toml"]
    if policy.data or policy.problem:
        from agentnb.policy.settings import load  # imported here: most kernels have no such file

        problems.append(load(policy.path, "user").problem)
    problems += [*_unknown(files[USER]), *_unknown(project), *(value.problem for value in values.values())]
    problems += [*wrong_variables(environ), site_problem]
    return Sources(values, tuple(dict.fromkeys(each for each in problems if each)), site_problem)


class _File(NamedTuple):
    path: Path
    data: dict[str, Any]
    lines: tuple[str, ...] = ()
    problem: str | None = None


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:  # the working directory was deleted
        return Path(os.sep)


_CACHE: dict[Path, tuple[tuple[int, ...], _File]] = {}
_LOCK = threading.Lock()


def _read(path: Path) -> _File:
    """Returns the file's current content; it is read again only if it has changed."""
    try:
        status = path.stat()
    except OSError:
        return _File(path, {})
    state = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode)
    with _LOCK:
        known = _CACHE.get(path)
    if known is None or known[0] != state:
        known = (state, _loaded(path))
        with _LOCK:
            _CACHE[path] = known
    return known[1]


def _loaded(path: Path) -> _File:
    lines: tuple[str, ...] = ()
    try:
        content = path.read_bytes()
        lines = tuple(content.decode("utf-8", "replace").splitlines())
        data = parsed(content.decode("utf-8"))
    except (OSError, ValueError) as error:
        problem = f"{path} cannot be read: {error}. Fix it; until then none of its settings apply."
        return _File(path, {}, lines, problem)
    if path.name != USER or not distribution.is_too_new(oldest := data.pop(distribution.OLDEST, None)):
        return _File(path, data, lines)
    what = f"{path} was written for a newer agentnb. {distribution.readers(oldest)} {distribution.UPDATE}"
    return _File(path, {}, lines, f"{what} Until then none of its settings apply.")


def _unknown(file: _File) -> list[str]:
    ours = [each.name for each in SETTINGS.values() if each.file == USER]
    problems = []
    for key in file.data:
        if key in ours:
            continue
        try:
            other = setting(key)
        except UsageError as error:
            problems.append(f"{_at(file, key)}: {error}")
        else:
            where = (
                f"It belongs in {other.file}, as {other.file_key}." if other.file else "It can't be saved in a file."
            )
            problems.append(f"{_at(file, key)}: {key!r} has no effect here. {where}")
    return problems


def _at(file: _File, key: str) -> str:
    line = _line_of(file, key)
    return f"{file.path}, line {line}" if line else str(file.path)


def _line_of(file: _File, key: str) -> int:
    wanted = re.compile(rf"\s*\[?[\"']?{re.escape(key)}\b")
    return next((number for number, each in enumerate(file.lines, 1) if wanted.match(each)), 0)


class _Reader:
    """Combines the values of one setting from its sources, the weakest first."""

    def __init__(self, which: Setting) -> None:
        self.which = which
        self.layers = [Layer("default", which.default)]
        self.problems: list[str] = []

    def add(self, source: Source, file: _File, key: str) -> None:
        """Add the value of *key* in a file, if the setting accepts it; else note the problem."""
        place = _at(file, key)
        try:
            checked = self.which.check(file.data[key])
        except UsageError as error:
            self.problems.append(f"{place}: {error} It has no effect.")
            return
        if source != "project" or self._is_narrower(checked, place):
            self.layers.insert(0, Layer(source, checked, str(file.path), _line_of(file, key)))

    def variable(self, environ: Mapping[str, str]) -> Layer | None:
        """Returns the environment variable's value, if the setting accepts it; else None."""
        name = self.which.variable
        text = environ.get(name, "") if name else ""
        if not text.strip():
            return None
        try:
            value = self.which.read(text)
        except UsageError as error:
            self.problems.append(f"{name}: {error} It has no effect.")
            return None
        only_off = self.which.variable_first and self.which.kind == "switch"
        return None if only_off and value else Layer("environment", value, name)

    def _is_narrower(self, value: Any, place: str) -> bool:
        """True if a project may set *value*: an opened repository may only narrow what agents may do."""
        order = self.which.order
        if value in order and order.index(value) <= order.index(self.layers[0].value):
            return True
        hint = "It can only choose values that let agents do less." if order else "It belongs in your own file."
        self.problems.append(f"{place}: A project cannot set {self.which.name} to {value!r}. {hint}")
        return False


def _bounded(value: SettingValue, bound: Layer) -> SettingValue:
    is_beyond = is_tighter(value.setting, bound.value, value.value)
    layers = (bound, *value.layers) if is_beyond else value.layers
    return msgspec.structs.replace(value, layers=layers, bound=bound)


@functools.cache
def _default(name: str) -> SettingValue:
    """Returns a setting that no source sets; most are like that."""
    which = SETTINGS[name]
    return SettingValue(setting=which, layers=(Layer("default", which.default),))


def _value(
    which: Setting,
    kernel: Mapping[str, Layer],
    files: Mapping[str, _File],
    project: _File,
    environ: Mapping[str, str],
) -> SettingValue:
    in_user_file = which.file != "" and which.file_key in files[which.file].data
    in_project = which.file == USER and which.name in project.data
    if not (which.name in kernel or in_user_file or in_project or (which.variable and which.variable in environ)):
        unread = files[which.file] if which.name in BUDGETS else None
        if unread is not None and unread.problem and _line_of(unread, which.file_key):
            return msgspec.structs.replace(_default(which.name), problem=unread.problem)
        return _default(which.name)
    reader = _Reader(which)
    if in_user_file:
        reader.add("user", files[which.file], which.file_key)
    if in_project:
        reader.add("project", project, which.name)
    variable, own = reader.variable(environ), kernel.get(which.name)
    above = [variable, own if own is not None and (which.unset is None or own.value != which.unset) else None]
    overrides = [each for each in (reversed(above) if which.variable_first else above) if each is not None]
    layers = (*reversed(overrides), *reader.layers)
    return SettingValue(setting=which, layers=layers, problem=" ".join(reader.problems) or None)
