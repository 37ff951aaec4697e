"""The plug-in: ``%%agent loop --metric auc --until 07:00`` makes a loop of the cell, as ``agentnb.loop``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError
from agentnb.ports import Plugin, PromptWord

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.ipython.arguments import Arguments
    from agentnb.ipython.config import Agentnb
    from agentnb.plugins.loop.loop import Loop

_OPTION = re.compile(r"""--(?P<name>[a-z-]+)(?:[ \t]+|=|(?=\n)|$)""")
_VALUE = re.compile(r"""(?:"(?P<double>[^"\n]*)"|'(?P<single>[^'\n]*)'|(?P<word>\S+))\s*""")
_HINT = "For example: %%agent loop --metric auc --until 07:00 --budget 5"


def loop_of(arguments: Arguments, _shell: Any, settings: Agentnb) -> Loop | None:
    """The loop that *arguments* ask for, begun; None where they ask for a turn."""
    if not re.match(r"loop\s+--", arguments.prompt):
        return None
    options, prompt = read_options(arguments.prompt.removeprefix("loop").lstrip())
    arguments.refuse(("tab", "new", "kernel", "context", "verify"), "loop", "Each try has a conversation of its own.")
    arguments.refuse(("freedom", "permissions"), "loop", "Agents work freely in their copies; the metric decides.")
    if "metric" not in options:
        raise UsageError("%agent loop needs a metric.", hint=_HINT)
    if not prompt:
        raise UsageError("%agent loop needs a prompt.", hint=_HINT)
    options.setdefault("budget", arguments.budget)
    if arguments.timeout is not None:
        options["timeout"] = arguments.timeout
    from agentnb.plugins.loop.start import loop

    with settings.named_agent(arguments.agent) as agent:
        return loop(prompt, agent=agent, model=arguments.model, **options)


def read_options(text: str) -> tuple[dict[str, Any], str]:
    """Returns the options at the beginning of *text*, and the prompt after them; UsageError if one is wrong."""
    options: dict[str, Any] = {}
    while match := _OPTION.match(text):
        name, text = match["name"], text[match.end() :].lstrip()
        if name == "lower":
            options["higher_is_better"] = False
            continue
        read = _READERS.get(name)
        if read is None:
            known = ", ".join(f"--{each}" for each in (*_READERS, "lower"))
            raise UsageError(f"%agent loop has no option --{name}.", hint=f"It has {known}.")
        value = _VALUE.match(text)
        if value is None:
            raise UsageError(f"--{name} needs a value after it.", hint=_HINT)
        word = next(each for each in value.group("double", "single", "word") if each is not None)
        try:
            options[name] = read(word)
        except ValueError:
            raise UsageError(f"--{name} {word}: that is not a number.", hint=_HINT) from None
        text = text[value.end() :]
    return options, text.removeprefix("-- ").strip()


def _names(word: str) -> list[str]:
    return [each.strip() for each in word.split(",") if each.strip()]


_READERS: dict[str, Callable[[str], Any]] = {
    "metric": str,
    "until": str,
    "budget": str,
    "target": float,
    "patience": int,
    "tries": int,
    "again": int,
    "held": _names,
    "executor": str,
}
PLUGIN = Plugin(
    name="loop",
    summary="Lets an agent improve a metric try by try, and keeps the tries that improve it.",
    prompt_words=(PromptWord("loop", loop_of),),
)
