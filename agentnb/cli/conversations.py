"""Commands for what is kept: conversations, what their turns changed and used, and the room that they take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.command import OK, Command, Option, complain, write, write_json

if TYPE_CHECKING:
    import argparse


def _conversation(arguments: argparse.Namespace) -> int:
    from agentnb.api.history_changes import change_kept
    from agentnb.errors import AgentnbError

    changes = {"title": arguments.title, "duplicated": arguments.duplicate, "deleted": arguments.delete}
    changes["pinned"] = True if arguments.pin else False if arguments.unpin else None
    changes["archived"] = True if arguments.archive else False if arguments.unarchive else None
    if not arguments.words:
        return complain("Which conversation? `agentnb history` lists them; the beginning of an id is enough.")
    if all(value in (None, False) for value in changes.values()) and not (arguments.unpin or arguments.unarchive):
        return complain("What should be done with it? `agentnb conversation --help` lists what there is.")
    failed = OK
    for word in arguments.words:
        try:
            write(change_kept(word, **changes))
        except AgentnbError as error:
            failed = complain(str(error))
    return failed


def _history(arguments: argparse.Namespace) -> int:
    from agentnb.api.history import list_sessions
    from agentnb.api.this_log import shell_log

    which = _chosen(arguments, "folder", "agent", "since", "state", "archived", "limit")
    return _write_rows(list_sessions(shell_log(), " ".join(arguments.words), **which), as_json=arguments.json)


def _storage(arguments: argparse.Namespace) -> int:
    from agentnb.api.storage import in_words, storage_of
    from agentnb.api.this_log import shell_log

    options, dry = arguments, not arguments.yes
    kept = storage_of(shell_log(), measure=False)
    texts: list[str] = []
    if options.check:
        texts += kept.check() or ["The log is intact."]
    if options.repair:
        done = kept.repair()
        texts.append(f"The new log has {done.sessions:,} conversations. The old one is kept as {done.aside}.")
        texts += [f"{uri} could not be read, or not whole." for uri in done.lost]
    if options.older_than is not None or options.larger_than is not None:
        texts.append(str(kept.remove(older_than_days=options.older_than, larger_than=options.larger_than, dry_run=dry)))
    if options.delete_all:
        texts.append(str(kept.delete_all(dry_run=dry)))
    if dry and (options.older_than is not None or options.larger_than is not None or options.delete_all):
        texts.append("Add --yes to do it.")
    if options.compact:
        texts.append(f"{in_words(kept.compact())} given back to the disk.")
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
    """A row by the names of its fields in Python, for JSON."""
    from msgspec.structs import asdict

    fields = asdict(row) if hasattr(row, "__struct_fields__") else row._asdict()
    return {**fields, "hits": [asdict(hit) for hit in row.hits]} if "hits" in fields else fields


def _chosen(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options of these names that were typed."""
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def _usage(arguments: argparse.Namespace) -> int:
    from agentnb.api.this_log import shell_log
    from agentnb.api.usage import add_up

    which = _chosen(arguments, "by", "session", "folder", "agent", "since", "until", "limit")
    return _write_rows(add_up(shell_log(), **which), as_json=arguments.json)


COMMANDS = (
    Command(
        "conversation",
        "Renames, pins, archives, duplicates or deletes kept conversations.",
        "A conversation that a running kernel has open is renamed and deleted there. What is deleted cannot be"
        " brought back; the agent may keep a copy of its own.",
        _conversation,
        (
            Option("--title", "rename it", "TITLE"),
            Option("--pin", "list it before all others"),
            Option("--unpin", "list it by its time again"),
            Option("--archive", "leave it out of lists; `agentnb history --archived` shows it"),
            Option("--unarchive", "list it again"),
            Option("--duplicate", "copy its transcript to a new conversation"),
            Option("--delete", "delete it permanently, with its undo history"),
        ),
        ("ID", "the beginning of a conversation's id; several are possible"),
    ),
    Command(
        "history",
        "Lists kept conversations, or searches them for a text.",
        "To continue one, type %agents resume ID in a notebook; `agentnb export ID` saves it.",
        _history,
        (
            Option("--folder", "only those of this folder", "FOLDER"),
            Option("--agent", "only those of this agent", "NAME"),
            Option("--since", "only those active since then, such as 2026-11-02", "DATE"),
            Option(
                "--state",
                "only those whose last turn runs, waits for an answer, or failed",
                choices=("running", "needs-you", "failed"),
            ),
            Option("--archived", "only those that are archived; otherwise only those that are not"),
            Option("--limit", "how many, at most; 50 by default", "N", kind=int),
            Option("--json", "print them as JSON, with what was found"),
        ),
        ("WORD", "the text to search for in titles, prompts and answers; several words form one text"),
    ),
    Command(
        "storage",
        "Says what agentnb keeps on disk, and deletes, compacts, checks, repairs, exports or imports it.",
        "Without --yes it only lists what would be deleted. Pinned conversations are deleted by --delete-all only;"
        " those that a running kernel has open are never deleted.",
        _storage,
        (
            Option("--older-than", "delete conversations that were quiet for this long", "DAYS", kind=float),
            Option("--larger-than", "delete the oldest until the rest fits this size, such as 2G", "SIZE"),
            Option("--delete-all", "delete all conversations"),
            Option("--yes", "do it, instead of saying what would be deleted"),
            Option("--compact", "return the space of what was deleted to the disk"),
            Option("--check", "check the whole log for damage"),
            Option("--repair", "copy what can be read to a new log; the old file stays beside it"),
            Option("--export", "write all conversations to a new file", "FILE"),
            Option("--import-from", "add the conversations of such a file", "FILE"),
            Option("--json", "print the figures as JSON"),
        ),
    ),
    Command(
        "usage",
        "Adds up the tokens and money that turns used, as the agents report them.",
        "Turns of deleted conversations are not counted.",
        _usage,
        (
            Option("--by", "what to add up by; day by default", choices=("day", "session", "turn", "agent", "folder")),
            Option("--session", "only this session, by its id or the beginning of it", "ID"),
            Option("--folder", "only sessions of this folder", "FOLDER"),
            Option("--agent", "only this agent", "NAME"),
            Option("--since", "only turns that ended since then, such as 2026-11-02", "DATE"),
            Option("--until", "only turns that ended before that", "DATE"),
            Option("--limit", "how many rows, at most; 100 by default", "N", kind=int),
            Option("--json", "print them as JSON"),
        ),
    ),
)
