"""The policy's decisions, for requests, rules and circumstances in plain values; only this module knows the engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, TypeAlias

import msgspec

from agentnb.policy.engine import judge as _judge
from agentnb.policy.request import PolicyRequest, Situation, Verdict
from agentnb.policy.rules import AccessRule, InForce
from agentnb.policy.settings import PolicySettings

Row: TypeAlias = dict[str, Any]


def request(kind: str, path: str | None = None, command: str | None = None, **more: Any) -> Row:
    return {"kind": kind, "title": "x", "path": path, "command": command, **more}


def run(command: str, folder: str = "/w") -> Row:
    return request("terminal", folder, command)


def write(path: str = "/w/a.txt") -> Row:
    return request("write", path)


def rule(action: str, **fields: Any) -> Row:
    return {"action": action, **fields}


def situation(*rules: Row, **fields: Any) -> Row:
    """Returns the circumstances of a request of claude in the trusted workspace ``/w``; *rules* are the user's.

    Other keys: ``project``, ``session`` and ``turn`` are rules, too; ``bypass``, ``user_headless``, ``user_review``,
    ``sensitive``, ``ceiling`` and ``problem`` stand in the user's file, ``project_review`` and ``project_ceiling`` in
    the project's.
    """
    return {"agent": "claude", "root": "/w", "trusted": True, "user": rules, **fields}


def judge(asked: Mapping[str, Any], held: Mapping[str, Any]) -> Verdict:
    fields = dict(held)

    def rules(source: Any) -> tuple[InForce, ...]:
        return tuple(InForce(msgspec.convert(each, AccessRule), source) for each in fields.pop(source, ()))

    user = PolicySettings(
        rules=rules("user"),
        bypass=frozenset(fields.pop("bypass", ())),
        headless=fields.pop("user_headless", "deny"),
        cell_review=fields.pop("user_review", None),
        sensitive=fields.pop("sensitive", ()),
        freedom_at_most=fields.pop("ceiling", None),
        problem=fields.pop("problem", None),
    )
    project = PolicySettings(
        rules=rules("project"),
        cell_review=fields.pop("project_review", None),
        freedom_at_most=fields.pop("project_ceiling", None),
    )
    grants = (*rules("session"), *rules("turn"))
    roots: Row = {
        "root": PurePosixPath(fields.pop("root")),
        "directories": tuple(map(PurePosixPath, fields.pop("directories", ()))),
    }
    made = Situation(user=user, project=project, grants=grants, **roots, **fields)
    return _judge(PolicyRequest(**asked), made)
