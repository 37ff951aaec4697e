"""Shell completion: a script for bash, zsh or fish, written from the table of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agentnb.command import Command, Option

GENERAL = ("--help", "--version")
_BASH = """\
_agentnb() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=""
    if (( COMP_CWORD == 1 )); then
        words="{commands}"
    else
        case "${{COMP_WORDS[1]}} $before" in
{values}
            *) case "${{COMP_WORDS[1]}}" in
{flags}
            esac ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _agentnb agentnb
"""
_ZSH = "#compdef agentnb\nautoload -U +X bashcompinit && bashcompinit\n"


def script(shell: str, commands: Mapping[str, Command]) -> str:
    """The script that teaches a shell the commands, their flags, and the values of flags that have some."""
    return _SHELLS[shell](commands)


def _bash(commands: Mapping[str, Command]) -> str:
    values = [
        f'            "{command.name} {option.flag}") words="{" ".join(option.choices)}" ;;'
        for command in commands.values()
        for option in _flags(command)
        if option.choices
    ]
    flags = [
        f'                {name}) words="{" ".join(["--help", *_words(command)])}" ;;'
        for name, command in commands.items()
    ]
    first = " ".join([*commands, *GENERAL])
    return _BASH.format(commands=first, values="\n".join(values), flags="\n".join(flags))


def _zsh(commands: Mapping[str, Command]) -> str:
    return _ZSH + _bash(commands)  # zsh reads bash's completions


def _fish(commands: Mapping[str, Command]) -> str:
    lines = ["complete -c agentnb -n __fish_use_subcommand -l version -d 'the version'"]
    for name, command in commands.items():
        lines.append(f"complete -c agentnb -f -n __fish_use_subcommand -a {name} -d {_quoted(command.summary)}")
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        for option in _flags(command):
            values = f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r" if option.value else ""
            flag = option.flag.removeprefix("--")
            lines.append(f"complete -c agentnb {seen} -l {flag}{values} -d {_quoted(option.help)}")
        lines += [f"complete -c agentnb {seen} -a {word}" for word in _positional(command)]
    return "\n".join(lines) + "\n"


def _flags(command: Command) -> Iterable[Option]:
    return (option for option in command.options if option.flag.startswith("--"))


def _positional(command: Command) -> list[str]:
    return [choice for option in command.options if not option.flag.startswith("-") for choice in option.choices]


def _words(command: Command) -> list[str]:
    return [*(option.flag for option in _flags(command)), *_positional(command)]


def _quoted(text: str) -> str:
    """*text* as a word of fish: only the backslash and the quote mean something in it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SHELLS: dict[str, Callable[[Mapping[str, Command]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
SHELLS = tuple(_SHELLS)
