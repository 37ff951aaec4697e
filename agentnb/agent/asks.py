"""How an agent is made to ask its client before it acts, as its description says (``[asks]``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

MODE = "mode"


class Asks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings that make an agent ask before it edits files or runs commands."""

    mode: str | None = None
    modes: tuple[str, ...] = ()
    options: dict[str, str | bool] = msgspec.field(default_factory=dict)
    env: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def settings(self) -> dict[str, tuple[str | bool, ...]]:
        """The values with which it asks, by setting; the first one is set."""
        mode = {} if self.mode is None else {MODE: (self.mode, *self.modes)}
        return {**mode, **{option: (value,) for option, value in self.options.items()}}

    def overruled(self, environ: Mapping[str, str]) -> str | None:
        """The variable that has another value in *environ*, if there is one."""
        return next((name for name, value in self.env.items() if environ.get(name) != value), None)
