"""One row of the benchmarks' table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Row:
    """A measured number, what it is compared with, and its limits.

    Args:
        what: A few words.
        value: The number.
        unit: Its unit.
        beside: The number it is compared with, in the same unit.
        beside_name: The name of *beside*.
        at_least: The smallest accepted ratio ``value / beside`` (or value, without *beside*).
        at_most: The largest.

    Example:
        >>> Row(what="chunks", value=90.0, unit="/s", beside=30.0, beside_name="SDK", at_least=3.0).kept
        True
    """

    what: str
    value: float
    unit: str
    beside: float | None = None
    beside_name: str = ""
    at_least: float | None = None
    at_most: float | None = None

    @property
    def ratio(self) -> float | None:
        """``value / beside``."""
        return None if not self.beside else self.value / self.beside

    @property
    def kept(self) -> bool | None:
        """True if the limit was kept; None without a limit."""
        judged = self.value if self.ratio is None else self.ratio
        if self.at_least is not None and judged < self.at_least:
            return False
        if self.at_most is not None and judged > self.at_most:
            return False
        return None if self.at_least is None and self.at_most is None else True

    def columns(self) -> tuple[str, str, str, str, str, str]:
        beside = "" if self.beside is None else f"{self.beside_name} {self.beside:,.1f} {self.unit}"
        limits = [f"≥ {self.at_least:g}" if self.at_least is not None else ""]
        limits += [f"≤ {self.at_most:g}" if self.at_most is not None else ""]
        verdict = {True: "kept", False: "NOT KEPT", None: ""}[self.kept]
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        return self.what, f"{self.value:,.1f} {self.unit}", beside, ratio, " ".join(filter(None, limits)), verdict
