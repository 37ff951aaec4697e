"""The settings in IPython: ``%config Agentnb`` and ``c.Agentnb`` in ``ipython_config.py``, over the user's file."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from traitlets import Bool, Dict, Enum, Float, List, TraitError, TraitType, Unicode, Union
from traitlets.config import Config, Configurable

from agentnb.configuration.named_things import missing, missing_things
from agentnb.configuration.site_settings import Layer
from agentnb.configuration.sources import USER, Sources, read_settings
from agentnb.configuration.table import SETTINGS
from agentnb.credentials import Credentials
from agentnb.errors import PolicyError, UnknownAgent, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from traitlets import Bunch

    from agentnb.configuration.setting import Setting


def say(message: str, *, warns: bool = True) -> None:
    """Write *message*, without credentials, to the running cell; main thread only. A warning is red."""
    (sys.stderr if warns else sys.stdout).write(f"{Credentials(os.environ).hidden_in_command(message)}\n")


def _trait(setting: Setting) -> TraitType[Any, Any]:
    default = setting.default if setting.unset is None else setting.unset
    traits: dict[str, TraitType[Any, Any]] = {
        "switch": Bool(default, help=setting.about) if setting.kind == "switch" else Bool(),
        "choice": Enum(list(setting.choices), default_value=default, help=setting.about),
        "number": Float(default if setting.kind == "number" else 0.0, min=0.0, help=setting.about),
        "names": List(Unicode(), help=setting.about),
        "servers": Union([Dict(), Unicode()], default_value={}, help=setting.about),
    }
    return traits.get(setting.kind, Unicode(str(default), help=setting.about)).tag(config=True)


class Agentnb(Configurable):
    """Settings of agentnb, those of :mod:`agentnb.configuration`.

    A trait has the value that applies: from ``%config`` or ``ipython_config.py``, else from the environment, the
    project's file or the user's file (:meth:`refresh` reads these again), else the default.
    """

    vars().update({each.name: _trait(each) for each in SETTINGS.values() if each.trait})

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, **arguments: Any) -> None:
        self._chosen: set[str] = set()
        self._lock = threading.RLock()
        self._is_reading = False
        super().__init__(**arguments)
        self._startup: set[str] = set(self.config.get(Agentnb.__name__, {}))
        self.observe(self._changed)

    def refresh(self) -> Sources:
        """Read files and variables again, for traits that are not set here."""
        sources = read_settings(self.layers())
        with self._lock:
            self._is_reading = True
            try:
                for name, value in sources.values.items():
                    which = value.setting
                    if which.trait and which.file == USER and getattr(self, name) != value.value:
                        setattr(self, name, value.value)
            finally:
                self._is_reading = False
        return sources

    def layers(self) -> dict[str, Layer]:
        """The settings of ``%config`` and ``ipython_config.py``, by name."""
        names = {*self.config.get(Agentnb.__name__, {}), *self._chosen}
        layers = {}
        for name in names & set(SETTINGS):
            if SETTINGS[name].trait:
                is_chosen = name in self._chosen or name not in self._startup
                layers[name] = Layer("%config" if is_chosen else "startup", getattr(self, name))
        return layers

    def choose(self, name: str, value: Any) -> None:
        """Set *name* in this kernel, as ``%config`` does; None removes the setting."""
        which = SETTINGS[name]
        read_settings()[name].demand_free(value)
        if not which.trait:
            message = f"{name} cannot be set for this kernel alone."
            raise UsageError(message, hint="Set it in your file, or in the environment.")
        with self._lock:
            if value is None:
                self._chosen.discard(name)
                self._startup.discard(name)
                self.config.get(Agentnb.__name__, {}).pop(name, None)
                self._is_reading = True
                try:
                    setattr(self, name, self.traits()[name].default())
                finally:
                    self._is_reading = False
                self.refresh()
            else:
                checked = which.check(value)
                if (error := missing(name, checked)) is not None:
                    raise error
                setattr(self, name, checked)
                self._chosen.add(name)

    @contextlib.contextmanager
    def named_agent(self, name: str | None) -> Iterator[str]:
        """The agent *name*, else the default one; if the settings name an unknown one, the error says where."""
        from agentnb.api.configured import default_agent  # imported here: it loads the host

        try:
            yield name or self.agent or default_agent()
        except UnknownAgent as error:
            if name:
                raise
            origin = self.refresh()["agent"].origin
            raise UnknownAgent(f"{origin}: {error.message}", hint=error.hint) from None

    def _changed(self, change: Bunch) -> None:
        if not self._is_reading and change.name in SETTINGS:
            self._chosen.add(change.name)
            error = missing(change.name, change.new)
            try:
                read_settings()[change.name].demand_free(change.new)
            except PolicyError as locked:
                error = locked
            if error is not None and not _is_replayed():
                say(f"%config Agentnb.{change.name}: {error}")


def settings_of(shell: Any) -> Agentnb:
    """The settings in *shell*'s configuration; invalid ones are left out and reported."""
    section = shell.config.get(Agentnb.__name__, {})
    for name, value in list(section.items()):
        try:
            Agentnb(config=Config({Agentnb.__name__: {name: value}}))
        except TraitError as error:
            del section[name]
            say(f"The setting Agentnb.{name} is ignored. {error}")
    settings = Agentnb(parent=shell)
    sources = settings.refresh()
    for problem in (*sources.problems, *([] if _is_replayed() else missing_things(sources))):
        say(problem)
    return settings


def _is_replayed() -> bool:
    """True if a cassette describes the agents: then it does not matter which are installed."""
    return bool(os.environ.get("AGENTNB_CASSETTE"))
