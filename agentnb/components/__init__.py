"""Components: what may stand between client and agent in a chain (:mod:`agentnb.conductor`).

Example:
    >>> from agentnb.components import Component
    >>> class Shout(Component):
    ...     def on_update(self, session_id, update):
    ...         text = update.get("content", {}).get("text")
    ...         return update if text is None else {**update, "content": {"type": "text", "text": text.upper()}}
    >>> session = agentnb.start("eliza", components=[Shout])  # doctest: +SKIP
"""

from agentnb.components.component import Component, Tool
from agentnb.components.shipped import shipped

__all__ = ["Component", "Tool", "shipped"]
