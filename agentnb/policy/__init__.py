"""Decides what an agent may do: policy requests, rules, and the boundary of the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.one_at_a_time import names_at_first_use

if TYPE_CHECKING:
    from agentnb.policy.audit import Record as Record
else:
    __getattr__, __dir__ = names_at_first_use(
        __name__,
        {
            "Record": "agentnb.policy.audit",
        },
    )

__all__ = ["Record"]
