"""The terminals of a chat: as a tuple, but found and replaced in constant time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentnb.state import (
    ChatState,
    TerminalView,
    TerminalViews,
    XTerminalData,
    XTerminalExited,
    XTerminalOpened,
    reduce_chat,
)
from agentnb.state.change import upsert
from tests.unit.linear import is_linear

TERMINALS = st.builds(TerminalView, id=st.integers(0, 90).map(str), command=st.sampled_from(["ls", "make"]))


@given(first=st.lists(TERMINALS, max_size=80), then=st.lists(TERMINALS, max_size=80), other=st.lists(TERMINALS))
def test_terminals_are_added_and_replaced_as_in_a_tuple(
    first: list[TerminalView], then: list[TerminalView], other: list[TerminalView]
) -> None:
    """By their ids; what another version has added does not show."""
    begun = TerminalViews()
    for terminal in first:
        begun = begun.with_terminal(terminal)
    changed, expected = begun, tuple(begun)
    for terminal in other:
        begun.with_terminal(terminal)
    for terminal in then:
        changed, expected = changed.with_terminal(terminal), upsert(expected, terminal, "id")
    assert changed == expected
    assert [changed.find(each.id) for each in expected] == list(range(len(expected)))


def test_a_terminal_that_is_the_same_changes_nothing() -> None:
    """The very same object comes back."""
    terminals = TerminalViews([TerminalView(id="1", command="ls")])
    assert terminals.with_terminal(TerminalView(id="1", command="ls")) is terminals


def use(count: int) -> None:
    """*count* terminals, each opened, printing and ended."""
    chat = ChatState(resource="a:/1/chat", title="", status=1, modified_at="", turns=())
    for number in range(count):
        view = TerminalView(id=str(number), command="ls")
        for action in (
            XTerminalOpened(terminal=view),
            XTerminalData(terminal_id=view.id, data="a"),
            XTerminalExited(terminal_id=view.id, exit_code=0),
        ):
            chat = reduce_chat(chat, action)


def test_a_terminal_costs_the_same_however_many_came_before_it() -> None:
    assert is_linear(use, 1_000)
