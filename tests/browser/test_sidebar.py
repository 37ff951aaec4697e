"""The sidebar in a real JupyterLab."""

from __future__ import annotations

import pytest

from tests.browser.lab import Lab, notebook
from tests.browser.side import Side


@pytest.fixture
def side(lab: Lab) -> Side:
    """The sidebar of a page."""
    return Side(lab.page)


def test_one_click_opens_the_chat_without_any_code(lab: Lab, side: Side, kernel_name: str) -> None:
    """The icon loads agentnb in the notebook's kernel: no cell has run, and the chat answers."""
    lab.open(f"side-{kernel_name}.ipynb", notebook("x = 1", kernel=kernel_name))
    side.open()
    side.start()
    side.say("/say from the sidebar")
    side.expect_text("from the sidebar")
    lab.picture(f"sidebar-{kernel_name}")
    cell = lab.cell(0)
    cell.run()
    cell.expect_done(1)
