"""What is known of a run whatever came of it: the answer, and what the agent asked for and used."""

from __future__ import annotations

from typing import Any

import msgspec


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent said, asked for and used in a run.

    Attributes:
        answer: The agent's answer.
        asked: How often it asked for permission.
        denied: How often that was denied.
        tokens: The tokens that it used, where it says so.
        costs: What it cost, by currency, where it says so.
        seconds: How long it took.
        is_confined: Whether it could reach its workspace only.
    """

    answer: str = ""
    asked: int = 0
    denied: int = 0
    tokens: int | None = None
    costs: dict[str, float] = {}
    seconds: float = 0.0
    is_confined: bool = False

    @property
    def figures(self) -> dict[str, Any]:
        """These fields, for another value that has them."""
        return {name: getattr(self, name) for name in Figures.__struct_fields__}
