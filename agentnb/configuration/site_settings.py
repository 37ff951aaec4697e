"""The settings that the site's policy sets, for which no other source counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from agentnb import site_policy
from agentnb.agent.confinement import EVERY
from agentnb.configuration.setting import Setting, size_of
from agentnb.configuration.table import setting
from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.site_policy import SiteFile

Source: TypeAlias = Literal["site", "%config", "startup", "environment", "project", "user", "default"]
ELSEWHERE = {
    "confine": 'Write [agents."*"] with confine = true, "no network" or a list of hosts.',
    "permissions": 'Write freedom_at_most = "ask", "edit" or "auto" at the top of the file.',
    "freedom": 'Write freedom_at_most = "ask", "edit" or "auto" at the top of the file.',
    "headless": 'Write freedom_at_most = "auto" at the top of the file: then headless = "allow" has no effect.',
    "cell_review": 'Write cell_review = "first" at the top of the file.',
    "plugins_off": 'Write [site.plugins] with deny = ["…"].',
}
"""Settings that the site's file writes in another form, which also limits values given in code."""


class Layer(msgspec.Struct, frozen=True):
    """The value of a setting in one source."""

    source: Source
    value: Any
    where: str = ""
    line: int = 0


def settings_of(files: Iterable[SiteFile]) -> tuple[dict[str, Layer], str | None]:
    """Returns what *files* set, the tighter of two values, and the problem with them, or None."""
    tightest: dict[str, Layer] = {}
    for file in files:
        try:
            layers = {name: _layer(file, name) for name in file.settings}
        except UsageError as error:
            return tightest, f"{error} Until then no agent starts."
        for name, layer in layers.items():
            if name not in tightest or is_tighter(setting(name), layer.value, tightest[name].value):
                tightest[name] = layer
    return tightest, None


def _layer(file: SiteFile, name: str) -> Layer:
    entry = file.settings[name]
    place = f"{file.place(entry.line)} in {site_policy.TABLE}.settings"
    try:
        if name in ELSEWHERE:
            raise UsageError(f"{name} is not set here.", hint=ELSEWHERE[name])
        return Layer("site", setting(name).check(entry.value), str(file.path), entry.line)
    except UsageError as error:
        raise UsageError(f"{place}: {error.message}", hint=error.hint) from None


def site_bounds() -> dict[str, Layer]:
    """Returns the widest values that the site's policy allows settings by what it says outside its settings."""
    bounds: dict[str, Layer] = {}
    if not site_policy.site_policy().files:  # most machines have none; the import below takes time
        return bounds
    from agentnb.policy.store import PolicyFiles

    for path, policy in PolicyFiles().of_site:
        widest: dict[str, Any] = {}
        if policy.freedom_at_most is not None:
            widest |= {"freedom": policy.freedom_at_most, "permissions": "ask", "headless": "deny"}
        if policy.cell_review == "first":
            widest["cell_review"] = "first"
        if confine := policy.confine.get(EVERY):
            widest["confine"] = "no network" if confine == "no network" else "on"
        for name, value in widest.items():
            if name not in bounds or is_tighter(setting(name), value, bounds[name].value):
                bounds[name] = Layer("site", value, str(path))
    return bounds


def is_tighter(which: Setting, value: Any, other: Any) -> bool:
    """True if *value* lets agents do less than *other*, or retains less."""
    if value in which.order:
        return other not in which.order or which.order.index(value) < which.order.index(other)
    if which.name == "log_days":
        return bool(0 < value < (other or float("inf")))
    if which.name == "log_max":
        return (size_of(value) or float("inf")) < (size_of(other) or float("inf"))
    return False
