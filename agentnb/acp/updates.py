"""Updates: the turn that each belongs to, and those about a session (commands, modes, options, title, context)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from agentnb.acp.fields import count, mapping, objects, text
from agentnb.hidden_characters import CONTROLS, HIDDEN
from agentnb.state import (
    ActiveTurn,
    AgentCommand,
    ChatTurnComplete,
    ChatTurnStarted,
    Cost,
    Message,
    MessageOrigin,
    Parts,
    SessionMode,
    SessionModes,
    SessionTitleChanged,
    XCommandsChanged,
    XConfigOptionsChanged,
    XContextUsageChanged,
    XLate,
    XModeChanged,
    XModesChanged,
    XPromptSuggestionsChanged,
    find_finished_turn,
)
from agentnb.state.change import iso_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.state import Action, ChatState, ResponsePart, ToolCallState, Turn


class UpdateTarget:
    """The place in the state that an update belongs to."""

    def __init__(self, turn: ActiveTurn | Turn, time: int, opening: tuple[Action, ...] = ()) -> None:
        self.turn_id: str = turn.id
        self.message: Message = turn.message
        self.parts: Parts = Parts.of(turn.response_parts)
        self.late: bool = not isinstance(turn, ActiveTurn) or bool(opening)
        self.time = time
        self.opening = opening

    @property
    def last(self) -> ResponsePart | None:
        return self.parts[-1] if self.parts else None

    def act(self, *actions: Action) -> tuple[Action, ...]:
        """Returns *actions* unchanged while the turn runs, else each wrapped in :class:`agentnb.state.XLate`."""
        if not self.late:
            return actions
        return (*self.opening, *(XLate(turn_id=self.turn_id, action=action, time=self.time) for action in actions))


def find(chat: ChatState, turn_id: str | None, time: int) -> UpdateTarget:
    """The target for an update of turn *turn_id*; a new turn (:func:`own`) if there is no such turn."""
    turn = _turn(chat, turn_id)
    return own(chat, time) if turn is None else UpdateTarget(turn, time)


def own(chat: ChatState, time: int, text: str = "") -> UpdateTarget:
    """A new finished turn that the user did not start here."""
    message = Message(text=text, origin=MessageOrigin(kind="user" if text else "agent"))
    turn = ActiveTurn(id=f"agent-{len(chat.turns) + 1}", message=message, response_parts=())
    opening = (
        ChatTurnStarted(turn_id=turn.id, message=message, started_at=iso_time(time), time=time),
        ChatTurnComplete(turn_id=turn.id, duration=0, time=time),
    )
    return UpdateTarget(turn, time, opening)


def of_call(chat: ChatState, place: UpdateTarget, call_id: str) -> tuple[UpdateTarget, ToolCallState | None]:
    """The target of tool call *call_id*: *place* if it has the call, else the latest turn that has it, else *place*."""
    call = place.parts.tool_call(call_id)
    if call is not None:
        return place, call
    running = () if chat.active_turn is None else (chat.active_turn,)
    for turn in (*running, *reversed(chat.turns)):
        there = UpdateTarget(turn, place.time)
        call = there.parts.tool_call(call_id)
        if call is not None:
            return there, call
    return place, None


def _turn(chat: ChatState, turn_id: str | None) -> ActiveTurn | Turn | None:
    active = chat.active_turn
    if active is not None and turn_id in (None, active.id):
        return active
    named = None if turn_id is None else find_finished_turn(chat, turn_id)
    return named or active or (chat.turns[-1] if chat.turns else None)


SUGGESTIONS_KEPT = 3
"""The most suggestions of an agent that are offered."""
LONGEST_SUGGESTION = 2_000
"""Characters of a suggested prompt; a longer one is left out."""
_READ = 100
"""The most suggestions that are read, and the most blocks of one."""
_LINE_END = re.compile("\r\n?|[\u2028\u2029]")
_HIDDEN = re.compile(f"[{CONTROLS}{HIDDEN}]")
_PLAIN_PATH = re.compile(r"/[\w./~-]*[\w/~-]")


def commands(update: dict[str, Any], time: int | None) -> tuple[Action, ...] | None:
    """ACP ``available_commands_update``; None when it cannot be read."""
    listed = update.get("availableCommands")
    if not isinstance(listed, list):
        return None
    read_commands = [
        AgentCommand(
            name=name,
            description=text(each.get("description")) or "",
            hint=text(mapping(each.get("input")).get("hint")),
        )
        for each in objects(listed)
        if (name := text(each.get("name")))
    ]
    return (XCommandsChanged(commands=tuple(read_commands), time=time),)


def mode(update: dict[str, Any], time: int | None) -> tuple[Action, ...] | None:
    """ACP ``current_mode_update``; some agents say ``modeId``. None when it cannot be read."""
    mode_id = text(update.get("currentModeId")) or text(update.get("modeId"))
    return None if mode_id is None else (XModeChanged(mode_id=mode_id, time=time),)


def config(update: dict[str, Any], time: int | None) -> tuple[Action, ...] | None:
    """ACP ``config_option_update``; None when it cannot be read."""
    if not isinstance(update.get("configOptions"), list):
        return None
    return (XConfigOptionsChanged(config_options=tuple(objects(update["configOptions"])), time=time),)


def title(update: dict[str, Any], time: int | None) -> tuple[Action, ...] | None:
    """ACP ``session_info_update``: only the title is read; the other fields are the agent's own."""
    named = text(update.get("title"))
    return () if named is None else (SessionTitleChanged(title=named, time=time),)


def usage(update: dict[str, Any], time: int | None) -> tuple[Action, ...] | None:
    """ACP ``usage_update``; None when it cannot be read."""
    used, size = count(update.get("used")), count(update.get("size"))
    if used is None or size is None:
        return None
    return (XContextUsageChanged(used=used, size=size, cost=_cost(update.get("cost")), time=time),)


def prompt_suggestions(update: dict[str, Any], time: int | None) -> tuple[Action, ...] | None:
    """ACP ``prompt_suggestions_update``: the first three that can be message text; None if it cannot be read."""
    listed = update.get("suggestions")
    if not isinstance(listed, list):
        return None
    texts = [suggested_text(each.get("prompt")) for each in objects(listed[:_READ])]
    prompts = tuple(dict.fromkeys(each for each in texts if each))
    return (XPromptSuggestionsChanged(suggestions=prompts[:SUGGESTIONS_KEPT], time=time),)


def suggested_text(prompt: Any) -> str | None:
    """A suggested prompt as the user would write it, with mentions for links to files; None if that is impossible.

    Characters that hide or reorder text are removed, so that the user sends exactly the text that they read.
    """
    if not isinstance(prompt, list) or not 0 < len(prompt) <= _READ:
        return None
    pieces = [(_written(block), mapping(block).get("type") == "text") for block in prompt]
    words = [piece for piece, _ in pieces if piece is not None]
    if len(words) < len(pieces) or sum(map(len, words)) > LONGEST_SUGGESTION:
        return None
    gaps = ["\n" if both else " " for both in (a and b for (_, a), (_, b) in pairwise(pieces))]
    joined = "".join(piece + gap for piece, gap in zip(words, [*gaps, ""], strict=True))
    clean = _HIDDEN.sub("", _LINE_END.sub("\n", joined)).strip()
    return clean if any(each.isprintable() and not each.isspace() for each in clean) else None


def _written(block: Any) -> str | None:
    """A content block as text for the message box; None if it cannot be written as text."""
    match block:
        case {"type": "text", "text": str(words)}:
            return words
        case {"type": "resource_link", "uri": str(uri)} if uri.startswith("file:///") and len(uri) < LONGEST_SUGGESTION:
            return _mention(unquote(urlsplit(uri).path))
        case {"type": "resource_link", "uri": str(uri)} if re.fullmatch(r"https?://\S{1,2000}", uri):
            return uri
        case _:
            return None


def _mention(path: str) -> str | None:
    if '"' in path or not path.isprintable():
        return None
    return f"@{path}" if _PLAIN_PATH.fullmatch(path) else f'@"{path}"'


def map_session(new: dict[str, Any], time: int | None = None) -> tuple[Action, ...]:
    """The actions for a new session's answer (ACP ``session/new``): its modes and its config options."""
    actions: list[Action] = []
    modes = mapping(new.get("modes"))
    if current := text(modes.get("currentModeId")):
        available = tuple(_mode(each) for each in objects(modes.get("availableModes")) if text(each.get("id")))
        actions.append(XModesChanged(modes=SessionModes(current_mode_id=current, available_modes=available), time=time))
    options = objects(new.get("configOptions"))
    if has_legacy_models_only(new):
        options += _models(mapping(new.get("models")))
    if options:
        actions.append(XConfigOptionsChanged(config_options=tuple(options), time=time))
    return (*actions, *(commands(new, time) or ()))


def has_legacy_models_only(new: dict[str, Any]) -> bool:
    """True if the model must be set with ``session/set_model``: ``models`` is there, but no config option for it."""
    options = objects(new.get("configOptions"))
    has_option = any("model" in (option.get("category"), option.get("id")) for option in options)
    return isinstance(new.get("models"), dict) and not has_option


def _mode(each: dict[str, Any]) -> SessionMode:
    mode_id = str(each["id"])
    return SessionMode(id=mode_id, name=text(each.get("name")) or mode_id, description=text(each.get("description")))


def _models(models: dict[str, Any]) -> list[dict[str, Any]]:
    choices = [
        {"value": model, "name": text(each.get("name")) or model, "description": text(each.get("description")) or ""}
        for each in objects(models.get("availableModels"))
        if (model := text(each.get("modelId")))
    ]
    current = text(models.get("currentModelId"))
    if not choices or current is None:
        return []
    option = {"id": "model", "name": "Model", "category": "model", "type": "select"}
    return [{**option, "currentValue": current, "options": choices}]


def _cost(value: Any) -> Cost | None:
    cost = mapping(value)
    amount, currency = cost.get("amount"), text(cost.get("currency"))
    if isinstance(amount, bool) or not isinstance(amount, (int, float)) or currency is None:
        return None
    return Cost(amount=float(amount), currency=currency)


UPDATES: dict[str, Callable[[dict[str, Any], int | None], tuple[Action, ...] | None]] = {
    "available_commands_update": commands,
    "current_mode_update": mode,
    "config_option_update": config,
    "session_info_update": title,
    "usage_update": usage,
    "prompt_suggestions_update": prompt_suggestions,
}
"""The function that reads each update about the session, by the update's name on the wire."""
