"""Policy files: the user's and the project's, in TOML, read strictly.

An error is reported with file, line and key; until it is fixed, everything asks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import msgspec

from agentnb import site_policy
from agentnb.agent.confinement import EVERY, Confining, checked_confining, tighter
from agentnb.budget import Limit, read_budget
from agentnb.errors import PolicyError, UsageError, did_you_mean
from agentnb.folders import home
from agentnb.policy.keys import FILE_KEYS, RULE_KEYS, TABLES, CellReview, Freedom, Key, lowest
from agentnb.policy.rules import AccessRule, InForce
from agentnb.site_policy import read_text
from agentnb.toml_file import key_line, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.policy.rules import Source

_BUDGET = re.compile(r"^[ \t]*[\"']?budget", re.MULTILINE)
_ORIGINS: dict[str, str] = {
    "user": "your policy file",
    "project": "the project's policy file",
    "site": "set by your administrator",
}


class PolicySettings(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of one policy file."""

    rules: tuple[InForce, ...] = ()
    bypass: frozenset[str] = frozenset()
    confine: Mapping[str, Confining] = {}
    sensitive: tuple[tuple[str, bool], ...] = ()
    headless: Literal["allow", "deny"] = "deny"
    cell_review: CellReview | None = None
    freedom_at_most: Freedom | None = None
    budget: tuple[Limit, ...] = ()
    budget_day: tuple[Limit, ...] = ()
    unread_budget: str = ""
    trusted: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    problem: str | None = None


def load(path: Path, source: Source) -> PolicySettings:
    """Read the policy file *path*; a missing one sets nothing, an invalid one gives the reason in ``problem``."""
    until = "Until then no agent starts." if source == "site" else "Until then everything asks."
    text: str | None = ""
    try:
        text = read_text(path) if source == "site" else path.read_bytes().decode("utf-8")
        if text is None:
            return PolicySettings()
        settings = parse(text, str(path), source)
        if source == "site":
            site_policy.parse(text, path)
    except (FileNotFoundError, NotADirectoryError):
        return PolicySettings()
    except (OSError, UnicodeDecodeError) as error:
        return PolicySettings(problem=f"The policy file {path} cannot be read: {error}. {until}")
    except PolicyError as error:
        unread = source if _BUDGET.search(text or "") else ""
        return PolicySettings(problem=f"{error} {until}", unread_budget=unread)
    return tightened(settings, str(path)) if source in {"project", "site"} else settings


def parse(text: str, name: str, source: Source = "user") -> PolicySettings:
    try:
        data = parsed(text)
    except ValueError as error:
        raise PolicyError(f"{name} is not TOML: {error}.", hint="Fix that line.") from error
    reader = _Reader(text, name, source)
    tables = (*TABLES, site_policy.TABLE) if source == "site" else TABLES
    reader.known(data, (*tables, *(key.name for key in FILE_KEYS)), "")
    return PolicySettings(
        rules=tuple(reader.rule(number, each) for number, each in enumerate(reader.listed(data), 1)),
        bypass=frozenset(reader.bypass(agents := reader.agents(data.get("agents", {})))),
        confine=reader.confine(agents),
        sensitive=tuple(reader.sensitive(data.get("sensitive", {}))),
        trusted=tuple(reader.trusted(data.get("trust", {}))),
        **{key.name: reader.value(key, data) for key in FILE_KEYS},
    )


def tightened(settings: PolicySettings, name: str) -> PolicySettings:
    """Returns the part of a project's *settings* that counts: a repository may tighten the policy, never loosen it."""
    rules = tuple(each for each in settings.rules if each.rule.action != "allow")
    sensitive = tuple(each for each in settings.sensitive if each[1])
    dropped = [f"{each.where} ({each.rule.text})" for each in settings.rules if each.rule.action == "allow"]
    dropped += [f"[agents.{agent}] bypass" for agent in sorted(settings.bypass)]
    dropped += [
        f"[agents.{agent}] confine" for agent, confining in sorted(settings.confine.items()) if confining is False
    ]
    dropped += [f"[sensitive] {pattern!r} = false" for pattern, is_ in settings.sensitive if not is_]
    loosened = loosening(settings)
    dropped += loosened
    dropped += [f"[trust] {folder!r}" for folder in settings.trusted]
    own = "Put it in your own policy file if you want it; `%agents policy` says where that is."
    warnings = tuple(
        f"{name} loosens the policy, which a project may not do: {each} is ignored. {own}" for each in dropped
    )
    confine = {agent: confining for agent, confining in settings.confine.items() if confining is not False}
    kept = {key.name: getattr(settings, key.name) for key in FILE_KEYS if key.name not in loosened}
    return PolicySettings(rules=rules, confine=confine, sensitive=sensitive, warnings=warnings, **kept)


def joined(site: PolicySettings, project: PolicySettings) -> PolicySettings:
    """Returns the site's and the project's settings as one; each may only tighten."""
    reviews = {site.cell_review, project.cell_review}
    return PolicySettings(
        rules=(*site.rules, *project.rules),
        confine={
            agent: confining
            for agent in (*project.confine, *site.confine)
            if (confining := tighter(site.confine.get(agent), project.confine.get(agent))) is not None
        },
        sensitive=(*project.sensitive, *site.sensitive),
        cell_review="first" if "first" in reviews else None,
        freedom_at_most=lowest((site.freedom_at_most, project.freedom_at_most)),
        budget=(*site.budget, *project.budget),
        budget_day=(*site.budget_day, *project.budget_day),
        unread_budget=site.unread_budget or project.unread_budget,
        warnings=(*site.warnings, *project.warnings),
        problem=site.problem or project.problem,
    )


def loosening(settings: PolicySettings) -> list[str]:
    """Returns the keys of a file whose values loosen the policy."""
    return [key.name for key in FILE_KEYS if key.loosest and getattr(settings, key.name) == key.loosest]


class _Reader:
    """Says which line of the file a mistake is in."""

    def __init__(self, text: str, name: str, source: Source) -> None:
        self._lines = text.splitlines()
        self._name = name
        self._source = source

    def known(self, data: dict[str, Any], keys: tuple[str, ...], table: str) -> None:
        for key in data:
            if key == site_policy.TABLE and key not in keys:
                hint = "It belongs in the site's file; `agentnb site-policy` says where that is."
                self._fail(key, table, "[site] is for the administrator", hint)
            if key not in keys:
                hint = f"{did_you_mean(key, keys)}It can be {', '.join(keys)}."
                self._fail(key, table, f"{key!r} is not known", hint)

    def listed(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        rules: Any = data.get("rule", [])
        if not isinstance(rules, list) or not all(isinstance(each, dict) for each in rules):
            self._fail("rule", "", "'rule' is not a list of tables", "Start each rule with a line [[rule]].")
        return list(rules)

    def rule(self, number: int, data: dict[str, Any]) -> InForce:
        table = f"rule {number}"
        self.known(data, tuple(key.name for key in RULE_KEYS), table)
        fields = {key.name: self.value(key, data, table) for key in RULE_KEYS}
        fields["path"] = tuple(_home(each) for each in fields["path"])
        fields["folder"] = tuple(self.folders("folder", table, fields["folder"]))
        return InForce(AccessRule(**fields), self._source, f"{self._name} {table}")

    def value(self, key: Key, data: dict[str, Any], table: str = "") -> Any:
        name = key.name
        if name not in data:
            if key.is_needed:
                wanted = " or ".join(f'"{each}"' for each in key.choices).replace(" or ", ", ", 1)
                self._fail(name, table, f"{name!r} is missing", f"Add {name} = {wanted}.")
            return key.default
        value = data[name]
        if key.kind == "texts":
            return self._texts(key, value, table)
        if key.kind == "budget":
            return self._budget(key, value)
        if key.kind == "choice":
            return self._choice(value, key, table)
        if not isinstance(value, bool if key.kind == "switch" else str):
            hint = "Use true or false." if key.kind == "switch" else "Use text."
            self._fail(name, table, f"{name!r} is {value!r}", hint)
        return value

    def _budget(self, key: Key, value: Any) -> tuple[Limit, ...]:
        is_site = self._source == "site"
        try:
            return read_budget(
                value,
                name=key.name,
                scope="day" if key.name == "budget_day" else "conversation",
                origin=_ORIGINS[self._source],
                hint=f"It is set in {self._name}." if is_site else f"Raise {key.name} in {self._name}.",
                is_fixed=is_site,
            )
        except UsageError as error:
            self._fail(key.name, "", error.message.removesuffix("."), error.hint or "")

    def _texts(self, key: Key, value: Any, table: str) -> tuple[str, ...]:
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
            self._fail(
                key.name, table, f"{key.name!r} is neither text nor a list of strings", f'Write {key.name} = ["…"].'
            )
        for each in value if key.choices else ():
            self._choice(each, key, table)
        return tuple(value)

    def agents(self, agents: Any) -> dict[str, dict[str, Any]]:
        for agent, data in self._table(agents, "agents").items():
            self.known(self._table(data, f"agents.{agent}"), ("bypass", "confine"), f"agents.{agent}")
        return agents  # type: ignore[no-any-return]

    def confine(self, agents: dict[str, dict[str, Any]]) -> dict[str, Confining]:
        by_agent: dict[str, Confining] = {}
        for agent, data in agents.items():
            if "confine" in data:
                try:
                    by_agent[agent] = checked_confining(data["confine"])
                except UsageError as error:
                    self._fail("confine", f"agents.{agent}", error.message.removesuffix("."), error.hint or "")
        return by_agent

    def bypass(self, agents: dict[str, dict[str, Any]]) -> list[str]:
        bypassing = []
        for agent, data in agents.items():
            value = data.get("bypass", False)
            if value is True and agent == EVERY:
                self._fail(
                    "bypass", f"agents.{agent}", "'bypass' holds for one agent", "Use the agent's name instead of *."
                )
            if not isinstance(value, bool):
                self._fail("bypass", f"agents.{agent}", f"'bypass' is {value!r}", "Use true or false.")
            bypassing += [agent] if value else []
        return bypassing

    def sensitive(self, patterns: Any) -> list[tuple[str, bool]]:
        for pattern, value in self._table(patterns, "sensitive").items():
            if not isinstance(value, bool):
                self._fail(pattern, "sensitive", f"{pattern!r} is {value!r}", "Use true (asks) or false (does not).")
        return list(patterns.items())

    def trusted(self, data: Any) -> list[str]:
        self.known(self._table(data, "trust"), ("folders",), "trust")
        folders = data.get("folders", [])
        if not isinstance(folders, list) or not all(isinstance(each, str) for each in folders):
            self._fail("folders", "trust", "'folders' is not a list of strings", 'Write folders = ["~/work"].')
        return self.folders("folders", "trust", folders)

    def folders(self, key: str, table: str, folders: Iterable[str]) -> list[str]:
        """Returns the *folders* of *key* as absolute paths."""
        paths = []
        for folder in folders:
            paths.append(str(home()) if folder == "~" else _home(folder))
            if not Path(paths[-1]).is_absolute() or "\0" in folder:
                self._fail(key, table, f"{folder!r} is not an absolute path", "Start it with / or ~/.")
        return paths

    def _choice(self, value: Any, key: Key, table: str) -> Any:
        if value not in key.choices:
            hint = f"{did_you_mean(str(value), key.choices)}It can be {', '.join(map(repr, key.choices))}."
            self._fail(key.name, table, f"{key.name!r} is {value!r}", hint)
        return value

    def _table(self, value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._fail(name, "", f"{name!r} is not a table", f"Write [{name}].")
        return value

    def _fail(self, key: str, table: str, what: str, hint: str) -> NoReturn:
        line = key_line(self._lines, key, table)
        where = f"{self._name}, line {line}" if line else self._name
        inside = f" in {table}" if table else ""
        raise PolicyError(f"{where}{inside}: {what}.", hint=hint)


def _home(pattern: str) -> str:
    """Replace a leading ``~/`` with the user's home folder, whichever user's kernel this is."""
    return f"{home()}{pattern[1:]}" if pattern.startswith("~/") else pattern
