"""Lists, adds, changes and removes the user's own descriptions of agents, one file each.

The values of an agent's variables may be secret: they are written, and never returned.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.agent.catalog import catalogue, read, user_folder
from agentnb.agent.elsewhere import check_address, is_address
from agentnb.agent.programs import find_on_path
from agentnb.distribution import manual
from agentnb.errors import AgentnbError, SettingsError, UsageError
from agentnb.toml_file import change_file, parsed, with_key, with_pairs, without_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.agent.catalog import AgentSpec

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,59}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_VARIABLES = 100
_LONGEST_VALUE = 10_000
_HEAD = f"# An agent of your own. Other keys: {manual('how-to/own-agents')}\n"


class OwnAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's description in the user's folder."""

    name: str
    title: str
    command: tuple[str, ...]
    variables: tuple[str, ...]
    path: Path
    state: str
    problem: str = ""

    @property
    def line(self) -> str:
        """The command as one types it in a shell."""
        return shlex.join(self.command)


def own_agents() -> list[OwnAgent]:
    """The descriptions in the user's folder, by file name."""
    return list({each.name: each for each in map(_read, _files())}.values())


def folder_state() -> object:
    """A value that changes whenever one of the user's descriptions does; cheap to compute."""
    return [(str(path), _state(path)) for path in _files()]


def command_words(line: str) -> tuple[str, ...]:
    """Split a command typed as one line into words; no shell reads it."""
    example = "For example: my-agent --acp."
    if not all(char.isprintable() for char in line):
        raise UsageError("A command is one line, without control characters.", hint=example)
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"This is not a command: {error}.", hint=f"Close the quotes. {example}") from error
    if not words or not all(words):
        raise UsageError("The command is missing.", hint=example)
    program = words[0]
    if is_address(program):
        if len(words) > 1:
            raise UsageError("An agent's address takes no arguments.", hint="For example: wss://example.org/acp.")
        check_address(program, unencrypted=True)  # other settings decide if it may be unencrypted
        return (program,)
    if _VARIABLE.fullmatch(program.partition("=")[0]) and "=" in program:
        message = f"{program.partition('=')[0]}=… is in front of the command."
        raise UsageError(message, hint="Set it as a variable of the agent, below the command.")
    if program.startswith("~"):
        program = str(Path(program).expanduser())
    if ("/" in program or os.sep in program) and not Path(program).is_absolute():
        message = f"{program!r} is a path relative to a folder that differs between kernels."
        raise UsageError(message, hint="Start it with / or ~/, or give the name of a program on the PATH.")
    return (program, *words[1:])


def has_program(words: tuple[str, ...]) -> bool:
    """True if the command's program is on this machine."""
    return words[0] == "{python}" or is_address(words[0]) or find_on_path(words[0]) is not None


def write_agent(name: str, line: str, env: Mapping[str, str | None], *, state: str) -> Path:
    """Write an agent into the user's folder: a new one, a replacement for a catalogue agent, or a changed one."""
    words = check(name, line, env)
    own, base = _own(name), catalogue().get(name)
    _unchanged(name, own, state)
    if own is not None and own.problem:
        raise SettingsError(f"{name} was not changed: {own.problem}", hint="Fix the file by hand, or remove it.")
    path = own.path if own is not None else user_folder() / f"{name}.toml"
    if own is None and path.exists():
        message = f"{name} was not written: {path} already exists and describes another agent."
        raise SettingsError(message, hint="Choose another name, or rename that file.")

    def changed(text: str) -> str:
        if own is None and parsed(text):
            raise _changed_meanwhile(name, path)
        after = _described(text, name, words, env, base)
        read(after, catalogue)  # raises before an invalid entry is written
        return after

    try:
        change_file(path, changed, head=_HEAD)
    except (OSError, ValueError, UsageError) as error:
        raise _not_written(name, path, error) from error
    return path


def remove_agent(name: str, *, state: str) -> Path:
    """Delete the user's description of an agent; a catalogue agent that it replaced takes effect again."""
    own = _own(name)
    _unchanged(name, own, state)
    if own is None:
        raise SettingsError(f"You have no agent {name!r} of your own.", hint="Another window may have removed it.")
    try:
        own.path.unlink()
    except OSError as error:
        raise _not_written(name, own.path, error) from error
    return own.path


def check(name: str, line: str, env: Mapping[str, str | None]) -> tuple[str, ...]:
    """Returns the words of the command; raises if the name, the command or a variable is not valid."""
    if not _NAME.fullmatch(name):
        hint = "Use 1 to 60 lowercase letters, digits, dots, dashes and underscores, starting with a letter or a digit."
        raise UsageError(f"{name!r:.200} is not a valid name for an agent.", hint=hint)
    words = command_words(line)
    if len(env) > _MOST_VARIABLES:
        raise UsageError(f"{len(env)} variables are more than the {_MOST_VARIABLES} that an agent can have.")
    for variable, value in env.items():
        if not _VARIABLE.fullmatch(variable):
            hint = "Use letters, digits and underscores, and do not start with a digit."
            raise UsageError(f"{variable!r:.200} is not a variable name.", hint=hint)
        if value is not None and ("\0" in value or len(value) > _LONGEST_VALUE):
            message = f"The value of {variable} is too long, or has a character that is not allowed in a variable."
            raise UsageError(message, hint=f"It has at most {_LONGEST_VALUE:,} characters.")
    return words


def _described(
    text: str, name: str, words: tuple[str, ...], env: Mapping[str, str | None], base: AgentSpec | None
) -> str:
    data = parsed(text)
    if not data:
        text = with_key(text, "name", name)
        text = with_key(text, "title" if base is None else "based_on", name)
    known = data.get("env", {})
    unknown = [variable for variable, value in env.items() if value is None and variable not in known]
    if unknown:
        message = f"The variable {unknown[0]} has no value to keep."
        raise UsageError(message, hint=f"Write {unknown[0]}= and its value.")
    is_based = base is not None and (not data or "based_on" in data)
    if is_address(words[0]):
        text = with_key(without_key(text, "command"), "url", words[0])
    elif is_based and base is not None and words == base.command:
        text = without_key(text, "command")
    elif list(words) != data.get("command"):
        text = with_key(without_key(text, "url"), "command", list(words))
    wanted = {variable: known[variable] if value is None else value for variable, value in env.items()}
    return text if wanted == known else with_pairs(text, "env", wanted)


def _files() -> list[Path]:
    try:
        return sorted(path for path in user_folder().iterdir() if path.suffix == ".toml")
    except OSError:
        return []


def _read(path: Path) -> OwnAgent:
    state = _state(path)
    try:
        text = path.read_text("utf-8")
        spec, data = read(text, catalogue), parsed(text)
    except (AgentnbError, OSError, ValueError) as error:
        problem = f"{path}: {error}"
        return OwnAgent(
            name=path.stem, title=path.stem, command=(), variables=(), path=path, state=state, problem=problem
        )
    command: Any = (data["url"],) if "url" in data else data.get("command", spec.command)
    variables = tuple(data.get("env", {}))
    return OwnAgent(
        name=spec.name, title=spec.title, command=tuple(command), variables=variables, path=path, state=state
    )


def _own(name: str) -> OwnAgent | None:
    return next((each for each in own_agents() if each.name == name), None)


def _state(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return ""
    return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"


def _unchanged(name: str, own: OwnAgent | None, state: str) -> None:
    if (own.state if own is not None else "") != state:
        raise _changed_meanwhile(name, own.path if own is not None else user_folder() / f"{name}.toml")


def _changed_meanwhile(name: str, path: Path) -> SettingsError:
    message = f"{name} was not changed: {path} was changed meanwhile."
    return SettingsError(message, hint="Check it, and save it again.")


def _not_written(name: str, path: Path, error: Exception) -> SettingsError:
    message = f"{name} was not changed: {getattr(error, 'strerror', None) or error} ({path})."
    return SettingsError(message, hint="Fix the file, or change it by hand; nothing in it was changed.")
