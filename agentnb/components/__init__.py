"""Components: what may stand between client and agent in a chain (:mod:`agentnb.conductor`).

Example:
    >>> from agentnb.components import Component
    >>> class Shout(Component):
    ...     def on_update(self, session_id, update):
    ...         text = update.get("content", {}).get("text")
    ...         return update if text is None else {**update, "content": {"type": "text", "text": text.upper()}}
    >>> session = agentnb.start("eliza", components=[Shout])  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.one_at_a_time import names_at_first_use

if TYPE_CHECKING:
    from agentnb.components.component import Component as Component
    from agentnb.components.component import Tool as Tool
    from agentnb.components.shipped_components import shipped as shipped
else:
    __getattr__, __dir__ = names_at_first_use(
        __name__,
        {
            "Component": "agentnb.components.component",
            "Tool": "agentnb.components.component",
            "shipped": "agentnb.components.shipped_components",
        },
    )

__all__ = ["Component", "Tool", "shipped"]
