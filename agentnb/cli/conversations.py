"""Commands for kept data: conversations, what their turns changed and used, and the space that they take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.command import OK, Command, Option, complain, write, write_json

if TYPE_CHECKING:
    import argparse


def _conversation(arguments: argparse.Namespace) -> int:
    from agentnb.api.history_rows import change_kept
    from agentnb.errors import AgentnbError

    changes = {"title": arguments.title, "duplicated": arguments.duplicate, "deleted": arguments.delete}
    changes["pinned"] = True if arguments.pin else False if arguments.unpin else None
    changes["archived"] = True if arguments.archive else False if arguments.unarchive else None
    if not arguments.words:
        return complain("Give the id of a conversation, or its beginning; `agentnb history` lists them.")
    if all(value in (None, False) for value in changes.values()) and not (arguments.unpin or arguments.unarchive):
        return complain("Choose an action; `agentnb conversation --help` lists them.")
    failed = OK
    for word in arguments.words:
        try:
            write(change_kept(word, **changes))
        except AgentnbError as error:
            failed = complain(str(error))
    return failed


def _history(arguments: argparse.Namespace) -> int:
    from agentnb.api.history import list_sessions
    from agentnb.api.history_rows import shell_log

    which = _chosen(arguments, "folder", "agent", "since", "state", "archived", "limit")
    return _write_rows(list_sessions(shell_log(), " ".join(arguments.words), **which), as_json=arguments.json)


def _storage(arguments: argparse.Namespace) -> int:
    from agentnb.api.history_rows import shell_log
    from agentnb.api.storage import in_words, storage_of

    options, dry = arguments, not arguments.yes
    kept = storage_of(shell_log(), measure=False)
    texts: list[str] = []
    if options.check:
        texts += kept.check() or ["The log is intact."]
    if options.repair:
        done = kept.repair()
        texts.append(f"The new log has {done.sessions:,} conversations. The old one is kept as {done.aside}.")
        texts += [f"{uri} could not be read in full." for uri in done.lost]
    if options.older_than is not None or options.larger_than is not None:
        texts.append(str(kept.remove(older_than_days=options.older_than, larger_than=options.larger_than, dry_run=dry)))
    if options.delete_all:
        texts.append(str(kept.delete_all(dry_run=dry)))
    if dry and (options.older_than is not None or options.larger_than is not None or options.delete_all):
        texts.append("Add --yes to delete them.")
    if options.compact:
        texts.append(f"{in_words(kept.compact())} returned to the disk.")
    if options.export is not None:
        from agentnb.log.maintenance import WITHOUT_CHANGES

        texts.append(
            f"Exported {kept.export_to(options.export):,} conversations to {options.export}. {WITHOUT_CHANGES}"
        )
    if options.import_from is not None:
        added, known = kept.import_from(options.import_from)
        texts.append(f"Imported {added:,} conversations, without undo history; {known:,} were here already.")
    return write("\n".join(texts)) if texts else _write_rows(storage_of(shell_log()), as_json=options.json)


def _write_rows(rows: Any, *, as_json: bool) -> int:
    return write_json([_fields(row) for row in rows]) if as_json else write(repr(rows))


def _fields(row: Any) -> Any:
    from msgspec.structs import asdict

    fields = asdict(row) if hasattr(row, "__struct_fields__") else row._asdict()
    return {**fields, "hits": [asdict(hit) for hit in row.hits]} if "hits" in fields else fields


def _chosen(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def _usage(arguments: argparse.Namespace) -> int:
    from agentnb.api.history_rows import shell_log
    from agentnb.api.usage import add_up

    which = _chosen(arguments, "by", "session", "folder", "agent", "since", "until", "limit")
    return _write_rows(add_up(shell_log(), **which), as_json=arguments.json)


COMMANDS = (
    Command(
        "conversation",
        "Renames, pins, archives, duplicates or deletes saved conversations.",
        "A conversation that is open in a running kernel must be renamed or deleted there. Deleted conversations "
        "cannot be restored; the agent may keep a copy of its own.",
        _conversation,
        (
            Option("--title", "rename it", "TITLE"),
            Option("--pin", "list it before all others"),
            Option("--unpin", "list it by time again"),
            Option("--archive", "leave it out of lists; `agentnb history --archived` shows it"),
            Option("--unarchive", "list it again"),
            Option("--duplicate", "copy its transcript to a new conversation"),
            Option("--delete", "delete it permanently, with its undo history"),
        ),
        ("ID", "the beginning of a conversation's id; you can give several"),
    ),
    Command(
        "history",
        "Lists saved conversations, or searches them.",
        "To continue one, type %agents resume ID in a notebook; `agentnb export ID` saves it.",
        _history,
        (
            Option("--folder", "only those of this folder", "FOLDER"),
            Option("--agent", "only those of this agent", "NAME"),
            Option("--since", "only those active since this date, such as 2026-11-02", "DATE"),
            Option(
                "--state",
                "only those whose last turn is running, is waiting for an answer, or failed",
                choices=("running", "needs-you", "failed"),
            ),
            Option("--archived", "only archived ones; without this, only those that are not archived"),
            Option("--limit", "the maximum number; 50 by default", "N", kind=int),
            Option("--json", "print them as JSON, with the matches"),
        ),
        ("WORD", "the text to search for in titles, prompts and answers; several words form one text"),
    ),
    Command(
        "storage",
        "Shows what agentnb stores on disk, and deletes, compacts, checks, repairs, exports or imports it.",
        "Without --yes it only lists what would be deleted. Pinned conversations are deleted only by "
        "--delete-all. Those that are open in a running kernel are never deleted.",
        _storage,
        (
            Option("--older-than", "delete conversations without activity for this many days", "DAYS", kind=float),
            Option("--larger-than", "delete the oldest until the rest fits in this size, such as 2G", "SIZE"),
            Option("--delete-all", "delete all conversations"),
            Option("--yes", "delete, instead of listing what would be deleted"),
            Option("--compact", "free the disk space of deleted conversations"),
            Option("--check", "check the whole log for damage"),
            Option("--repair", "copy everything readable to a new log; the old file is kept next to it"),
            Option("--export", "write all conversations to a new file", "FILE"),
            Option("--import-from", "add the conversations from an exported file", "FILE"),
            Option("--json", "print the figures as JSON"),
        ),
    ),
    Command(
        "usage",
        "Adds up the tokens and money used by turns, as reported by the agents.",
        "Turns of deleted conversations are not counted.",
        _usage,
        (
            Option("--by", "what to group by; day by default", choices=("day", "session", "turn", "agent", "folder")),
            Option("--session", "only this session, by its id or the beginning of it", "ID"),
            Option("--folder", "only sessions of this folder", "FOLDER"),
            Option("--agent", "only this agent", "NAME"),
            Option("--since", "only turns that ended on or after this date, such as 2026-11-02", "DATE"),
            Option("--until", "only turns that ended before this date", "DATE"),
            Option("--limit", "the maximum number of rows; 100 by default", "N", kind=int),
            Option("--json", "print them as JSON"),
        ),
    ),
)
