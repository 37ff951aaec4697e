"""The command line: `agentnb COMMAND`.

Every command is an entry in `COMMANDS`; from the entries come the parser, its help and `docs/reference/cli.md`. What a
command needs is imported when it runs, so `agentnb --version` stays quick and `agentnb eliza` pays for nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb import __version__
from agentnb.command import Command, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.local.settings import Settings

OK, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: What was typed after `agentnb`; by default the process's own arguments.

    Returns:
        The exit code: 0 done, 1 failed, 2 typed wrongly, 130 interrupted.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.run is None:
        parser.print_help(sys.stderr)
        return MISUSED
    if os.environ.get("AGENTNB_EVENTS"):
        from agentnb.events.event_file import write_down

        write_down()
    try:
        return COMMANDS[arguments.run].run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agentnb", description="Coding agents in the notebook.")
    parser.add_argument("--version", action="version", version=f"agentnb {__version__}")
    subparsers = parser.add_subparsers(dest="run", metavar="COMMAND")
    for command in COMMANDS.values():
        subparser = subparsers.add_parser(
            command.name, help=command.summary, description=f"{command.summary} {command.details}"
        )
        for option in command.options:
            option.add_to(subparser)
        if command.words is not None:
            subparser.add_argument("words", nargs="*", metavar=command.words[0], help=command.words[1])
    return parser


def _eliza(_: argparse.Namespace) -> int:
    if sys.stdin.isatty():
        _complain("eliza speaks ACP, not English, on stdin and stdout: start it from an ACP client. Ctrl+D ends it.")
    from agentnb.eliza.stdio import main as serve

    try:
        serve(__version__)
    except (OSError, ValueError) as error:
        return _complain(f"eliza cannot start: {error}. An ACP client starts it with pipes for stdin and stdout.")
    return OK


def _local(arguments: argparse.Namespace) -> int:
    import asyncio

    from agentnb.local.settings import BadSettings, read_settings

    try:
        given = {"url": arguments.url, "model": arguments.model, "key_variable": arguments.key_variable}
        settings = read_settings(given)
    except BadSettings as error:
        return _complain(str(error))
    if arguments.check:
        from agentnb.local.connection_check import check_connection

        checked = asyncio.run(check_connection(settings))
        print("\n".join(checked.lines))
        return OK if checked.works else FAILED
    if arguments.pull:
        return asyncio.run(_pull(settings, arguments.pull))
    if sys.stdin.isatty():
        _complain("the agent speaks ACP on stdin and stdout: start it from an ACP client. To test, type --check.")
    from agentnb.local.stdio import main as serve

    try:
        serve(__version__, settings)
    except (OSError, ValueError) as error:
        return _complain(f"the agent cannot start: {error}. An ACP client starts it with pipes for stdin and stdout.")
    return OK


async def _pull(settings: Settings, name: str) -> int:
    from agentnb.local.model_download import find_and_pull
    from agentnb.local.server import ServerTrouble

    try:
        async for progress in find_and_pull(settings, name):
            print(progress, flush=True)
    except ServerTrouble as trouble:
        return _complain(str(trouble))
    return OK


def _serve(arguments: argparse.Namespace) -> int:
    from agentnb.ahp.remote_start import NotServed, start_in
    from agentnb.ahp.runtime_file import served_kernels

    if arguments.kernel:
        try:
            start_in(arguments.kernel)
        except NotServed as error:
            return _complain(str(error))
    kernels = served_kernels()
    if arguments.json:
        import msgspec

        print(msgspec.json.encode(kernels).decode())
        return OK
    if not kernels:
        return _complain("no kernel is served. Run `%agents serve` in a notebook, or `agentnb serve --kernel KERNEL`.")
    print("\n".join(line for kernel in kernels for line in kernel.lines))
    return OK


def _mcp(arguments: argparse.Namespace) -> int:
    if sys.stdin.isatty():
        _complain("mcp speaks MCP on stdin and stdout: a terminal agent starts it. See docs/how-to/pair.md.")
    from agentnb.kernel.terminal_server import serve

    serve(arguments.notebook or "")
    return OK


def _record(arguments: argparse.Namespace) -> int:
    words = arguments.command
    at = words.index("--") if "--" in words else len(words)
    paths, command = words[:at], words[at + 1 :]
    if len(paths) > 1 or not command:
        print("agentnb: say which agent: agentnb record [PATH] -- COMMAND ...", file=sys.stderr)
        return MISUSED
    from agentnb.cassette.proxy import called, record

    name = arguments.name or called(command)
    path = paths[0] if paths else os.environ.get("AGENTNB_CASSETTE") or f"{name}.cassette.jsonl"
    return record(Path(path), command, name=name)


def _replay(arguments: argparse.Namespace) -> int:
    from agentnb.cassette.replayer import replay

    paced = arguments.pace == "recorded"
    return replay(arguments.path, agent=arguments.agent, launch=arguments.launch, paced=paced)


def _show(arguments: argparse.Namespace) -> int:
    from agentnb.cassette.readable import readable

    try:
        sys.stdout.buffer.write(readable(arguments.path).encode("utf-8", "replace"))
    except OSError as error:
        return _complain(f"{arguments.path} cannot be read: {error.strerror}.")
    return OK


def _export(arguments: argparse.Namespace) -> int:
    from agentnb.errors import AgentnbError
    from agentnb.export.documents import exported
    from agentnb.export.sources import find

    try:
        text = exported(find(arguments.source), arguments.to or "md")
        if arguments.output:
            Path(arguments.output).write_text(text, encoding="utf-8", newline="\n")
        else:
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    except (AgentnbError, OSError) as error:
        return _complain(str(error))
    return OK


def _agents(arguments: argparse.Namespace) -> int:
    from agentnb.agent.catalog import installed, known
    from agentnb.api import agent_lines
    from agentnb.errors import AgentnbError

    try:
        if arguments.update:
            return _update_agents(arguments.update)
        rows = [agent_lines.row(spec, installed(spec)) for spec in known()]
    except AgentnbError as error:
        return _complain(str(error))
    if arguments.json:
        import json

        print(json.dumps(rows, indent=2))
    else:
        print(agent_lines.listing(rows))
    return OK


def _update_agents(source: str) -> int:
    from agentnb.agent.registry_update import update_registry

    updated = update_registry(source)
    count = "1 agent" if updated.agents == 1 else f"{updated.agents} agents"
    print(f"{updated.path} has {count} now.")
    for line in updated.versions:
        print(f"  {line}")
    return OK


def _changes(arguments: argparse.Namespace) -> int:
    from agentnb.errors import AgentnbError
    from agentnb.export.changes import conversation, conversations

    try:
        words = arguments.words
        text = "\n\n".join(conversation(word, diffs=arguments.diff) for word in words) if words else conversations()
        sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "replace"))
    except AgentnbError as error:
        return _complain(str(error))
    return OK


def _history(arguments: argparse.Namespace) -> int:
    from agentnb.api.history import kept
    from agentnb.errors import AgentnbError
    from agentnb.log.store import LISTED

    try:
        limit = LISTED if arguments.limit is None else arguments.limit
        which = {name: getattr(arguments, name) for name in ("folder", "agent", "since", "state", "archived")}
        found = kept(" ".join(arguments.words), limit=limit, **which)
    except AgentnbError as error:
        return _complain(str(error))
    text = repr(found)
    if arguments.json:
        import msgspec

        text = msgspec.json.format(msgspec.json.encode([_fields(row) for row in found])).decode()
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "replace"))
    return OK


def _conversation(arguments: argparse.Namespace) -> int:
    from agentnb.api.history import change_kept
    from agentnb.errors import AgentnbError

    asked = {"title": arguments.title, "duplicated": arguments.duplicate, "deleted": arguments.delete}
    asked["pinned"] = True if arguments.pin else False if arguments.unpin else None
    asked["archived"] = True if arguments.archive else False if arguments.unarchive else None
    if not arguments.words:
        return _complain("Which conversation? `agentnb history` lists them; the beginning of an id is enough.")
    if all(value in (None, False) for value in asked.values()) and not (arguments.unpin or arguments.unarchive):
        return _complain("What is to be done with it? `agentnb conversation --help` lists what there is.")
    failed = OK
    for word in arguments.words:
        try:
            text = change_kept(word, **asked)
            sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "replace"))
        except AgentnbError as error:
            failed = _complain(str(error))
    return failed


def _storage(arguments: argparse.Namespace) -> int:
    from agentnb.api.storage import in_words, kept_storage
    from agentnb.errors import AgentnbError

    given, dry = arguments, not arguments.yes
    try:
        kept = kept_storage(measure=False)
        said: list[str] = []
        if given.check:
            said += kept.check() or ["The log is sound."]
        if given.repair:
            done = kept.repair()
            said.append(f"{done.sessions:,} conversations are in the new file; the old one is {done.aside}.")
            said += [f"{uri} could not be read, or not whole." for uri in done.lost]
        if given.older_than is not None or given.larger_than is not None:
            said.append(str(kept.remove(older_than_days=given.older_than, larger_than=given.larger_than, dry_run=dry)))
        if given.delete_all:
            said.append(str(kept.delete_all(dry_run=dry)))
        if dry and (given.older_than is not None or given.larger_than is not None or given.delete_all):
            said.append("With --yes it is done.")
        if given.compact:
            said.append(f"{in_words(kept.compact())} given back to the disk.")
        if given.export is not None:
            from agentnb.log.maintenance import WITHOUT_CHANGES

            said.append(f"{kept.export_to(given.export):,} conversations are in {given.export}. {WITHOUT_CHANGES}")
        if given.import_from is not None:
            added, known = kept.import_from(given.import_from)
            said.append(f"{added:,} conversations added, without what turns changed; {known:,} were here already.")
        text = "\n".join(said) or _measured_storage(as_json=given.json)
    except AgentnbError as error:
        return _complain(str(error))
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "replace"))
    return OK


def _measured_storage(*, as_json: bool) -> str:
    from agentnb.api.storage import kept_storage

    kept = kept_storage()
    if not as_json:
        return repr(kept)
    import msgspec

    return msgspec.json.format(msgspec.json.encode([row._asdict() for row in kept])).decode()


def _usage(arguments: argparse.Namespace) -> int:
    from agentnb.api.usage import LISTED, kept_usage
    from agentnb.errors import AgentnbError

    try:
        limit = LISTED if arguments.limit is None else arguments.limit
        which = {name: getattr(arguments, name) for name in ("session", "folder", "agent", "since", "until")}
        found = kept_usage(arguments.by or "day", limit=limit, **which)
    except AgentnbError as error:
        return _complain(str(error))
    text = repr(found)
    if arguments.json:
        import msgspec

        text = msgspec.json.format(msgspec.json.encode([row._asdict() for row in found])).decode()
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "replace"))
    return OK


def _fields(row: Any) -> dict[str, Any]:
    """A row of the history by the names of its fields, for JSON."""
    return {**row._asdict(), "hits": [hit._asdict() for hit in row.hits]}


def _doctor(arguments: argparse.Namespace) -> int:
    import asyncio

    from agentnb.agent.catalog import additions
    from agentnb.api import agent_lines
    from agentnb.checkup import examine, is_well
    from agentnb.errors import AgentnbError

    try:
        found = asyncio.run(examine(arguments.words))
    except AgentnbError as error:
        return _complain(str(error))
    wrong = additions()[1]
    if arguments.json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        print(agent_lines.checkups(found))
    for each in wrong:
        print(f"agentnb: {each}", file=sys.stderr)
    return OK if all(is_well(each, named=bool(arguments.words)) for each in found) else FAILED


def _skills(arguments: argparse.Namespace) -> int:
    from agentnb.api.skills import shown_skill, skills
    from agentnb.errors import AgentnbError

    try:
        found = skills()
        said: list[str] = []
        if arguments.show:
            said.append(found.show(arguments.show))
        if arguments.revoke:
            was = found.revoke(arguments.revoke)
            said.append(f"{arguments.revoke} {'is not trusted any more' if was else 'was not trusted'}.")
        if arguments.trust and arguments.yes:
            said.append(repr(found.trust(arguments.trust)))
        elif arguments.trust:
            said += [shown_skill(each) for each in found if each.package == arguments.trust]
            said.append(f"With --yes agents get the skills of {arguments.trust}." if said else "It has no skills.")
        if arguments.json:
            import msgspec

            said.append(msgspec.json.format(msgspec.json.encode([*found], enc_hook=str)).decode())
        text = "\n\n".join(said) or repr(found)
    except AgentnbError as error:
        return _complain(str(error))
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "replace"))
    return OK


def _trust(arguments: argparse.Namespace) -> int:
    from agentnb.errors import PolicyError
    from agentnb.policy.store import PolicyFiles

    files = PolicyFiles()
    for folder in (Path(word).expanduser().resolve() for word in arguments.words or ["."]):
        if not (folder.is_dir() or arguments.remove):
            return _complain(f"{folder} is not a folder.")
        try:
            (files.untrust if arguments.remove else files.trust)(folder)
        except PolicyError as error:
            return _complain(str(error))
        print(f"{folder} is {'not trusted any more' if arguments.remove else 'trusted now'} ({files.user_path}).")
    return OK


def _settings(arguments: argparse.Namespace) -> int:
    from agentnb.api.settings import kept_settings
    from agentnb.configuration import setting
    from agentnb.configuration.shown import public_value, shown_value
    from agentnb.errors import AgentnbError

    words = arguments.words
    try:
        kept = kept_settings()
        if arguments.what_if:
            text = kept.what_if(arguments.what_if)
        elif len(words) > 2:  # noqa: PLR2004 - a name and a value
            return _complain("A name and a value, please; quote a value of several words.")
        elif arguments.reset:
            names = [each.strip() for each in arguments.reset.split(",")]
            text = "\n".join(f"{name} is removed from {kept.reset(name)}." for name in names)
        elif len(words) == 2:  # noqa: PLR2004 - a name and a value
            which = setting(words[0])
            value = which.read(words[1])
            text = f"{which.name} is {shown_value(which.name, value)!r} in {kept.set(which.name, value)}."
        else:
            wanted = {setting(word).name for word in words}
            rows = [row for row in kept if not wanted or row.name in wanted]
            told = [row._asdict() | {"value": public_value(row.name, row.value)} for row in rows]
            if arguments.json:
                import json

                text = json.dumps(told, indent=2, default=str, ensure_ascii=False)
            elif words:
                text = "\n\n".join(f"{row.name} = {shown_value(row.name, row.value)}\n{row.about}" for row in rows)
            else:
                text = repr(kept)
    except AgentnbError as error:
        return _complain(str(error))
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "replace"))
    return OK


def _components(arguments: argparse.Namespace) -> int:
    from agentnb.components.listing import listing
    from agentnb.configuration import change_setting, read_settings
    from agentnb.errors import AgentnbError

    try:
        if arguments.words or arguments.none:
            path = change_setting("components", arguments.words)
            print(f"Written to {path}; new conversations follow it.")
        print(listing(read_settings()["components"].value, Path.cwd()))
    except AgentnbError as error:
        return _complain(str(error))
    return OK


def _complain(message: str) -> int:
    print(f"agentnb: {message}", file=sys.stderr)
    return FAILED


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "agents",
            "Lists the agents that agentnb knows, which of them are installed, and what to type.",
            "An agent that is missing shows how it starts without an install, or how to install it. The versions are"
            " those of a registry in the format of the public ACP registry; one ships with agentnb.",
            _agents,
            (
                Option("--json", "print everything that is known, as JSON"),
                Option("--update", "read a newer registry from a file or an https address, and keep it", "SOURCE"),
            ),
        ),
        Command(
            "changes",
            "Shows what the turns of conversations changed: files, cells and variables.",
            "Without a session it lists the kept conversations whose turns changed something. To undo something, resume"
            " the conversation: %agents resume ID, then %agents undo.",
            _changes,
            (Option("--diff", "show the differences of files, too"),),
            ("SESSION", "the beginning of a session's id"),
        ),
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
                Option("--duplicate", "copy what was said to a new conversation"),
                Option("--delete", "delete it for good, with what is kept of its changes"),
            ),
            ("ID", "the beginning of a conversation's id; several are treated alike"),
        ),
        Command(
            "doctor",
            "Examines Jupyter and the agents, and says what works, what is missing, too old, broken or not logged in.",
            "What to type is the exact line. Of Jupyter it looks at versions, at every kernel (can it import agentnb?),"
            " at the extension in JupyterLab and at the files that agentnb keeps, and fails if something is wrong with"
            " them. Agents it starts for a moment and opens a session in an empty folder, which some keep in their"
            " history. With names it examines those, and fails unless all are ready.",
            _doctor,
            (Option("--json", "print everything that was found, as JSON"),),
            ("NAME", "an agent's name, or jupyter; everything by default"),
        ),
        Command(
            "eliza",
            "Runs the built-in agent over stdin and stdout.",
            "It works offline, is deterministic, and can be used from any ACP client; /help in a prompt lists what it"
            " does. It ends when its stdin is closed.",
            _eliza,
        ),
        Command(
            "export",
            "Writes a conversation as Markdown, one HTML page, JSON lines or a notebook.",
            "The page carries all it needs and runs nothing, whatever the agent wrote.",
            _export,
            (
                Option("SOURCE", "a notebook, a cassette, or the id of a session"),
                Option("--to", "the form; md by default", choices=("md", "html", "jsonl", "ipynb")),
                Option("--output", "where to write it; by default to stdout", "FILE"),
            ),
        ),
        Command(
            "history",
            "Lists the kept conversations, or those in which a text was said.",
            "To go on with one, type %agents resume ID in a notebook; `agentnb export ID` saves it.",
            _history,
            (
                Option("--folder", "only those of this folder", "FOLDER"),
                Option("--agent", "only those of this agent", "NAME"),
                Option("--since", "only those in which something happened since then, as 2026-11-02", "DATE"),
                Option(
                    "--state",
                    "only those where a turn runs, waits for an answer, or was the last and failed",
                    choices=("running", "needs-you", "failed"),
                ),
                Option("--archived", "only those that are archived; otherwise only those that are not"),
                Option("--limit", "how many, at most; 50 by default", "N", kind=int),
                Option("--json", "print them as JSON, with what was found"),
            ),
            ("WORD", "what to look for, in titles, prompts and answers; several words are one text"),
        ),
        Command(
            "storage",
            "Says what agentnb keeps on disk, and deletes, compacts, checks, repairs, exports or imports it.",
            "What would be deleted is only listed; with --yes it is deleted. Pinned conversations are deleted by"
            " --delete-all only, those that a running kernel has open never.",
            _storage,
            (
                Option(
                    "--older-than", "delete conversations in which nothing has happened for so long", "DAYS", kind=float
                ),
                Option("--larger-than", "delete the oldest until the others have no more than this, as 2G", "SIZE"),
                Option("--delete-all", "delete all conversations"),
                Option("--yes", "do it, instead of saying what would be deleted"),
                Option("--compact", "give the room of what was deleted back to the disk"),
                Option("--check", "look through the whole log for damage"),
                Option("--repair", "copy what can be read to a new log; the old file stays beside it"),
                Option("--export", "write all conversations to a new file", "FILE"),
                Option("--import-from", "add the conversations of such a file", "FILE"),
                Option("--json", "print the figures as JSON"),
            ),
        ),
        Command(
            "settings",
            "Shows every setting and where its value comes from, or changes one in your settings file.",
            "A name shows one; a name and a value write it into your file, where every kernel finds it. A kernel's"
            " own `%config Agentnb` and `ipython_config.py`, which count before it, are not known here.",
            _settings,
            (
                Option("--reset", "remove settings from your file, by their names, separated by commas", "NAMES"),
                Option("--what-if", "say what would happen if an agent wanted to run this command", "COMMAND"),
                Option("--json", "print everything that is known, as JSON"),
            ),
            ("NAME", "a setting, and its new value"),
        ),
        Command(
            "components",
            "Lists what can stand between you and an agent, what of it does, and what it costs in tokens.",
            "Names and commands set which do, in that order, in your settings file.",
            _components,
            (Option("--none", "let none stand between you and agents"),),
            ("NAME", "a component: a name or a quoted command; the first one is next to you"),
        ),
        Command(
            "usage",
            "Adds up the tokens and the money that turns used, as far as their agents say.",
            "Counted are the turns of the sessions that the log still has.",
            _usage,
            (
                Option(
                    "--by", "what to add up by; day by default", choices=("day", "session", "turn", "agent", "folder")
                ),
                Option("--session", "only this session, by its id or the beginning of it", "ID"),
                Option("--folder", "only sessions of this folder", "FOLDER"),
                Option("--agent", "only this agent", "NAME"),
                Option("--since", "only turns that ended since then, as 2026-11-02", "DATE"),
                Option("--until", "only turns that ended before that", "DATE"),
                Option("--limit", "how many rows, at most; 100 by default", "N", kind=int),
                Option("--json", "print them as JSON"),
            ),
        ),
        Command(
            "local",
            "Runs the agent for a model on a server of yours, over stdin and stdout.",
            "It finds Ollama, LM Studio, vLLM and llama.cpp on this machine, or uses any server with the"
            " OpenAI-compatible interface. See docs/how-to/local-model.md.",
            _local,
            (
                Option("--check", "test the connection: say what was found, what is wrong, and what to do"),
                Option("--pull", "download a model with Ollama", "MODEL"),
                Option("--url", "the base URL; by default $AGENTNB_LOCAL_URL, else this machine is searched", "URL"),
                Option("--model", "the model; by default $AGENTNB_LOCAL_MODEL, else the first", "NAME"),
                Option("--key-variable", "the variable that holds the key; $AGENTNB_LOCAL_KEY_VARIABLE", "VARIABLE"),
            ),
        ),
        Command(
            "mcp",
            "Serves the notebooks that you have paired to an agent in a terminal (MCP over stdin and stdout).",
            "The agent starts it; what it runs is asked for in the notebook. A kernel is reachable once you have run"
            " `%agents pair` in its notebook. See docs/how-to/pair.md.",
            _mcp,
            (Option("--notebook", "the notebook to use; by default the only one that is paired", "NAME"),),
        ),
        Command(
            "record",
            "Runs an agent, passes everything on between it and its client, and writes it into a cassette.",
            "Start it from any ACP client in the agent's place. Its exit code is the agent's.",
            _record,
            (
                Option("--name", "what to call the agent; by default its program's name", "NAME"),
                Option(
                    "[PATH] -- COMMAND",
                    "the cassette ($AGENTNB_CASSETTE by default, else NAME.cassette.jsonl in this folder; one that is"
                    " there is replaced), and the agent",
                    "...",
                ),
            ),
        ),
        Command(
            "replay",
            "Acts as the agent of a cassette.",
            "Start it from any ACP client in the agent's place: it needs no agent, no network and no key. It asks the"
            " client again for files, terminals, permissions and answers. A prompt that is not as recorded is refused"
            " with a diff. It ends when its stdin is closed, and names the turns that were not asked for.",
            _replay,
            (
                Option("PATH", "the cassette", kind=Path),
                Option("--agent", "play the sessions of this agent only", "NAME"),
                Option("--launch", "play the sessions of its process number N only", "N", kind=int),
                Option(
                    "--pace", "without pauses (the default), or with the recorded ones", choices=("instant", "recorded")
                ),
            ),
        ),
        Command(
            "serve",
            "Lists the kernels that are served to other programs (Agent Host Protocol), or has one served.",
            "A kernel is served once you have run agentnb.serve() or `%agents serve` in it, or with --kernel. The"
            " addresses have tokens in them: treat them as passwords. See docs/how-to/serve.md.",
            _serve,
            (
                Option("--list", "list the served kernels, with the address of each client"),
                Option("--kernel", "have this running kernel served: its id, or its connection file", "KERNEL"),
                Option("--json", "print them as JSON"),
            ),
        ),
        Command(
            "show",
            "Writes a cassette as text to read, with the pieces of each text joined and without the pace.",
            "Made for reviews: `git config diff.cassette.textconv 'agentnb show'` and the line"
            " `*.cassette.jsonl diff=cassette` in .gitattributes make `git diff` show cassettes so.",
            _show,
            (Option("PATH", "the cassette", kind=Path),),
        ),
        Command(
            "skills",
            "Lists the skills that installed packages and this folder bring for agents, and which of them agents get.",
            "Agents get those of packages that you trust, as text; nothing of a skill is run. See"
            " docs/how-to/skills.md.",
            _skills,
            (
                Option("--show", "show all that agents can read of a skill", "SKILL"),
                Option("--trust", "show the skills of a package; with --yes: let agents have them", "PACKAGE"),
                Option("--revoke", "take the skills of a package from agents", "PACKAGE"),
                Option("--yes", "do it, instead of showing what would be trusted"),
                Option("--json", "print them as JSON"),
            ),
        ),
        Command(
            "trust",
            "Trusts a folder and everything in it: your allow rules apply there.",
            "In other folders its allow rules, bypass and headless ask nevertheless. See docs/reference/policy.md.",
            _trust,
            (Option("--remove", "remove the trust"),),
            ("FOLDER", "a folder; the current one by default"),
        ),
    )
}
