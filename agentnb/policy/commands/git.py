"""git: which of its commands lose work, reach other machines, or run programs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.policy.severity import Risk

if TYPE_CHECKING:
    from agentnb.policy.commands.table import Options

_TAKING = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env")
_CONFIGURE = frozenset({"-c", "--config", "--config-env"})
_LOOKS = frozenset(
    {"status", "log", "diff", "show", "blame", "ls-files", "ls-tree", "rev-parse", "describe", "shortlog", "grep"}
    | {"cat-file", "rev-list", "name-rev", "version", "help", "whatchanged", "ls-remote", "count-objects", "fsck"}
)
_RUNS = re.compile(
    r"(?:alias\.|core\.(?:pager|editor|sshcommand|hookspath|fsmonitor|gitproxy)|credential|diff\..*\.command|.*\.cmd"
    r"|filter\.|gpg\..*program|gpg\.program|sequence\.editor|pager\.|protocol\.|.*uploadpack|.*receivepack|include"
    r"|core\.(?:askpass|worktree|attributesfile)|.*\.(?:cmd|path|tool|driver|textconv|proxycommand|vcs)\b|hook|init\.template"
    r"|interactive\.|web\.|man\.|browser\.|remote\.|url\.|submodule\.|uploadarchive|trailer\.|ssh\.|sendemail\.)",
    re.IGNORECASE,
)
_PROGRAM_OPTIONS = (
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--extcmd",
    "--open-files-in-pager",
    "--ext-diff",
    "--textconv",
)
_PROGRAM_OPTIONS_OF = {"rebase": "-x", "grep": "-O", "difftool": "-x", "clone": "-u", "fetch": "-u"}
_SHOWS = ("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list")
_RUNNING = {"bisect": "run", "submodule": "foreach"}
LOSES = "Loses work in the repository, or rewrites its history."


def rate_git(options: Options) -> Risk | None:
    """How bad a git command can be."""
    for at, word in enumerate(options.words):
        configured = options.words[at + 1] if word in _CONFIGURE and at + 1 < len(options.words) else ""
        configured = word.partition("=")[2] if word.startswith(("--config-env=", "--config=")) else configured
        if _RUNS.match(configured) or word.startswith(("ext::", "--exec-path=", *_PROGRAM_OPTIONS)):
            return Risk("high", "Makes git run another program.")
    verb = options.verb(*_TAKING)
    if _runs(verb, options):
        return Risk("high", "Makes git run another program.")
    if options.has("--unsafe-paths", "--no-index") or (verb == "worktree" and _above(options)):
        return Risk("high", "Lets git work outside the repository.")
    if verb in _LOOKS or verb == "" or (verb == "config" and options.has("l", *_SHOWS)):
        return Risk("medium", "Writes a file.") if options.has("--output") else None
    if _loses(verb, options):
        return Risk("medium", LOSES)
    if verb == "config":
        risky = any(_RUNS.match(word) for word in options.operands[1:])
        return Risk("high" if risky else "low", "Changes git's settings.")
    if verb in {"push", "send-email", "svn"}:
        return Risk("low", "Sends commits to another machine.")
    return Risk("low", "Changes the repository.")


def _runs(verb: str, options: Options) -> bool:
    """Whether the command *verb* runs another program, by an option or because that is its job."""
    short = _PROGRAM_OPTIONS_OF.get(verb)
    if short is not None and any(word.startswith(short) for word in options.words):
        return True
    running = _RUNNING.get(verb)
    return (running is not None and options.any(running)) or verb == "filter-branch"


def _above(options: Options) -> bool:
    return any(word.startswith(("..", "/", "~")) for word in options.operands)


def _loses(verb: str, options: Options) -> bool:
    match verb:
        case "push":
            pushes = any(word.startswith(("+", ":")) and len(word) > 1 for word in options.operands)
            return (
                pushes
                or options.has("f", "d", "--force", "--delete", "--mirror", "--prune")
                or any(word.startswith("--force") for word in options.long)
            )
        case "reset":
            return options.has("--hard", "--merge", "--keep")
        case "clean":
            return not options.has("n", "--dry-run")
        case "checkout" | "restore" | "switch":
            return (
                "--" in options.words
                or "." in options.operands
                or options.has("f", "B", "C", "--force", "--discard-changes")
            ) or verb == "restore"
        case "branch" | "tag":
            return options.has("D", "d", "f", "M", "--delete", "--force")
        case "stash":
            return options.any("drop", "clear")
        case "reflog" | "worktree" | "remote" | "submodule" | "notes":
            return options.any("delete", "expire", "remove", "rm", "prune", "deinit")
        case _:
            return verb in {"rebase", "filter-branch", "filter-repo", "update-ref", "gc", "prune", "rm", "replace"}
