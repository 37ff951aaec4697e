"""The policy files as they are on disk now: read again when they change, written when the user says "always"."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.distribution import manual
from agentnb.errors import PolicyError, UsageError
from agentnb.folders import config_folder
from agentnb.policy.keys import RULE_KEYS
from agentnb.policy.settings import PolicySettings, joined, load, parse
from agentnb.policy.workspace import NAME, PROJECT, trusting, with_folder, without_folder
from agentnb.site_policy import file_state, site_files
from agentnb.toml_file import (
    ChangedMeanwhile,
    change_file,
    parsed,
    toml_text,
    toml_value,
    with_key,
    without_entry,
    without_key,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentnb.policy.rules import AccessRule, Source

_BYPASS = re.compile(r"\bbypass[\"']?\s*=\s*(true)\b")
_NOTHING = PolicySettings()
_HEAD = f"# What agents may do: {manual('reference/policy')}\n# The last rule that matches wins.\n"


class PolicyFiles:
    """The user's policy file, the project's of each workspace, and the site's."""

    def __init__(self, user: Path | None = None, site: Sequence[Path] | None = None) -> None:
        self._user = user
        self._site = site
        self._read: dict[tuple[Path, str], tuple[tuple[int, ...], PolicySettings]] = {}

    @property
    def user_path(self) -> Path:
        return self._user or config_folder() / NAME

    @property
    def user(self) -> PolicySettings:
        return self._load(self.user_path, "user")

    def project(self, workspace: Path) -> PolicySettings:
        """Returns the current content of the project's file in *workspace* and the site's files: they only tighten."""
        settings, site = self._load(workspace / PROJECT, "project"), self.site
        return joined(site, settings) if site != _NOTHING else settings

    @property
    def site(self) -> PolicySettings:
        """Returns the current content of the site's files, combined: the tighter value counts."""
        settings = _NOTHING
        for _, site_settings in self.of_site:
            settings = joined(site_settings, settings)
        return settings

    @property
    def of_site(self) -> tuple[tuple[Path, PolicySettings], ...]:
        """Returns the site's files that set something, with their settings."""
        paths = site_files() if self._site is None else self._site
        return tuple((path, settings) for path in paths if (settings := self._load(path, "site")) != _NOTHING)

    def trusts(self, workspace: Path) -> bool:
        """True if the user trusts the folder *workspace*, or one that contains it."""
        return trusting(self.user.trusted, workspace) is not None

    def remember(self, rule: AccessRule) -> Path:
        """Append *rule* to the user's file, completely or not at all."""
        return self._change(lambda before: f"{before.rstrip()}\n\n{_toml(rule)}", "Add the rule by hand.")

    def trust(self, folder: Path) -> Path:
        """Let the rules in the user's file that allow something apply in *folder* and below it."""
        return self._change(lambda before: _trusting(before, folder), "Add it to [trust] folders by hand.")

    def untrust(self, folder: Path) -> Path:
        real = os.path.realpath(folder)

        def taken(before: str) -> str:
            for entry in _trusted(before):
                if os.path.realpath(entry) == real:
                    before = without_folder(before, entry, _trusted)
            left = trusting(_trusted(before), folder)
            if left is not None:
                message = f"{folder} is in {left}, which is trusted."
                raise PolicyError(message, hint="Remove the trust in that folder, then trust others in it.")
            return before

        return self._change(taken, "Remove it from [trust] folders by hand.")

    def forget(self, number: int, text: str) -> Path:
        """Remove rule *number* from the user's file; raises if it does not read *text*."""

        def without(before: str) -> str:
            rules = parse(before, str(self.user_path)).rules
            if not 0 < number <= len(rules) or rules[number - 1].rule.text != text:
                message = f"Rule {number} is no longer {text!r}."
                raise PolicyError(message, hint="The file was changed meanwhile: check its rules again.")
            return without_entry(before, "rule", number)

        return self._change(without, "Remove the rule by hand.")

    def revoke(self, text: str) -> Path:
        """Remove every rule that reads *text* from the user's file; no effect if there is none."""

        def without(before: str) -> str:
            rules = parse(before, str(self.user_path)).rules
            for number in range(len(rules), 0, -1):
                before = without_entry(before, "rule", number) if rules[number - 1].rule.text == text else before
            return before

        return self._change(without, "Remove the rule by hand.")

    def revoke_bypass(self, agent: str) -> Path:
        """Make *agent* ask again; the rest of the file stays as it is."""

        def without(before: str) -> str:
            left = parse(before, "policy.toml").bypass - {agent}
            cuts = (f"{before[: each.start(1)]}false{before[each.end(1) :]}" for each in _BYPASS.finditer(before))
            for text in cuts:
                if parse(text, "policy.toml").bypass == left:
                    return text
            raise PolicyError(f"The bypass for {agent} could not be removed.", hint="Change it by hand.")

        return self._change(without, f"Change [agents.{agent}] by hand.")

    def set_key(self, key: str, value: Any, check: Callable[[Mapping[str, Any]], None]) -> Path:
        """Set a key of the user's file, such as ``headless``; None removes it. *check* gets the file before."""

        def with_value(before: str) -> str:
            check(parsed(before))
            return without_key(before, key) if value is None else with_key(before, key, value)

        return self._change(with_value, f"Change {key} by hand.")

    def _change(self, change: Callable[[str], str], hint: str) -> Path:
        path = Path(os.path.realpath(self.user_path))

        def changed(before: str) -> str:
            parse(before, str(path))
            after = change(before)
            parse(after, str(path))
            return after

        try:
            change_file(path, changed, head=_HEAD)
        except (OSError, UnicodeDecodeError, UsageError, ChangedMeanwhile) as error:
            raise PolicyError(f"{path} could not be changed: {error}.", hint=hint) from error
        return path

    def _load(self, path: Path, source: Source) -> PolicySettings:
        state = file_state(path)
        known, settings = self._read.get((path, source), (None, _NOTHING))
        if known != state:
            settings = load(path, source)
            self._read[path, source] = (state, settings)
        return settings


def _trusted(text: str) -> tuple[str, ...]:
    return parse(text, "policy.toml").trusted


def _trusting(text: str, folder: Path) -> str:
    """Returns *text* with *folder* added to the trusted ones, if it is not there yet."""
    if trusting(_trusted(text), folder) is not None:
        return text
    return with_folder(text, toml_text(os.path.realpath(folder)), _trusted)


def _toml(rule: AccessRule) -> str:
    values = {key.name: getattr(rule, key.name) for key in RULE_KEYS if getattr(rule, key.name) != key.default}
    return "\n".join(["[[rule]]", *(f"{name} = {toml_value(value)}" for name, value in values.items()), ""])
