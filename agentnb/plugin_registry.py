"""Finds, loads and lists plug-ins (:mod:`agentnb.ports`)."""

from __future__ import annotations

import contextlib
import functools
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.errors import AgentnbError, PluginFailed, UsageError, unexpected
from agentnb.folders import config_folder
from agentnb.ports import PORTS, PORTS_VERSION, Plugin
from agentnb.site_policy import site_policy
from agentnb.toml_file import parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from importlib.metadata import EntryPoint

GROUP = "agentnb.plugins"
"""The entry-point group."""
VARIABLE = "AGENTNB_PLUGINS"
"""An environment variable with the names of the only plug-ins to load, separated by commas; empty: none."""
SETTING = "plugins_off"


class Problem(NamedTuple):
    """The reason a plug-in is not loaded, or does not work."""

    plugin: str
    message: str


class Plugins:
    """The installed plug-ins, each loaded once, at the first use of any port."""

    def __init__(self, entry_points: Iterable[EntryPoint], is_off: Callable[[str], bool]) -> None:
        self._entry_points = sorted(entry_points, key=lambda each: each.name)
        self._is_off = is_off
        self._problems: dict[str, Problem] = {}
        self._reported: set[Problem] = set()

    @functools.cached_property
    def loaded(self) -> dict[str, Plugin]:
        """The plug-ins that work, by name."""
        plugins = [self._load(each) for each in self._entry_points if not self._is_off(each.name)]
        return {each.name: each for each in plugins if each is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all installed plug-ins."""
        return tuple(each.name for each in self._entry_points)

    @property
    def switched_off(self) -> tuple[str, ...]:
        """The names of the plug-ins that a setting or the site's policy switches off."""
        return tuple(each.name for each in self._entry_points if self._is_off(each.name))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Returns the reasons that plug-ins are not loaded, or failed in a port."""
        self.loaded  # noqa: B018 - loads them
        return tuple(self._problems.values())

    def new_problems(self) -> list[Problem]:
        """Returns the problems that no chat has reported yet; each is returned once."""
        problems = [each for each in self.problems if each not in self._reported]
        self._reported.update(problems)
        return problems

    def listing(self) -> str:
        """The plug-ins and what each adds, in lines; problems last."""
        lines = []
        for plugin in self.loaded.values():
            lines.append(f"{plugin.name}: {plugin.summary}")
            lines += [f"    {port}: {', '.join(names)}" for port, names in plugin.offers.items()]
        lines += [f"{name}: {_refused(name) or 'switched off'}" for name in self.switched_off]
        lines += [each.message for each in self.problems]
        return "\n".join(lines) or "There are no plug-ins."

    def offers(self, port: str) -> Iterator[tuple[Plugin, Any]]:
        """Each offer of *port* with its plug-in, in the order of the plug-ins' names."""
        if port not in PORTS:
            raise ValueError(f"there is no port {port!r}")
        for plugin in self.loaded.values():
            for each in getattr(plugin, port):
                yield plugin, each

    def first(self, port: str) -> Any:
        """The first offer of *port*; None where there is none."""
        return next((offer for _, offer in self.offers(port)), None)

    def failed(self, plugin: str, port: str, error: BaseException) -> str:
        """Remember that *plugin* raised *error* in *port*; returns the sentence that says so."""
        message = f"The plug-in {plugin!r} failed in {port}: {_reason(error)} {_advice(plugin)}"
        self._problems.setdefault(plugin, Problem(plugin, message))
        return message

    @contextlib.contextmanager
    def guard(self, plugin: str, port: str) -> Iterator[None]:
        """Run code of *plugin* in *port*; its own errors are remembered and raised as a PluginFailed that names it."""
        try:
            yield
        except AgentnbError:
            raise
        except Exception as error:  # a plug-in may raise any exception
            raise PluginFailed(self.failed(plugin, port, error)) from error

    def _load(self, entry: EntryPoint) -> Plugin | None:
        try:
            plugin = entry.load()
            if not isinstance(plugin, Plugin):
                raise UsageError(f"{entry.value} is a {type(plugin).__name__}, not an agentnb.ports.Plugin.")
            if plugin.ports != PORTS_VERSION:
                message = (
                    f"it was made for version {plugin.ports} of the ports; this agentnb has version {PORTS_VERSION}."
                )
                raise UsageError(message)
            if plugin.name != entry.name:
                raise UsageError(f"it calls itself {plugin.name!r}.")
        except Exception as error:  # noqa: BLE001 - somebody else's code
            message = f"The plug-in {entry.name!r} could not be loaded: {_reason(error)} {_advice(entry.name)}"
            self._problems[entry.name] = Problem(entry.name, message)
            return None
        return plugin


@functools.cache
def plugins() -> Plugins:
    from importlib.metadata import entry_points  # takes 50 ms

    return Plugins(entry_points(group=GROUP), _is_off())


def _is_off() -> Callable[[str], bool]:
    """Returns a test for plug-ins that `AGENTNB_PLUGINS`, the user's setting ``plugins_off`` or the site switch off."""
    only, off = os.environ.get(VARIABLE), _setting()
    names = None if only is None else {each.strip() for each in only.split(",")}
    return lambda name: name in off or (names is not None and name not in names) or _refused(name) is not None


def _refused(name: str) -> str | None:
    """Returns the reason the site does not allow the plug-in, or None if it does."""
    return site_policy().why_not("plugins", name)


def _setting() -> Collection[str]:
    try:
        value = parsed((config_folder() / "settings.toml").read_text("utf-8")).get(SETTING, [])
    except (OSError, ValueError):
        return ()  # the error is reported where the settings are read
    return value if isinstance(value, list) else ()


def _reason(error: BaseException) -> str:
    own = isinstance(error, (AgentnbError, ImportError))
    reason = f"{error}" if own else unexpected(error)
    return reason if reason.endswith(".") else f"{reason}."


def _advice(name: str) -> str:
    return f"Update it, or switch it off: `agentnb settings {SETTING} {name}`."
