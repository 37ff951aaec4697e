"""Settings and trusted folders, from Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentnb.api.columns import Rows, Table, on_one_line, shortened
from agentnb.api.configured import folder_of
from agentnb.budget import described
from agentnb.configuration.named_things import missing, missing_things
from agentnb.configuration.sources import SOURCES, SettingValue, read_settings
from agentnb.configuration.table import setting
from agentnb.configuration.what_if import in_words, what_if
from agentnb.configuration.write import change_setting, shown_value
from agentnb.distribution import manual
from agentnb.errors import PolicyError, UsageError
from agentnb.host import current_host
from agentnb.host.environment import current_environment
from agentnb.policy.rules import AccessRule
from agentnb.policy.store import PolicyFiles
from agentnb.policy.workspace import PROJECT

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from agentnb.api.session import Session
    from agentnb.configuration.sources import Sources
    from agentnb.host.environment import Environment
    from agentnb.host.host import Host
    from agentnb.policy.audit import Record
    from agentnb.policy.rules import InForce


class Policy(NamedTuple):
    """The rules in force, and the last decisions."""

    rules: tuple[InForce, ...]
    bypass: tuple[str, ...]
    sensitive: tuple[tuple[str, bool], ...]
    headless: str
    folder: Path
    trusted: bool
    trusted_folders: tuple[str, ...]
    mode: str | None
    warnings: tuple[str, ...]
    records: tuple[Record, ...]
    user_file: Path
    project_file: Path
    log_file: Path
    cell_review: str = "first"
    confine: Mapping[str, Any] = {}
    freedom_at_most: str | None = None
    budget: str | None = None
    budget_day: str | None = None


def policy(session: Session | None = None, last: int = 10) -> Policy:
    """Returns the policy that applies in *session*, or to new sessions in the current folder."""
    host = current_host()
    return host.loop.call(lambda: _policy(host, session, last))


def trust(folder: str | os.PathLike[str] = ".") -> Path:
    """Trust a folder and everything in it: your policy file's ``allow`` rules apply there.

    Trust covers ``allow`` rules, ``bypass`` and ``headless = "allow"``; in other folders agents still ask. It is stored
    in your policy file and applies in every kernel until :func:`agentnb.untrust`.

    Args:
        folder: The folder; links are followed.

    Returns:
        The folder, absolute.

    Raises:
        UsageError: If it is not a folder.
        PolicyError: If your policy file cannot be changed.

    Example:
        >>> agentnb.trust()  # doctest: +SKIP
        PosixPath('/home/ada/fit')
    """
    path = folder_of(folder, "folder")
    host = current_host()
    host.loop.call(host.policy.files.trust, path)
    return path


def untrust(folder: str | os.PathLike[str] = ".") -> Path:
    """Stop trusting a folder; no effect if it was not trusted.

    Args:
        folder: The folder; links are followed. It need not exist anymore.

    Returns:
        The folder, absolute.

    Raises:
        PolicyError: If a folder above it is trusted, or your policy file cannot be changed.

    Example:
        >>> agentnb.untrust("fit")  # doctest: +SKIP
        PosixPath('/home/ada/fit')
    """
    path = Path(folder).expanduser().resolve()
    host = current_host()
    host.loop.call(host.policy.files.untrust, path)
    return path


def _policy(host: Host, session: Session | None, last: int) -> Policy:
    held, conversation = host.policy, None if session is None else session._conversation  # noqa: SLF001 - of this layer
    folder = Path.cwd() if conversation is None else conversation.cwd
    user, project = held.files.user, held.files.project(folder)
    grants = () if conversation is None else conversation.permissions.grants.in_force
    records = held.audit.records
    if conversation is not None:
        records = tuple(each for each in records if each.session == conversation.session.uri)
    problems = (user.problem, project.problem, *user.warnings, *project.warnings, held.audit.problem)
    return Policy(
        rules=(*user.rules, *grants, *project.rules),
        bypass=tuple(sorted(user.bypass)),
        confine={**user.confine, **project.confine},
        sensitive=(*user.sensitive, *project.sensitive),
        headless=held.headless or user.headless,
        cell_review=held.review(folder, host.environment.cell_review()),
        freedom_at_most=held.ceiling(folder),
        budget=described(user.budget, project.budget),
        budget_day=described(user.budget_day, project.budget_day),
        folder=folder,
        trusted=held.files.trusts(folder),
        trusted_folders=user.trusted,
        mode=None if conversation is None else conversation.mode,
        warnings=tuple(each for each in problems if each),
        records=records[-last:] if last else (),
        user_file=held.files.user_path,
        project_file=folder / PROJECT,
        log_file=held.audit.path,
    )


_LONGEST = 60


class Settings(Table, Rows[SettingValue]):
    """Every setting with its current value.

    Args:
        sources: The settings, as read from files and variables.
        environment: This process's environment; None in a shell.

    Attributes:
        problems: Errors in files and variables; those values are ignored.
    """

    _head = ("setting", "value", "from")

    def __init__(self, sources: Sources, environment: Environment | None = None) -> None:
        super().__init__(value for _, values in sources.grouped() for value in values)
        self.problems: tuple[str, ...] = (*sources.problems, *missing_things(sources))
        self._environment = environment

    def _cells(self, row: SettingValue) -> tuple[str, ...]:
        return row.name, shortened(on_one_line(shown_value(row.name, row.value)), _LONGEST), _from(row)

    def _notes(self) -> Sequence[str]:
        return self.problems

    def set(self, name: str, value: Any, *, here: bool = False) -> Path | None:
        """Change a setting.

        Args:
            name: The setting's name.
            value: Its new value.
            here: True to change it in this kernel only, as with ``%config``; otherwise it is written to your file.

        Returns:
            The file that was written; None with *here*.

        Raises:
            UsageError: If there is no such setting, or the value is not valid or names something that does not exist.
            UnknownAgent: If the value names an unknown agent.
            SettingsError: If the file cannot be changed.

        Example:
            >>> agentnb.settings().set("agent", "claude")  # doctest: +SKIP
            PosixPath('/home/ada/.jupyter/agentnb/settings.toml')
        """
        if value is None:
            raise UsageError(f"None is not a value of {name}.", hint="settings().reset(…) removes what was set.")
        return self._change(name, value, here=here)

    def reset(self, name: str, *, here: bool = False) -> Path | None:
        """Remove a setting from your file; with *here*, remove what ``%config`` set in this kernel."""
        return self._change(name, None, here=here)

    def add_rule(
        self,
        action: str,
        *,
        agent: str | Sequence[str] = (),
        tool: str | Sequence[str] = (),
        path: str | Sequence[str] = (),
        command: str | Sequence[str] = (),
        severity: str = "high",
        sensitive: bool = False,
        note: str | None = None,
    ) -> Path:
        """Add a rule at the end of your policy file, where it overrides the rules before it.

        Args:
            action: ``"allow"``, ``"ask"`` or ``"deny"``.
            agent: The agents to which it applies, with ``*`` as a wildcard; all by default.
            tool: Kinds of tools.
            path: Patterns for files.
            command: Patterns for command lines.
            severity: The highest severity that an ``allow`` covers.
            sensitive: True if an ``allow`` covers sensitive files.
            note: A note for people.

        Returns:
            The policy file.

        Raises:
            PolicyError: If that is not a valid rule, or the file cannot be changed.

        Example:
            >>> agentnb.settings().add_rule("deny", command="git push *")  # doctest: +SKIP
        """
        fields = {"agent": agent, "tool": tool, "path": path, "command": command}
        rule_fields = {"action": action, "severity": severity, "sensitive": sensitive, "note": note}
        rule_fields |= {name: (value,) if isinstance(value, str) else tuple(value) for name, value in fields.items()}
        try:
            rule = msgspec.convert(rule_fields, AccessRule)
        except msgspec.ValidationError as error:
            raise PolicyError(
                f"This is not a rule: {error}.", hint=f"{manual('reference/policy')} lists all settings."
            ) from None
        return PolicyFiles().remember(rule)

    def remove_rule(self, number: int) -> Path:
        """Remove rule *number* from your policy file, 1 for the first; returns the file.

        Raises:
            PolicyError: If there is no such rule, or the file cannot be changed.
        """
        files = PolicyFiles()
        rules = files.user.rules
        if not 0 < number <= len(rules):
            message = f"Your policy file has no rule {number}; it has {len(rules)}."
            raise PolicyError(message, hint="`%agents policy` lists them.")
        return files.forget(number, rules[number - 1].rule.text)

    def what_if(self, command: str = "", *, path: str = "", tool: str = "edit", agent: str | None = None) -> str:
        """Returns what would happen if an agent wanted to run a command or use a file; nothing is run.

        Args:
            command: A command line.
            path: A file, if no command is given.
            tool: The agent's use of that file, such as ``"read"``, ``"edit"`` or ``"delete"``.
            agent: The agent; the default one if None.

        Raises:
            UsageError: If neither a command nor a path is given.

        Example:
            >>> agentnb.settings().what_if("rm -rf /")  # doctest: +SKIP
            "You'd be asked: it …"
        """
        now = self._read()
        folder = Path.cwd() if self._environment is None else self._environment.default_workspace()
        verdict = what_if(
            PolicyFiles(),
            folder,
            command=command,
            path=path,
            tool=tool,
            agent=agent or now["agent"].value,
            mode=now.mode,
        )
        return in_words(verdict)

    def _read(self) -> Sources:
        return read_settings() if self._environment is None else self._environment.sources()

    def _change(self, name: str, value: Any, *, here: bool) -> Path | None:
        which = setting(name)
        if value is not None and (error := missing(name, which.check(value))) is not None:
            raise error
        if not here:
            path = change_setting(name, value)
            self._read()
            return path
        chosen = None if self._environment is None else self._environment.settings
        if chosen is None:
            message = "The extension is not loaded here, so a setting cannot be limited to this kernel."
            raise UsageError(message, hint="%load_ext agentnb, or leave out here=True.")
        chosen.choose(which.name, value)
        return None


def settings() -> Settings:
    """Returns every setting with its value and where the value comes from.

    Returns:
        One row per setting; the table's methods are ``set``, ``reset``, ``add_rule``, ``remove_rule`` and ``what_if``.

    Example:
        >>> agentnb.settings()  # doctest: +SKIP
        setting    value      from
        agent      eliza      default
        >>> agentnb.settings().set("permissions", "deny")  # doctest: +SKIP
    """
    environment = current_environment()
    return Settings(environment.sources(), environment)


def kept_settings() -> Settings:
    """The settings as a shell sees them, without a kernel."""
    return Settings(read_settings())


def _from(row: SettingValue) -> str:
    return f"{SOURCES[row.source]} ({row.where})" if row.where else SOURCES[row.source]
