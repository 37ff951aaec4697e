"""Each method of the protocol by example: what the kernel answers, drops and logs, and the form of its messages.

The inside: the table of methods says which examples there must be, and which actions are generated.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb.errors import ProtocolError
from agentnb.host.intents import DISPATCHABLE
from agentnb.plugin_registry import plugins
from agentnb.server.answers import FromKernel
from agentnb.server.messages import ERRORS
from agentnb.server.methods import COMMON_ERRORS, METHODS, NOTIFICATIONS
from agentnb.state import codec, decode, to_json
from agentnb.state.versions import WINDOW
from tests.thorough import examples
from tests.unit.server.bytes_apart import bytes_apart
from tests.unit.server.message_cases import CLIENT, Kernel, lacks, of
from tests.unit.server.world import TAB
from tests.unit.state.strategies import structs

NOT_ALLOWED = "A client may not dispatch this action."
TO_KERNEL, TO_PAGE = of("toKernel"), of("toPage")
ANSWERED = [name for name in TO_KERNEL if name != "export-session" or "export" in plugins().loaded]
"""A plug-in defines the form of export-session."""
MakeKernel = Callable[[dict[str, Any]], Kernel]


@pytest.fixture
def kernel_of(tmp_path: Path) -> Iterator[MakeKernel]:
    """Makes the kernel of a case."""
    kernels: list[Kernel] = []

    def make(case: dict[str, Any]) -> Kernel:
        log = tmp_path / "log.db" if case.get("log") else None
        large, changed = case.get("large", False), case.get("changed", False)
        kernels.append(Kernel(known=case.get("known", True), log=log, large=large, changed=changed))
        return kernels[-1]

    yield make
    for kernel in kernels:
        kernel.close()


@pytest.mark.parametrize("name", ANSWERED)
def test_page_message_gets_the_expected_answer(
    name: str, kernel_of: MakeKernel, caplog: pytest.LogCaptureFixture
) -> None:
    """Answered, echoed, rejected or dropped, without undocumented messages; a drop is logged once."""
    case = TO_KERNEL[name]
    kernel = kernel_of(case)
    with caplog.at_level(logging.WARNING, "agentnb.comm"):
        heard = kernel.hear(case["message"])
    expected = kernel.filled(case["hears"])
    assert (lacks(expected, heard), len(heard)) == ([], len(expected)), heard
    assert [case.get("logged", "") in record.getMessage() for record in caplog.records] == [True] * ("logged" in case)
    for message in map(bytes_apart, heard):
        _check_form(message, case["method"])


def _check_form(message: Any, method: str | None) -> None:
    """Checks that the method's struct reads the message and writes the same again."""
    envelope = decode(FromKernel, {"to": CLIENT, **message})
    assert envelope.v in WINDOW
    if envelope.error is not None:
        assert envelope.error.code in _codes(method)
    elif envelope.method is not None:
        assert to_json(decode(NOTIFICATIONS[envelope.method].params, envelope.params)) == message["params"]
    else:
        assert to_json(decode(_result(method or ""), envelope.result)) == message["result"]


@pytest.mark.parametrize("name", TO_PAGE)
def test_kernel_message_structs_accept_only_valid_examples(name: str) -> None:
    """These structs and the page's guards must agree on which examples are valid."""
    case = TO_PAGE[name]
    assert _is_of_the_protocol(case["message"], case["method"]) == case["valid"]


def test_every_method_has_a_valid_and_an_invalid_example() -> None:
    """In each direction; a method without parameters and result has no invalid example."""
    methods = METHODS.keys()
    answered = {*NOTIFICATIONS, *(name for name, method in METHODS.items() if method.result is not None)}
    for cases, names in ((TO_KERNEL, methods), (TO_PAGE, answered)):
        assert names - {case["method"] for case in cases.values() if case["valid"]} == set()
    wrong = {case["method"] for case in TO_KERNEL.values() if not case["valid"]}
    assert {name for name in methods if METHODS[name].params.__struct_fields__} - wrong == set()


def kinds(*, dispatchable: bool) -> st.SearchStrategy[Any]:
    """Generates dispatchable actions, or the others."""
    return st.one_of([structs(kind) for kind in codec.ACTIONS.values() if (kind in DISPATCHABLE) == dispatchable])


def reasons(action: Any) -> list[str | None]:
    """Returns the rejection reason of each envelope after a page's *action*, or None."""
    params = {"clientSeq": 1, "channel": f"eliza:/{TAB}/chat", "action": to_json(action)}
    message = {"jsonrpc": "2.0", "v": WINDOW.current, "clientId": CLIENT, "method": "dispatchAction", "params": params}
    heard = Kernel(known=True).hear(message)
    return [envelope.get("rejectionReason") for one in heard for envelope in one["params"]["envelopes"]]


@settings(max_examples=examples(300), database=None)
@given(kinds(dispatchable=False))
def test_action_that_is_not_dispatchable_is_rejected(action: Any) -> None:
    """Its content does not matter."""
    assert reasons(action) == [NOT_ALLOWED]


@settings(max_examples=examples(100), database=None)
@given(kinds(dispatchable=True))
def test_dispatchable_action_is_never_rejected_as_not_allowed(action: Any) -> None:
    """It is applied if it fits the state."""
    assert NOT_ALLOWED not in reasons(action)


def _codes(method: str | None) -> set[int]:
    known = METHODS.get(method or "")
    return {*COMMON_ERRORS, *(known.errors if known else ERRORS)}


def _result(method: str) -> Any:
    return METHODS[method].result


def _is_of_the_protocol(message: Any, method: str | None) -> bool:
    try:
        envelope = decode(FromKernel, message)
        if envelope.to != CLIENT:
            return False
        if envelope.error is not None:
            return envelope.error.code in ERRORS
        if envelope.v not in WINDOW:
            return False
        if envelope.method is not None:
            decode(NOTIFICATIONS[envelope.method].params, envelope.params)
        else:
            decode(_result(method or ""), envelope.result)
    except (ProtocolError, KeyError):
        return False
    return True
