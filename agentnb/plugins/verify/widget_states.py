"""The states of widgets (ipywidgets): put beside their views, so that two runs can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentnb.plugins.verify.kernel_client import KernelMessage

VIEW = "application/vnd.jupyter.widget-view+json"
SAVED = "application/vnd.jupyter.widget-state+json"
_REFERENCE = "IPY_MODEL_"
_LEFT_OUT = frozenset({"msg_id"})
DEEPEST = 12
MOST_VALUES = 5_000

Models = dict[str, dict[str, Any]]


def saved_models(metadata: Mapping[str, Any]) -> Models:
    """Returns the states of a notebook's widgets that were saved with it, by model id."""
    states: Any = metadata
    for key in ("widgets", SAVED, "state"):
        states = states.get(key) if isinstance(states, dict) else None
    if not isinstance(states, dict):
        return {}
    return {key: each["state"] for key, each in states.items() if isinstance(each, dict) and "state" in each}


def follow_model(models: Models, message: KernelMessage) -> None:
    """Update *models* from a kernel's message about a widget's model."""
    content = message.content
    data = content.get("data", {})
    model = str(content.get("comm_id"))
    if message.kind == "comm_open" and content.get("target_name") == "jupyter.widget":
        models[model] = dict(data.get("state", {}))
    elif message.kind == "comm_msg" and model in models and data.get("method") == "update":
        models[model].update(data.get("state", {}))


def add_states(outputs: Iterable[dict[str, Any]], models: Models) -> None:
    """Put the state of each widget beside its view."""
    for each in outputs:
        data = each.get("data")
        if not isinstance(data, dict):
            continue
        view = data.get(VIEW)
        if isinstance(view, dict) and (state := models.get(str(view.get("model_id")))) is not None:
            room = [MOST_VALUES]
            data[VIEW] = {**view, "state": _whole(state, models, room, DEEPEST)}


def _whole(value: Any, models: Models, room: list[int], depth: int) -> Any:
    """Returns *value* with the ids of other widgets replaced by their states."""
    room[0] -= 1
    if depth == 0 or room[0] < 0:
        return None
    if isinstance(value, str) and value.startswith(_REFERENCE):
        value = models.get(value.removeprefix(_REFERENCE))
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if not key.startswith("_") and key not in _LEFT_OUT}
        return {key: _whole(each, models, room, depth - 1) for key, each in kept.items()}
    return [_whole(each, models, room, depth - 1) for each in value] if isinstance(value, list) else value


def different_values(stored: Any, now: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """Returns the first differing value of those that both states have: its name, and both values."""
    if isinstance(stored, dict) and isinstance(now, dict):
        pairs = [(f"{name}.{key}".lstrip("."), stored[key], now[key]) for key in stored if key in now]
    elif isinstance(stored, list) and isinstance(now, list) and len(stored) == len(now):
        pairs = [(f"{name}[{at}]", old, new) for at, (old, new) in enumerate(zip(stored, now, strict=True))]
    else:
        return None if stored == now else (name, stored, now)
    return next((each for pair in pairs if (each := different_values(pair[1], pair[2], pair[0])) is not None), None)
