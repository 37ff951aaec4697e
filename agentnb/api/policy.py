"""The policy as the user sees it: the rules in force, where each comes from, and what was decided last."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.api.configured import folder_of
from agentnb.budget import described
from agentnb.host import current_host
from agentnb.policy.places import PROJECT

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from agentnb.api.session import Session
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
    """The policy that holds in *session*, or for sessions to be started in the current folder."""
    host = current_host()
    return host.loop.call(lambda: _policy(host, session, last))


def trust(folder: str | os.PathLike[str] = ".") -> Path:
    """Trust a folder and everything in it: your policy file's ``allow`` rules apply there.

    This covers its ``allow`` rules, ``bypass`` and ``headless = "allow"``; in other folders agents still ask. It is
    written to your policy file and holds in every kernel until :func:`agentnb.untrust`.

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
        PolicyError: If a folder that it is in is trusted, or your policy file cannot be changed.

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
    grants = () if conversation is None else conversation.permissions.grants
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
