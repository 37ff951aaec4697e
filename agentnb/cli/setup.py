"""Commands for agents and what they may do: settings, trust, skills, the doctor, and shell completion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.command import FAILED, OK, Command, Option, complain, write, write_json
from agentnb.distribution import manual

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping

    from agentnb.configuration.sources import SettingValue


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
    """Returns the completion script for a shell: the commands, their flags, and the flags' values if listed."""
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
    """Quotes *text* as a word for fish, where only the backslash and the quote are special."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SHELLS: dict[str, Callable[[Mapping[str, Command]], str]] = {
    "bash": _bash,
    "zsh": lambda commands: _ZSH + _bash(commands),  # zsh can use bash's completions
    "fish": _fish,
}
SHELLS = tuple(_SHELLS)


def _agents(arguments: argparse.Namespace) -> int:
    from agentnb.agent.catalog import installed, known
    from agentnb.api import agents

    if arguments.update:
        return _update_agents(arguments.update)
    rows = [agents.row(spec, installed(spec)) for spec in known()]
    return write_json(rows) if arguments.json else write(agents.listing(rows))


def _update_agents(source: str) -> int:
    from agentnb.agent.registry import update_registry

    updated = update_registry(source)
    count = "1 agent" if updated.agents == 1 else f"{updated.agents} agents"
    return write("\n".join([f"{updated.path} has {count} now.", *(f"  {line}" for line in updated.versions)]))


def _completion(arguments: argparse.Namespace) -> int:
    from agentnb.cli.command_line import COMMANDS, plugin_commands

    return write(script(arguments.shell, {**COMMANDS, **plugin_commands()}))


def _doctor(arguments: argparse.Namespace) -> int:
    import asyncio

    from agentnb.agent.catalog import additions
    from agentnb.api import agents
    from agentnb.checkup.examination import examine, is_well

    checkups = asyncio.run(examine(arguments.words))
    if arguments.json:
        write_json(checkups)
    else:
        write(agents.checkups(checkups))
    for problem in additions()[1]:
        complain(problem)
    return OK if all(is_well(each, named=bool(arguments.words)) for each in checkups) else FAILED


def _plugins(arguments: argparse.Namespace) -> int:
    from agentnb.plugin_registry import plugins

    registry = plugins()
    if arguments.json:
        rows = [
            {"name": each.name, "summary": each.summary, "offers": each.offers} for each in registry.loaded.values()
        ]
        problems = [each._asdict() for each in registry.problems]
        write_json({"plugins": rows, "off": list(registry.switched_off), "problems": problems})
    else:
        write(registry.listing())
    return FAILED if registry.problems else OK


def _settings(arguments: argparse.Namespace) -> int:
    from agentnb.api.settings import kept_settings
    from agentnb.configuration.table import setting
    from agentnb.configuration.write import shown_value

    words, kept = arguments.words, kept_settings()
    if arguments.what_if:
        return write(kept.what_if(arguments.what_if))
    if len(words) > 2:  # noqa: PLR2004 - a name and a value
        return complain("Give a name and a value; put a value of several words in quotes.")
    if arguments.reset:
        names = [each.strip() for each in arguments.reset.split(",")]
        return write("\n".join(f"{name} is removed from {kept.reset(name)}." for name in names))
    if len(words) == 2:  # noqa: PLR2004 - a name and a value
        which = setting(words[0])
        value = which.read(words[1])
        return write(f"{which.name} is {shown_value(which.name, value)!r} in {kept.set(which.name, value)}.")
    wanted = {setting(word).name for word in words}
    rows = [row for row in kept if not wanted or row.name in wanted]
    if arguments.json:
        return write_json([_fields(row) for row in rows])
    if not words:
        return write(repr(kept))
    return write("\n\n".join(f"{row.name} = {shown_value(row.name, row.value)}\n{row.about}" for row in rows))


def _fields(row: SettingValue) -> dict[str, Any]:
    """Returns a setting as a dictionary by field names, for JSON, without anything that may be secret."""
    from agentnb.configuration.write import public_value

    fields = {name: getattr(row, name) for name in ("name", "value", "source", "where", "group", "about", "file")}
    return {**fields, "value": public_value(row.name, row.value)}


def _site_policy(arguments: argparse.Namespace) -> int:
    from agentnb.checkup.files import changeable, holding, problems
    from agentnb.site_policy import site_files

    words = arguments.words
    if words and (words[0] != "check" or len(words) != 2):  # noqa: PLR2004 - check and a file
        return complain("Type `agentnb site-policy` to see what applies here, or `agentnb site-policy check FILE`.")
    files = [Path(words[1]).absolute()] if words else [path for path in site_files() if path.exists()]
    wrong = list(dict.fromkeys(each for path in files for each in problems(path)))
    if not words:
        write("\n".join([*holding(), *changeable(files)]) or f"No policy: {', '.join(map(str, site_files()))}.")
    elif not wrong:
        write(f"{files[0]} is valid.")
    for each in wrong:
        complain(each)
    return FAILED if wrong else OK


def _trust(arguments: argparse.Namespace) -> int:
    from agentnb.policy.store import PolicyFiles

    files = PolicyFiles()
    for folder in (Path(word).expanduser().resolve() for word in arguments.words or ["."]):
        if not (folder.is_dir() or arguments.remove):
            return complain(f"{folder} is not a folder.")
        (files.untrust if arguments.remove else files.trust)(folder)
        write(f"{folder} is {'not trusted any more' if arguments.remove else 'trusted now'} ({files.user_path}).")
    return OK


COMMANDS = (
    Command(
        "agents",
        "Lists the known agents, which of them are installed, and the commands to install the rest.",
        "For an agent that is not installed, it shows how to install it or how to start it without installing it."
        " Versions come from a registry in the format of the public ACP registry; one ships with agentnb.",
        _agents,
        (
            Option("--json", "print all details as JSON"),
            Option("--update", "load a newer registry from a file or an https address and save it", "SOURCE"),
        ),
    ),
    Command(
        "doctor",
        "Checks Jupyter and the agents, and reports what works and what is missing, outdated, broken or not signed in.",
        "Each problem comes with the exact command to type. For Jupyter it checks versions, every kernel (can it import"
        " agentnb?), the extension in JupyterLab and the files that agentnb keeps, and fails if something is wrong."
        " It starts each agent briefly and opens a session in an empty folder, which some agents keep in their "
        "history. If you give names, it checks only those, and fails unless all are ready.",
        _doctor,
        (Option("--json", "print all results as JSON"),),
        ("NAME", "an agent's name, or jupyter; everything by default"),
    ),
    Command(
        "plugins",
        "Lists the plug-ins and what each adds.",
        "`agentnb settings plugins_off NAMES` turns plug-ins off. This command fails if a plug-in cannot be loaded.",
        _plugins,
        (Option("--json", "print them as JSON"),),
    ),
    Command(
        "settings",
        "Shows every setting and where its value comes from, or changes one in your settings file.",
        "Give a name to show one setting; give a name and a value to write it to your file, which every kernel "
        "reads. A kernel's own `%config Agentnb` and `ipython_config.py` take precedence, but cannot be shown here.",
        _settings,
        (
            Option("--reset", "remove settings from your file: their names, separated by commas", "NAMES"),
            Option("--what-if", "show what would happen if an agent wanted to run this command", "COMMAND"),
            Option("--json", "print all details as JSON"),
        ),
        ("NAME", "a setting, and its new value"),
    ),
    Command(
        "site-policy",
        "Shows the content and location of the site's policy files, or checks one.",
        "`agentnb site-policy check FILE` reports errors in a file, with line numbers, and contradictions within "
        f"it or with the other files. It fails if there are any. See {manual('how-to/administer')}",
        _site_policy,
        (),
        ("WORD", "`check` and a file, or nothing"),
    ),
    Command(
        "completion",
        "Prints a script that completes agentnb's commands and their flags in a shell.",
        "For bash: `agentnb completion bash > ~/.local/share/bash-completion/completions/agentnb`. For zsh: save "
        "it as `_agentnb` in a folder of $fpath. For fish: `~/.config/fish/completions/agentnb.fish`.",
        _completion,
        (Option("SHELL", "bash, zsh or fish", choices=SHELLS),),
    ),
    Command(
        "trust",
        "Trusts a folder and everything in it: your allow rules apply there.",
        "In other folders, agents still ask, despite your allow rules, bypass and headless. See "
        f"{manual('reference/policy')}",
        _trust,
        (Option("--remove", "no longer trust it"),),
        ("FOLDER", "a folder; the current one by default"),
    ),
)
