"""The site's policy: what holds here and why, and what is wrong with a file."""

from __future__ import annotations

import difflib
import os
from itertools import combinations
from typing import TYPE_CHECKING, Any

from agentnb.agent.catalog import every_name
from agentnb.agent.confinement import way_here
from agentnb.agent.confinement_choice import EVERY, tighter
from agentnb.checkup.packages import checkup
from agentnb.configuration.shown import shown_value
from agentnb.configuration.site_settings import is_tighter, settings_of
from agentnb.configuration.table import setting
from agentnb.plugin_registry import plugins
from agentnb.policy.freedom import FREEDOMS, TITLES
from agentnb.policy.settings import load
from agentnb.site_policy import KINDS, SWITCHES, Entry, Kind, SiteFile, read_file, site_files, site_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentnb.acp.doctor import Checkup
    from agentnb.policy.settings import PolicySettings


def examine() -> Checkup:
    """The site's files, for the doctor."""
    paths = [path for path in site_files() if os.path.lexists(path)]
    if not paths:
        message = f"There is none ({', '.join(map(str, site_files()))})."
        return checkup("site policy", "absent", None, message)
    wrong = [each for path in paths for each in problems(path)]
    if wrong:
        return checkup("site policy", "broken", None, " ".join(dict.fromkeys(wrong)), todo="agentnb site-policy")
    return checkup("site policy", "ready", None, " ".join([*holding(), *changeable(paths)]))


def holding() -> list[str]:
    """What holds on this machine, a sentence each, with the file that says it."""
    found = []
    for path in site_files():
        file, policy = read_file(path), load(path, "site")
        if file is None:
            continue
        if policy.problem is not None:
            found.append(policy.problem)
            continue
        found += [f"{path}: {each}" for each in (*_of_table(file), *_of_policy(policy))] or [f"{path} sets nothing."]
    return found


def _of_table(file: SiteFile) -> Iterator[str]:
    if file.message:
        yield f"Message: {file.message}"
    for kind, listed in file.lists.items():
        name = KINDS[kind]
        if listed.allow is not None:
            yield f"Only these {name}s are allowed: {_values(listed.allow) or 'none'} (line {listed.line})."
        if listed.deny:
            yield f"Not allowed, {name}s: {_values(listed.deny)} (line {listed.deny[0].line})."
    for switch, line in file.off.items():
        yield f"{SWITCHES[switch]} (line {line})."
    for name, entry in file.settings.items():
        yield f"{name} is {shown_value(name, entry.value)} (line {entry.line})."
    if file.audit:
        yield f"Decisions are written to {file.audit}."


def _of_policy(policy: PolicySettings) -> Iterator[str]:
    if policy.freedom_at_most is not None:
        yield f"The freedom of conversations is at most {TITLES[policy.freedom_at_most]}."
    if policy.cell_review == "first":
        yield "Cell changes are reviewed before they are made."
    for agent, confine in policy.confine.items():
        who = "Every agent" if agent == EVERY else agent
        hosts = f", with these hosts only: {', '.join(confine)}" if isinstance(confine, tuple) else ""
        yield f"{who} is confined{', without network' if confine == 'no network' else hosts}."
    for each in policy.rules:
        yield f"Rule: {each.rule.text}."
    if policy.sensitive:
        yield f"Sensitive, too: {', '.join(pattern for pattern, _ in policy.sensitive)}."


def problems(path: Path) -> list[str]:
    """What is wrong with the file *path* of a site, by itself and beside the others."""
    policy = load(path, "site")
    if policy.problem is not None:
        return [policy.problem]
    file = read_file(path)
    if file is None:
        return [f"There is no file {path}."]
    wrong = settings_of([file])[1]
    others = [each for each in site_policy().files if each.path != path and each.problem is None]
    return [
        *policy.warnings,
        *([wrong] if wrong else []),
        *_contradictions(file),
        *_unknown_names(file),
        *_unavailable(file, policy),
        *(() if wrong else _disagreements([file, *others])),
    ]


def changeable(paths: list[Path]) -> list[str]:
    """A sentence for each of *paths* that the user who runs this can change or replace."""
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        return []
    found = []
    for path in paths:
        real = path.resolve()
        if any(os.access(each, os.W_OK) for each in (real, real.parent, path.parent)):
            link = f" (a link to {real})" if path.is_symlink() else ""
            found.append(f"You can change {path}{link} yourself, so it does not bind you.")
    return found


def _contradictions(file: SiteFile) -> Iterator[str]:
    for kind, listed in file.lists.items():
        for allowed in listed.allow or ():
            denied = next((each for each in listed.deny if _covers(each.value, allowed.value)), None)
            if denied is not None:
                yield (
                    f"{file.place(allowed.line)}: the {KINDS[kind]} {allowed.value!r} is allowed, and line "
                    f"{denied.line} denies it ({denied.value!r}): it is denied. Remove one of the two."
                )


def _covers(pattern: str, other: str) -> bool:
    parts = pattern.split("*")
    return pattern == other or (len(parts) > 1 and other.startswith(parts[0]) and other.endswith(parts[-1]))


def _unknown_names(file: SiteFile) -> Iterator[str]:
    known: dict[Any, Callable[[], tuple[str, ...]]] = {"agents": every_name, "plugins": lambda: plugins().names}
    for kind in known.keys() & file.lists.keys():
        names = known[kind]()
        listed = file.lists[kind]
        for each in (*(listed.allow or ()), *listed.deny):
            if each.value in names or any(char in each.value for char in "*/ "):
                continue
            close = difflib.get_close_matches(each.value, names, n=1)
            guess = f" Did you mean {close[0]!r}?" if close else ""
            yield f"{file.place(each.line)}: agentnb knows no {KINDS[kind]} {each.value!r}.{guess}"


def _unavailable(file: SiteFile, policy: PolicySettings) -> Iterator[str]:
    confined = [agent for agent, said in policy.confine.items() if said is not False]
    if not confined:
        return
    who = "agents" if EVERY in confined else ", ".join(confined)
    way, why = way_here()
    if way is None:
        cannot = f"{file.path}: {who} must be confined, but cannot be confined here, so they do not start: {why}."
        auto = ' freedom_at_most = "auto" then runs nothing without asking.' if policy.freedom_at_most == "auto" else ""
        yield f"{cannot}{auto}"


def _disagreements(files: list[SiteFile]) -> Iterator[str]:
    """Where two files say different things: the tighter holds."""
    for one, other in combinations(files, 2):
        for name in one.settings.keys() & other.settings.keys():
            here, there = one.settings[name], other.settings[name]
            if here.value != there.value:
                holds = there if is_tighter(setting(name), there.value, here.value) else here
                yield _disagreement(name, (one, here), (other, there), holds.value)
        yield from _of_policies(one, other)
        for kind in one.lists.keys() & other.lists.keys():
            yield from _denied_elsewhere(kind, one, other)
            yield from _denied_elsewhere(kind, other, one)


def _of_policies(one: SiteFile, other: SiteFile) -> Iterator[str]:
    here, there = load(one.path, "site"), load(other.path, "site")
    first, second = here.freedom_at_most, there.freedom_at_most
    if first is not None and second is not None and first != second:
        lowest = min(first, second, key=FREEDOMS.index)
        yield _disagreement("freedom_at_most", (one, Entry(first, 0)), (other, Entry(second, 0)), lowest)
    for agent in here.confine.keys() & there.confine.keys():
        mine, theirs = here.confine[agent], there.confine[agent]
        if mine != theirs:
            entries = (one, Entry(mine, 0)), (other, Entry(theirs, 0))
            yield _disagreement(f"confine of {agent}", *entries, tighter(mine, theirs))


def _denied_elsewhere(kind: Kind, one: SiteFile, other: SiteFile) -> Iterator[str]:
    """What *one* allows and *other* denies."""
    for allowed in one.lists[kind].allow or ():
        denied = next((each for each in other.lists[kind].deny if _covers(each.value, allowed.value)), None)
        if denied is not None:
            yield (
                f"{one.place(allowed.line)} allows the {KINDS[kind]} {allowed.value!r}, and "
                f"{other.place(denied.line)} denies it: it is denied."
            )


def _disagreement(name: str, one: tuple[SiteFile, Entry], other: tuple[SiteFile, Entry], holds: Any) -> str:
    said = " and ".join(f"{entry.value!r} in {file.place(entry.line)}" for file, entry in (one, other))
    return f"{name} is {said}: {holds!r} holds."


def _values(entries: tuple[Entry, ...]) -> str:
    return ", ".join(str(each.value) for each in entries)
