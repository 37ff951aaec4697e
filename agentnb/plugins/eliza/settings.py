"""The settings of a session: its mode and its config options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.content import fields
from agentnb.plugins.acp_agent.updates import select

if TYPE_CHECKING:
    from collections.abc import Iterable

MODES = (
    {"id": "doctor", "name": "Doctor", "description": "Listens, and answers with questions."},
    {"id": "plain", "name": "Plain", "description": "Gives back exactly what it was told."},
)

NATURAL_PAUSE = 0.03
"""Seconds between two pieces of text at the pace `natural`."""

_PATTERNS = {
    "letter": re.compile(r".", re.DOTALL),
    "word": re.compile(r"\S+\s*|\s+"),
    "line": re.compile(r"[^\n]*\n|[^\n]+"),
}


class UnknownSetting(ValueError):
    """A mode, an option or a value that is not offered; the message lists what is."""


class Choice(msgspec.Struct, frozen=True):
    value: str
    description: str
    group: str | None = None

    def offer(self) -> dict[str, str]:
        return {"value": self.value, "name": self.value.capitalize(), "description": self.description}


class ElizaOption(msgspec.Struct, frozen=True):
    """One config option: its choices, or a switch if it has none."""

    id: str
    name: str
    description: str
    default: str | bool
    choices: tuple[Choice, ...] = ()

    def parse(self, value: object) -> str | bool:
        """Returns the option's value for `value`, which may be text for a switch."""
        if self.choices:
            offered = [choice.value for choice in self.choices]
            if isinstance(value, str) and value in offered:
                return value
        else:
            offered = ["on", "off"]
            switched = {"on": True, "true": True, "off": False, "false": False}.get(str(value).lower())
            if switched is not None:
                return switched
        raise UnknownSetting(f"`{self.id}` has no value `{value}`; it can be {_listed(offered)}.")

    def offer(self, value: str | bool, *, switches: bool) -> dict[str, Any]:
        """Returns the option in ACP's form; a switch becomes a choice of on and off for clients that lack switches."""
        if not self.choices and switches:
            return fields(current_value=value, id=self.id, name=self.name, description=self.description, type="boolean")
        choices = self.choices or (Choice("on", "Yes"), Choice("off", "No"))
        return select(self.id, self.name, self.description, _spoken(value), _offered(choices))


OPTIONS = (
    ElizaOption(
        "pace",
        "Pace",
        "How fast an answer is typed.",
        "instant",
        (Choice("instant", "As fast as it goes"), Choice("natural", "With a short pause after each piece")),
    ),
    ElizaOption(
        "pieces",
        "Pieces",
        "How an answer is cut into chunks.",
        "word",
        (
            Choice("word", "Word by word", "Readable"),
            Choice("line", "Line by line", "Readable"),
            Choice("letter", "Letter by letter", "Extreme"),
            Choice("whole", "All in one piece", "Extreme"),
        ),
    ),
    ElizaOption("thoughts", "Think aloud", "Whether it shows how an answer was found.", default=False),
)


class ElizaSettings(msgspec.Struct):
    mode_id: str = MODES[0]["id"]
    values: dict[str, str | bool] = msgspec.field(default_factory=dict)

    def __getitem__(self, option_id: str) -> str | bool:
        return self.values.get(option_id, _option(option_id).default)

    def set_mode(self, mode_id: str) -> None:
        offered = [mode["id"] for mode in MODES]
        if mode_id not in offered:
            raise UnknownSetting(f"There is no mode `{mode_id}`; it can be {_listed(offered)}.")
        self.mode_id = mode_id

    def set_option(self, option_id: str, value: object) -> str:
        """Change an option, and return the new value as a user would write it."""
        chosen = _option(option_id).parse(value)
        self.values[option_id] = chosen
        return _spoken(chosen)

    def cut(self, text: str) -> Iterable[str]:
        """Cut a text into pieces as the option says; joined, they are the text."""
        pattern = _PATTERNS.get(str(self["pieces"]))
        return pattern.findall(text) if pattern else [text]

    def modes(self) -> dict[str, Any]:
        """Returns the modes, as ACP reports them with a new session."""
        return fields(current_mode_id=self.mode_id, available_modes=MODES)

    def options(self, *, switches: bool) -> list[dict[str, Any]]:
        """Returns the options, as ACP reports them with a new session and after every change."""
        return [option.offer(self[option.id], switches=switches) for option in OPTIONS]


def _option(option_id: str) -> ElizaOption:
    for option in OPTIONS:
        if option.id == option_id:
            return option
    raise UnknownSetting(f"There is no option `{option_id}`; it can be {_listed(option.id for option in OPTIONS)}.")


def _offered(choices: tuple[Choice, ...]) -> list[dict[str, Any]]:
    groups = list(dict.fromkeys(choice.group for choice in choices))
    if groups == [None]:
        return [choice.offer() for choice in choices]
    return [
        {
            "group": str(group).lower(),
            "name": str(group),
            "options": [choice.offer() for choice in choices if choice.group == group],
        }
        for group in groups
    ]


def _spoken(value: str | bool) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
