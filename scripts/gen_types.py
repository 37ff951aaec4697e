"""Writes the TypeScript types, tables and typed requests of `js/src/state` from `agentnb.state` and `agentnb.server`.

With `--check`, only says whether they are stale.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from agentnb.server.methods import AHP_METHODS, NOTIFICATIONS, OURS, REQUESTS
from agentnb.state import ChatAction, RootAction, SessionAction, SessionStatus
from agentnb.state.action import ChangesetAction
from agentnb.state.chat_reducer import OUTPUT_LIMIT
from agentnb.state.codec import ACTIONS
from agentnb.state.reducers import ROWS
from agentnb.state.schema import json_schema, open_union
from agentnb.state.versions import WINDOW
from agentnb.state.wire import Wire

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "js" / "src" / "state"
REQUESTS_TS = FOLDER / "requests.gen.ts"
WIDTH = 120
NOTE = "Written by scripts/gen_types.py from agentnb/state: change that, then run `make types`."
SERVED = (RootAction, SessionAction, ChatAction)
"""The actions of the channels that every page follows."""
FOLLOWED = {"Action", "TurnContentAction", "Envelope", "RootState", "SessionState", "ChatState", "ChangesetState"}
"""The types that a page needs, besides the types inside them."""
PRIMITIVES = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "object": "JsonObject",
    "array": "readonly unknown[]",
}


def types(definitions: dict[str, Any]) -> str:
    """The text of `types.gen.ts`: an interface for each struct, a type for each union."""
    head = (
        f"/** {NOTE} */\n\n"
        "/** A JSON object taken as it is. */\n"
        "export interface JsonObject {\n  readonly [name: string]: unknown;\n}\n"
    )
    return "\n".join([head, *(_definition(name, schema) for name, schema in _with_bases(definitions).items())])


def _definition(name: str, schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return _union(name, [_type(member) for member in schema["anyOf"]])
    if "enum" in schema:
        return _comment(schema, "") + _union(name, [json.dumps(value) for value in schema["enum"]])
    base = _base(name)
    fields = _fields(schema, without=base.__struct_encode_fields__ if base else ())
    extended = f" extends {base.__name__}" if base else ""
    body = f"{{\n{fields}}}" if fields else "{}"
    return f"{_comment(schema, '')}export interface {name}{extended} {body}\n"


def _fields(schema: dict[str, Any], *, without: tuple[str, ...]) -> str:
    required = set(schema.get("required", ()))
    return "".join(
        f"  readonly {field}{'' if field in required else '?'}: {_type(value)};\n"
        for field, value in schema["properties"].items()
        if field not in without
    )


def _structs(base: type[Wire]) -> dict[str, type[Wire]]:
    """The structs that are declared with *base*, by name."""
    below = {kind.__name__: kind for kind in base.__subclasses__()}
    return below | {name: struct for kind in below.values() for name, struct in _structs(kind).items()}


def _base(name: str) -> type[Wire] | None:
    """The struct that brings the fields which this one shares with others."""
    struct = _structs(Wire).get(name)
    bases = [kind for kind in struct.__mro__[1:] if issubclass(kind, Wire)] if struct else []
    return next((kind for kind, over in pairwise(bases) if kind.__struct_fields__ != over.__struct_fields__), None)


def _with_bases(definitions: dict[str, Any]) -> dict[str, Any]:
    """The definitions, and those of the structs whose fields they share."""
    every = dict(definitions)
    waiting = [*definitions]
    while waiting:
        name = waiting.pop()
        base = _base(name)
        if base is None or base.__name__ in every:
            continue
        schema = every[name]
        fields = base.__struct_encode_fields__
        every[base.__name__] = {
            "description": (base.__doc__ or "").strip(),
            "properties": {field: schema["properties"][field] for field in fields},
            "required": [field for field in schema.get("required", ()) if field in fields],
        }
        waiting.append(base.__name__)
    return dict(sorted(every.items()))


def _comment(schema: dict[str, Any], indent: str) -> str:
    text = schema.get("description", "").split("\n\n")[0].replace("\n", " ").replace("``", "`")
    return f"{indent}/** {text} */\n" if text else ""


def _union(name: str, members: list[str]) -> str:
    line = f"export type {name} = {' | '.join(members)};\n"
    if len(line) <= WIDTH:
        return line
    return f"export type {name} =\n" + "\n".join(f"  | {member}" for member in members) + ";\n"


def _type(schema: dict[str, Any]) -> str:
    """A TypeScript type. What can be null is optional, and absent on the wire."""
    match schema:
        case {"$ref": reference}:
            return str(reference).rsplit("/", 1)[-1]
        case {"enum": values}:
            return " | ".join(json.dumps(value) for value in values)
        case {"anyOf": members}:
            named = [_type(member) for member in members if member != {"type": "null"}]
            return " | ".join(dict.fromkeys(named))
        case {"type": "array", "prefixItems": items}:
            return f"readonly [{', '.join(map(_type, items))}]"
        case {"type": "array", "items": items} if items:
            item = _type(items)
            return f"readonly {f'({item})' if ' ' in item else item}[]"
        case {"type": "object", "additionalProperties": values} if values:
            return f"Readonly<Record<string, {_type(values)}>>"
        case {"type": kind}:
            return PRIMITIVES[kind]
        case _:
            return "unknown"


def tables(definitions: dict[str, Any]) -> str:
    """The text of `tables.gen.ts`: constants, and what the guard asks of each action."""
    statuses = "".join(f"  {flag.name}: {flag.value},\n" for flag in SessionStatus.__members__.values())
    actions = "".join(
        _required(name, definitions[kind.__name__], definitions)
        for name, kind in ACTIONS.items()
        if issubclass(kind, SERVED)
    )
    return (
        f"/** {NOTE} */\n\n"
        "/** The versions of the protocol that the page speaks. */\n"
        f"export const WINDOW = {{ oldest: {WINDOW.oldest}, current: {WINDOW.current} }} as const;\n\n"
        "/** Bits of a status (AHP `SessionStatus`). */\n"
        f"export const SessionStatus = {{\n{statuses}}} as const;\n\n"
        "/** How many characters of a terminal's output the state keeps. */\n"
        f"export const OUTPUT_LIMIT = {OUTPUT_LIMIT};\n\n"
        "/** The fields that actions must have, where they must: `name:type`, or `name` alone for a string. */\n"
        "export const REQUIRED: Readonly<Record<string, string>> = {\n"
        f"{actions}}};\n\n"
        "/** The actions that are reduced by steps: a verb, the state's field, and what else the verb needs. */\n"
        f"export const ROWS = {{\n{''.join(_rows(channel) for channel in ROWS if channel != 'terminal')}}} as const;\n"
    )


def _rows(channel: Any) -> str:
    rows = "".join(
        f'    "{kind.__struct_config__.tag}": {json.dumps([_step(kind, *step) for step in steps])},\n'
        for kind, steps in ROWS[channel].items()
    )
    return f"  {channel}: {{\n{rows}  }},\n" if rows else f"  {channel}: {{}},\n"


def _step(kind: Any, verb: str, field: str, *more: Any) -> list[Any]:
    names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    state_field = "_meta" if field == "meta" else re.sub(r"_(\w)", lambda match: match[1].upper(), field)
    if verb == "value":
        return [verb, state_field, *more]
    return [verb, state_field, *(names.get(each, each) for each in more)]


def _required(name: str, schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    kinds = {
        field: _json_type(value, definitions)
        for field, value in schema["properties"].items()
        if field in schema.get("required", ()) and field != "type"
    }
    fields = " ".join(field if kind == "string" else f"{field}:{kind}" for field, kind in kinds.items() if kind)
    return f'  "{name}": "{fields}",\n' if fields else ""


def _json_type(schema: dict[str, Any], definitions: dict[str, Any]) -> str | None:
    """The JSON type that a field must have, ``None`` when it may have several."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[-1]]
    if "anyOf" in schema:
        kinds = {_json_type(member, definitions) for member in schema["anyOf"]}
        return kinds.pop() if len(kinds) == 1 else None
    if "enum" in schema:
        return "string"
    kind = schema.get("type")
    return "number" if kind == "integer" else kind


def requests(known: dict[str, Any]) -> str:
    """The text of `requests.gen.ts`: the parameters and the answer of each request, and the forms of the answers."""
    heard = [method.params for method in NOTIFICATIONS.values() if not method.params.__struct_config__.array_like]
    kinds = [kind for method in REQUESTS.values() for kind in (method.params, method.result)] + heard
    _, components = msgspec.json.schema_components(kinds, schema_hook=open_union, ref_template="#/$defs/{name}")
    own = {name: schema for name, schema in sorted(components.items()) if name not in known}
    text = "\n".join(_definition(name, schema) for name, schema in own.items())
    used = sorted(name for name in known if re.search(rf"\b{name}\b", re.sub(r"/\*\*.*?\*/", "", text)))
    named = sorted(((name.removeprefix(OURS), method) for name, method in REQUESTS.items()), key=itemgetter(0))
    rows = "".join(
        f"  readonly {name}: {{ readonly params: {_name(method.params)}; readonly result: {_name(method.result)} }};\n"
        for name, method in named
    )
    shared = "".join(f'  "{name}",\n' for name in sorted(AHP_METHODS))
    answers = {_name(method.result) for method in REQUESTS.values()} | {_name(kind) for kind in heard}
    forms = "".join(_form(name, own[name]) for name in _within(answers, own))
    results = "".join(f'  {name}: "{_name(method.result)}",\n' for name, method in named)
    imports = "".join(f"  {name},\n" for name in [*used, "JsonObject"] if name in used or "JsonObject" in text)
    return (
        f"/** {NOTE.replace('agentnb/state', 'agentnb/server')} */\n"
        f'import type {{\n{imports}}} from "./types.gen.ts";\n\n{text}\n'
        f"/** Every request, by name. */\nexport interface Requests {{\n{rows}}}\n\n"
        f"/** What the page says that the Agent Host Protocol has, too; all other names begin with `x-agentnb/`. */\n"
        f"export const AHP_METHODS: ReadonlySet<string> = new Set([\n{shared}]);\n\n"
        f"/** The form of the answer to each request. */\n"
        f"export const ANSWERS: Readonly<Record<keyof Requests, string>> = {{\n{results}}};\n\n"
        "/** The fields of each form and their kinds; a kind with a question mark may be absent. */\n"
        f"export const FORMS: Readonly<Record<string, Readonly<Record<string, string>>>> = {{\n{forms}}};\n"
    )


def _name(kind: type[Any] | None) -> str:
    return "" if kind is None else kind.__name__


def _within(names: set[str], definitions: dict[str, Any]) -> list[str]:
    """The structs that have these names or are in one of them."""
    structs: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name in definitions and name not in structs:
            structs.add(name)
            waiting += re.findall(r'"#/\$defs/(\w+)"', json.dumps(definitions[name]))
    return sorted(structs)


def _form(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    fields = {field: _kind(value) + ("" if field in required else "?") for field, value in schema["properties"].items()}
    entries = ", ".join(f'{field}: "{kind}"' for field, kind in fields.items() if kind != "unknown?")
    line = f"  {name}: {{ {entries} }},\n" if entries else f"  {name}: {{}},\n"
    if len(line) <= WIDTH:
        return line
    rows = "".join(f'    {field}: "{kind}",\n' for field, kind in fields.items() if kind != "unknown?")
    return f"  {name}: {{\n{rows}  }},\n"


def _kind(schema: dict[str, Any]) -> str:
    """The kind of a field, for the page's guard."""
    match schema:
        case {"$ref": reference}:
            return str(reference).rsplit("/", 1)[-1]
        case {"enum": values}:
            return "=" + "|".join(values)
        case {"anyOf": members}:
            kinds = {_kind(member) for member in members if member != {"type": "null"}}
            return kinds.pop() if len(kinds) == 1 else "unknown"
        case {"type": "array", "items": items} if items:
            return f"{_kind(items)}[]"
        case {"type": "object", "additionalProperties": values} if values:
            return f"{_kind(values)}{{}}"
        case {"type": "integer"}:
            return "count" if schema.get("minimum") == 0 else "integer"
        case {"type": kind}:
            return str(kind)
        case _:
            return "unknown"


def followed() -> dict[str, Any]:
    """The definitions that a page needs."""
    every = json_schema()["$defs"]
    every["Action"] = {"anyOf": [{"$ref": f"#/$defs/{base.__name__}"} for base in (*SERVED, ChangesetAction)]}
    return {name: every[name] for name in _within(FOLLOWED, every)}


def files() -> dict[Path, str]:
    """What each file should hold."""
    definitions = followed()
    return {
        FOLDER / "types.gen.ts": types(definitions),
        FOLDER / "tables.gen.ts": tables(definitions),
        REQUESTS_TS: requests(definitions),
    }


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from scripts.generated import write_or_check

    sys.exit(write_or_check(files(), __doc__))
