"""Reducer cases: JSON files with a state, actions, and the resulting state.

The format is that of the Agent Host Protocol's own cases (see :mod:`agentnb.testing`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.errors import UsageError
from agentnb.safe_json import read_json
from agentnb.state import (
    ChangesetState,
    ChatState,
    RootState,
    SessionState,
    TerminalState,
    decode,
    decode_action,
    reduce_changeset,
    reduce_chat,
    reduce_root,
    reduce_session,
    reduce_terminal,
    to_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable

CASE_TIME = 9999
"""The time, in milliseconds since 1970, of an action of a case that has none."""


class _Channel(NamedTuple):
    state: type[Any]
    reduce: Callable[[Any, Any], Any]


_CHANNELS: dict[str, _Channel] = {
    "root": _Channel(RootState, reduce_root),
    "session": _Channel(SessionState, reduce_session),
    "chat": _Channel(ChatState, reduce_chat),
    "terminal": _Channel(TerminalState, reduce_terminal),
    "changeset": _Channel(ChangesetState, reduce_changeset),
}


def run_reducer_case(case: dict[str, Any]) -> dict[str, Any]:
    """Runs a reducer case.

    Args:
        case: The case, see above. ``expected`` is ignored.

    Returns:
        The state after the last action, as JSON without nulls; compare it with ``without_nulls(case["expected"])``.

    Raises:
        UsageError: When agentnb does not have the case's channel, see `skip_reason`.
        ProtocolError: When the initial state or an action is malformed.

    Example:
        >>> action = {"type": "root/activeSessionsChanged", "activeSessions": 5}
        >>> run_reducer_case({"reducer": "root", "initial": {"agents": []}, "actions": [action]})
        {'agents': [], 'activeSessions': 5}
    """
    result: dict[str, Any] = without_nulls(to_json(case_states(case)[1]))
    return result


def case_states(case: dict[str, Any]) -> tuple[Any, Any]:
    """Runs a reducer case and returns the state structs before and after: the same object when nothing has changed.

    Args:
        case: The case, see above. ``expected`` is ignored.

    Raises:
        UsageError: When agentnb does not have the case's channel, see `skip_reason`.
        ProtocolError: When the initial state or an action is malformed.

    Example:
        >>> before, after = case_states({"reducer": "root", "initial": {"agents": []}, "actions": [{"type": "new"}]})
        >>> after is before
        True
    """
    reason = skip_reason(case)
    if reason is not None:
        raise UsageError(f"The case {case.get('description')!r} cannot be run: {reason}.", hint="Skip it.")
    channel = _CHANNELS[case["reducer"]]
    before = state = decode(channel.state, without_nulls(case["initial"]))
    for action in case["actions"]:
        state = channel.reduce(state, decode_action({"time": CASE_TIME, **without_nulls(action)}))
    return before, state


def skip_reason(case: dict[str, Any]) -> str | None:
    """Returns why a case cannot be run here, or ``None`` when it can.

    Example:
        >>> skip_reason({"reducer": "weather", "actions": []})
        'agentnb has no weather channel'
    """
    return None if case.get("reducer") in _CHANNELS else f"agentnb has no {case.get('reducer')} channel"


def load_cases(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Returns all reducer cases below a folder, in the order of their names.

    Args:
        folder: The folder with the ``*.json`` files.

    Returns:
        The cases, by the file's path within the folder without ``.json``.

    Raises:
        UsageError: When the folder does not exist, has no case, or has a file that is not a case.
    """
    root = Path(folder)
    files = sorted(root.rglob("*.json"))
    if not files:
        raise UsageError(f"No reducer case (*.json) is in {root}.", hint="Check AGENTNB_CASES.")
    return {path.relative_to(root).with_suffix("").as_posix(): _read(path) for path in files}


def _read(path: Path) -> dict[str, Any]:
    try:
        case = read_json(path.read_bytes())
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}.") from error
    if not isinstance(case, dict) or not {"reducer", "initial", "actions", "expected"} <= case.keys():
        raise UsageError(f"{path} is not a reducer case.", hint="It needs reducer, initial, actions and expected.")
    return case


def without_nulls(value: Any) -> Any:
    """Returns JSON without the fields that are null, at every level.

    Example:
        >>> without_nulls({"a": None, "b": [{"c": None}]})
        {'b': [{}]}
    """
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
