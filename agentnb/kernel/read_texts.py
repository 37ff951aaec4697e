"""What an agent has read of the notebooks' cells: a cell that has another text since is not changed."""

from __future__ import annotations


class ReadTexts:
    """The cells' texts as the agent was last given them, by notebook: a copy has cells with the same ids."""

    def __init__(self) -> None:
        self._texts: dict[str, dict[str, str]] = {}

    def note(self, notebook: str, cell_id: str, text: str | None) -> None:
        """The agent knows *text* of the cell; None: nothing any longer."""
        known = self._texts.setdefault(notebook, {})
        known.pop(cell_id, None)
        if text is not None:
            known[cell_id] = text

    def text(self, notebook: str, cell_id: str) -> str | None:
        """The text that the agent knows; of a notebook that it has not read by this name, which may be new, by any."""
        if (known := self._texts.get(notebook)) is not None:
            return known.get(cell_id)
        return next((each[cell_id] for each in reversed(self._texts.values()) if cell_id in each), None)
