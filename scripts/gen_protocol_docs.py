"""Writes `docs/reference/protocol.md` from the code: methods, actions, codes, sizes and timings, with examples.

The words are those of the docstrings, the examples those of `tests/cases/messages`. With `--check`, only says whether
the page is stale.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from agentnb.server.request_table import Method

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "protocol.md"
CASES = ROOT / "tests" / "cases" / "messages"
CLIENT_TS = ROOT / "js" / "src" / "comm" / "presence.ts"

HEAD = """\
# The protocol between kernel and page

<!-- Written by scripts/gen_protocol_docs.py from the code: change that, then run `make types`. -->

The page is a client of the Agent Host Protocol (AHP) over the widget's comm, as programs are over WebSocket
([AHP](ahp.md)): JSON-RPC 2.0 objects, as custom messages. The kernel is the *host*, each page that shows the widget a
*client*. Methods that AHP has keep its names; all others begin with `x-agentnb/`. How delivery works, beneath the
protocol, is told in [delivery](../explanation/delivery.md).
"""

IDENTITIES = """\
## Identities

| name | what it is | made by |
|---|---|---|
| `hostId` | one kernel process (UUID) | the kernel |
| `clientId` | one page's copy of the widget model (UUID) | the page |
| tab id | one conversation (UUID v4), the last part of its session's URI | the view |
| turn id | one prompt and all that it caused (UUID v4) | whoever prompts |
| `clientSeq` | a client's own number for an action that it dispatched | the page |

| channel | state | URI |
|---|---|---|
| root | the agents there are, the sessions that are open | `ahp-root://` |
| session | who serves it, what it offers | `<agent>:/<tab id>` |
| chat | its turns, what waits, what it asks | `<agent>:/<tab id>/chat` |

States and actions have the names and the meaning of the Agent Host Protocol; what is ours begins with `x-agentnb/`.
Their fields are in `agentnb/state`, and as TypeScript in `js/src/state/types.gen.ts`.
"""

VERSIONS = """\
## Versions

This agentnb speaks version {window}. `initialize` names the versions that the page speaks; both go on in the highest
that both speak. `initialize` itself is answered in any version. Where there is none in common, the answer is error
{unsupported}, which the page reads in any version and shows: an older page is to be reloaded, an older kernel gets a
newer agentnb.

Within a version fields may be added: unknown fields are ignored. An action that came with a later version than
the agreed one is not sent to a page, the channel's whole state is; from a page it is rejected. An action of an unknown
type changes nothing and keeps its place in the log. ([Why](../decisions/0017-protocol-versions.md).)

A message that is not of the protocol, an unknown notification and a notification in a wrong version are dropped and
logged once; an unknown request is answered with an error. None of them breaks the channel.
"""

LAB = """\
## The notebook's comm

The JupyterLab extension opens a comm of its own, `agentnb.lab`, for each notebook that its sidebar shows. The page says
`notebook` there, with `NotebookParams`; the kernel says `notebookAgain`, without parameters, where it cannot follow and
wants to hear all of it. Where an agent may change or run a cell ([kernel tools](../how-to/kernel-tools.md)) the kernel
says `edit`, with `EditParams`, and the page answers with `edited`, with `EditedParams`. The page says
`saved`, with `SavedParams`, when a file was saved, made, renamed or deleted through it. It says `failed`, with
`FailedParams`, when the user wants the error of a cell fixed or explained, and the kernel answers with `failedPrompt`:
the `id`, and the `text` to send to the agent.
"""

LIMITS: tuple[tuple[str, str, str, str], ...] = (
    ("agentnb.server.delivery", "FLUSH_SECONDS", "s", "between two flushes to a client, at least"),
    ("agentnb.server.delivery", "SHORT.characters", "characters", "of text that are worth a `text` flush of their own"),
    ("agentnb.server.delivery", "SHORT.seconds", "s", "that fewer characters wait for more, at most"),
    ("agentnb.server.delivery", "WHOLE.characters", "characters", "the same where a page does not read `text`"),
    ("agentnb.server.delivery", "WHOLE.seconds", "s", "the same where a page does not read `text`"),
    ("agentnb.server.window", "LONGEST", "characters", "in a `text` flush, at most"),
    ("agentnb.server.client", "MAX_UNACKNOWLEDGED", "flushes", "of `actions` that may wait for their acknowledgement"),
    ("agentnb.server.client", "MAX_TEXTS", "flushes", "that may wait for it in all"),
    ("agentnb.server.client", "UNHEARD_SECONDS", "s", "between flushes while the kernel can hear no page at all"),
    (
        "agentnb.server.delivery",
        "RESEND_SECONDS",
        "s",
        "without acknowledgement, after which a living client is sent again",
    ),
    ("agentnb.server.delivery", "GONE_SECONDS", "s", "of silence, after which a client is forgotten"),
    ("agentnb.server.delivery", "RETURN_SECONDS", "s", "the same for a client that said `leave`"),
    ("agentnb.server.client", "SNAPSHOT_FROM", "envelopes", "from which on a snapshot is sent where it is smaller"),
    ("agentnb.log.record", "MAX_ENTRIES", "envelopes", "of a channel kept in memory, at most"),
    ("agentnb.log.record", "MAX_BYTES", "bytes", "of a channel's envelopes kept in memory, at most"),
    (
        "agentnb.server.window",
        "LIMIT",
        "bytes",
        "of a field that travel with the state; a longer one is referred to",
    ),
    ("agentnb.server.window", "PREVIEW", "characters", "of a longer field that are sent beside its reference"),
    ("agentnb.server.window", "RANGE", "bytes", "in an answer to `fetchContent`, at most"),
    ("agentnb.server.window", "TURNS", "turns", "of a chat in a first snapshot, at most; the others are fetched"),
    ("agentnb.server.window", "BYTES", "bytes", "of turns in a snapshot or an answer, at most (one turn at least)"),
    ("agentnb.server.window", "MAX_FETCHED", "turns", "in an answer to `fetchTurns`, at most"),
    (
        "agentnb.server.client_requests",
        "LONGEST_DRAFT",
        "characters",
        "of a draft that other windows are told of, at most",
    ),
    ("agentnb.host.environment", "LOOK_SECONDS", "s", "that looking for what can be mentioned may take"),
    ("agentnb.server.history_requests", "MAX_LISTED", "sessions", "in an answer to `listSessions`, at most"),
    ("agentnb.server.history_requests", "PREVIEWED_TURNS", "turns", "in an answer to `previewSession`, at most"),
    (
        "agentnb.server.history_requests",
        "PREVIEWED_CHARACTERS",
        "characters",
        "of a prompt or an answer there, at most",
    ),
    (
        "agentnb.state.chat_reducer",
        "OUTPUT_LIMIT",
        "characters",
        "of a terminal's output in the state; a ring",
    ),
)
PAGE_LIMITS = (
    ("PING_MS", "between two `ping`s"),
    ("RETRY_MS", "after which the page asks again what was not answered"),
)


def page() -> str:
    """The whole page."""
    from agentnb.server import answers, lab_messages, messages
    from agentnb.server.methods import METHODS, NOTIFICATIONS
    from agentnb.state.versions import WINDOW

    examples = _examples()
    from_page = sorted(METHODS.values(), key=attrgetter("name"))
    sections = [
        HEAD,
        IDENTITIES,
        VERSIONS.format(window=WINDOW, unsupported=messages.UNSUPPORTED_VERSION),
        "## Envelopes\n",
        *(_struct(kind, title) for title, kind in _envelopes(messages, answers)),
        "## Requests of the page\n",
        *(_method(method, examples) for method in from_page if method.result),
        "## Notifications of the page\n",
        *(_method(method, examples) for method in from_page if not method.result),
        "## Notifications of the kernel\n",
        *(_method(method, examples) for method in NOTIFICATIONS.values()),
        LAB,
        *(
            _struct(kind, kind.__name__)
            for kind in (
                lab_messages.NotebookParams,
                lab_messages.CellParams,
                lab_messages.SavedParams,
                lab_messages.FailedParams,
            )
        ),
        _actions(),
        _codes(),
        _limits(),
    ]
    return "\n".join(sections)


def _envelopes(messages: Any, answers: Any) -> list[tuple[str, type[Any]]]:
    from agentnb.host.environment import Suggestion
    from agentnb.log.record import SessionRecord
    from agentnb.state import ActionOrigin, Envelope

    return [
        ("What a page says", messages.FromPage),
        ("What the kernel says", answers.FromKernel),
        ("KernelError", answers.KernelError),
        ("Envelope", Envelope),
        ("ActionOrigin", ActionOrigin),
        ("ChannelSnapshot", answers.ChannelSnapshot),
        ("SessionRecord", SessionRecord),
        ("Suggestion", Suggestion),
    ]


# --- methods ---


def _method(method: Method, examples: dict[tuple[str, str], Any]) -> str:
    lines = [f"### `{method.name}`\n", f"{_sentence(method.about)}\n", _fields(method.params)]
    direction = "toKernel" if method.sender == "page" else "toPage"
    example = examples.get((direction, method.name))
    if example is None:
        raise SystemExit(f"{method.name} has no valid example in tests/cases/messages: add one.")
    if method.result is not None:
        lines += [f"Answer: {_lower(_first(method.result))}\n", _fields(method.result)]
        codes = ", ".join(str(code) for code in _errors(method))
        lines += [f"Errors: {codes}.\n"]
    lines += [f"```json\n{_json(example['message'])}\n```\n"]
    answer = examples.get(("toPage", method.name)) if method.result is not None else None
    if answer is not None:
        lines += [f"```json\n{_json(answer['message'])}\n```\n"]
    return "\n".join(line for line in lines if line)


def _errors(method: Method) -> list[int]:
    from agentnb.server.methods import COMMON_ERRORS

    return sorted({*COMMON_ERRORS, *method.errors}, reverse=True)


def _examples() -> dict[tuple[str, str], Any]:
    """The first valid case of each method and direction."""
    examples: dict[tuple[str, str], Any] = {}
    for path in sorted(CASES.glob("*.json"), key=lambda path: path.stem):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case["valid"] and "error" not in case["message"]:
            examples.setdefault((case["direction"], case["method"]), case)
    return examples


def _json(value: Any, width: int = 116) -> str:
    """JSON on one line where that fits, else an item a line."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= width or not isinstance(value, dict | list) or not value:
        return text
    if isinstance(value, list):
        inner = ",\n".join(_json(item, width - 2) for item in value)
        return f"[\n{_indent(inner)}\n]"
    inner = ",\n".join(f"{json.dumps(key)}: {_json(item, width - 4 - len(key))}" for key, item in value.items())
    return f"{{\n{_indent(inner)}\n}}"


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


# --- structs ---


def _struct(kind: type[Any], title: str) -> str:
    return "\n".join([f"### {title}\n", f"{_sentence(_first(kind))}\n", _fields(kind)])


def _fields(kind: type[Any]) -> str:
    info = msgspec.inspect.type_info(kind)
    if not isinstance(info, msgspec.inspect.StructType) or not info.fields:
        return ""
    texts = _described(kind)
    if unsaid := [field.name for field in info.fields if field.name not in texts]:
        raise SystemExit(f"{kind.__name__}: the docstring says nothing of {', '.join(unsaid)} (Attributes: or Args:).")
    rows = [
        f"| `{field.encode_name}` | {_type(field.type)} | {'yes' if field.required else 'no'} | {texts[field.name]} |"
        for field in info.fields
    ]
    return "\n".join(["| field | type | required | meaning |", "|---|---|---|---|", *rows, ""])


def _described(kind: type[Any]) -> dict[str, str]:
    """What the docstring says of each field (``Attributes:`` or ``Args:``)."""
    parts = re.split(r"\n(?:Attributes|Args):\n", inspect.getdoc(kind) or "", maxsplit=1)
    entries = re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", parts[-1].split("\n\n")[0], re.MULTILINE)
    return {name: _plain(meaning) for name, meaning in entries}


def _first(kind: type[Any]) -> str:
    return _plain((inspect.getdoc(kind) or "").split("\n\n")[0])


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("``", "`")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _type(info: msgspec.inspect.Type) -> str:
    match info:
        case msgspec.inspect.UnionType(types=types):
            return " or ".join(_type(one) for one in types if not isinstance(one, msgspec.inspect.NoneType))
        case msgspec.inspect.VarTupleType(item_type=item):
            return f"array of {_type(item)}"
        case msgspec.inspect.DictType(value_type=value):
            return "object" if isinstance(value, msgspec.inspect.AnyType) else f"object of {_type(value)}"
        case msgspec.inspect.StructType(cls=kind) | msgspec.inspect.CustomType(cls=kind):
            return kind.__name__
        case msgspec.inspect.LiteralType(values=values):
            return " or ".join(f'`"{value}"`' for value in values)
        case _:
            return NAMES[type(info).__name__]


NAMES = {
    "IntType": "integer",
    "StrType": "text",
    "BoolType": "boolean",
    "RawType": "object",
    "AnyType": "anything",
    "ListType": "array",
}


# --- actions, codes, sizes ---


MAY = """\
## Actions

A page may dispatch these; whether it may do so now is the host's decision. The action comes back with `origin`, and
with `rejectionReason` where the host said no. One that cannot be read comes back as `x-agentnb/unreadable`, rejected;
one that was accepted before and came once more is not done again and comes back rejected, with `repeated`. The time
that a page gives is replaced by the host's.
"""

MAY_NOT = """
These only the host says; from a page they are rejected. Terminals and changesets have no channel yet. Clients,
customizations and MCP servers of a session are shown by no view: the page is sent the session's state for them.
"""


def _actions() -> str:
    from agentnb.host.intents import DISPATCHABLE
    from agentnb.state.codec import ACTIONS

    may = [name for name, kind in ACTIONS.items() if kind in DISPATCHABLE]
    may_not = [name for name in ACTIONS if name not in may]
    return "\n".join(
        [
            MAY,
            *_action_rows(may),
            MAY_NOT,
            *_action_rows(may_not),
            "",
        ]
    )


def _action_rows(names: list[str]) -> list[str]:
    from agentnb.state.codec import ACTIONS
    from agentnb.state.versions import INTRODUCED

    rows = [
        f"| `{name}` | {ACTIONS[name].channel_kind} | {INTRODUCED[name]} | {_first(ACTIONS[name])} |" for name in names
    ]
    return ["| action | channel | since | meaning |", "|---|---|---|---|", *rows]


def _codes() -> str:
    from agentnb.server.messages import ERRORS

    rows = [f"| {code} | {meaning} |" for code, meaning in ERRORS.items()]
    return "\n".join(["## Errors\n", "| code | meaning |", "|---|---|", *rows, ""])


def _limits() -> str:
    rows = [
        f"| `{name}` | {attrgetter(name)(import_module(module)):,} {unit} | {meaning} |"
        for module, name, unit, meaning in LIMITS
    ]
    source = CLIENT_TS.read_text(encoding="utf-8")
    for name, meaning in PAGE_LIMITS:
        match = re.search(rf"^const {name} = ([\d_]+);", source, re.MULTILINE)
        if match is None:
            raise SystemExit(f"{CLIENT_TS.name} has no constant {name} any more: correct PAGE_LIMITS.")
        rows.append(f"| `{name}` | {int(match[1]) / 1000:g} s | {meaning} |")
    return "\n".join(["## Sizes and timings\n", "| constant | value | meaning |", "|---|---|---|", *rows, ""])


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from scripts.generated import write_or_check

    sys.exit(write_or_check({PAGE: page()}, __doc__))
