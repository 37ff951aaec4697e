"""The slash commands by name: how each is written, what it does, and how it is found."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable

import msgspec

from agentnb.plugins.acp_agent.reply import Trouble
from agentnb.plugins.eliza.session import Reply

Run = Callable[[Reply, str], Awaitable[None]]


class Misuse(Trouble):
    """A command was written in a way that makes no sense; its usage is said along with the message."""


class SlashCommand(msgspec.Struct, frozen=True):
    """One slash command.

    Args:
        name: Its name, without the slash.
        hint: The arguments to write after it; empty if it takes none.
        example: A whole prompt.
        help: What it does, in markdown; a list shows only the first paragraph.
        group: The heading that lists it.
        run: The function that carries it out.
    """

    name: str
    hint: str
    example: str
    help: str
    group: str
    run: Run

    @property
    def usage(self) -> str:
        """As in ``/slow N MS``."""
        return f"/{self.name} {self.hint}".rstrip()

    @property
    def summary(self) -> str:
        """The first paragraph of the help, on one line."""
        return " ".join(self.help.partition("\n\n")[0].split())


COMMANDS: dict[str, SlashCommand] = {}
GROUPS = ("Speaking", "Acting", "Asking", "The session", "Misbehaving")

# `/tmp/data.csv is empty` is a sentence about a file, not a command.
_COMMAND = re.compile(r"/([A-Za-z-]+)(?:\s|$)")


def command(name: str, hint: str = "", *, group: str, example: str | None = None) -> Callable[[Run], Run]:
    """Register a coroutine as the command `name`; its docstring is the help."""

    def register(run: Run) -> Run:
        help_text = inspect.cleandoc(run.__doc__ or "")
        COMMANDS[name] = SlashCommand(name, hint, example or f"/{name}", help_text, group, run)
        return run

    return register


def listed() -> list[SlashCommand]:
    """Every command, group by group."""
    return sorted(COMMANDS.values(), key=lambda entry: GROUPS.index(entry.group))


def find(text: str) -> tuple[SlashCommand, str] | None:
    """Returns the command in a prompt, and the text after it; None for ordinary words.

    Raises:
        Trouble: If it looks like a command, but no command has that name.
    """
    match = _COMMAND.match(text)
    if not match:
        return None
    name, rest = match[1], text[match.end() :]
    if name in COMMANDS:
        return COMMANDS[name], rest
    import difflib  # imported here: costs start-up time

    close = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.7)
    meant = f" Did you mean `/{close[0]}`?" if close else ""
    raise Trouble(f"There is no command `/{name}`.{meant} `/help` lists them all.")


def whole(text: str, name: str, low: int, high: int) -> int:
    """Returns a whole number that a user wrote.

    Raises:
        Misuse: If it is not a whole number, or is out of bounds.
    """
    try:
        number = int(text)
    except ValueError:
        raise Misuse(f"{name} must be a whole number, not `{text}`." if text else f"{name} is missing.") from None
    if not low <= number <= high:
        raise Misuse(f"{name} must be from {low} to {high}, not {number}.")
    return number


def needed(text: str, name: str) -> str:
    """Returns the user's text, which must not be empty.

    Raises:
        Misuse: If it is empty.
    """
    if not text:
        raise Misuse(f"{name} is missing.")
    return text


def first_word(text: str) -> tuple[str, str]:
    """Split off the first word, which may be in quotes.

    Raises:
        Misuse: If a quote is never closed.
    """
    text = text.lstrip()
    if text[:1] not in {'"', "'"}:
        word, _, rest = text.partition(" ")
        return word, rest
    word, closing, rest = text[1:].partition(text[0])
    if not closing:
        raise Misuse("A quote is never closed.")
    return word, rest.removeprefix(" ")


def counted(count: int, noun: str) -> str:
    """A number and its noun, as in ``1 line`` or ``2 lines``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
