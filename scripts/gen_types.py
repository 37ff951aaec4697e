"""Writes the TypeScript types and tables of `js/src/state` from the JSON Schema of `agentnb.state`.

With `--check`, only says whether they are stale.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from agentnb.state import ChatAction, RootAction, SessionAction, SessionStatus
from agentnb.state.chat_terminal_reducer import OUTPUT_LIMIT
from agentnb.state.codec import ACTIONS
from agentnb.state.schema import json_schema
from agentnb.state.versions import WINDOW

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "js" / "src" / "state"
WIDTH = 120
NOTE = "Written by scripts/gen_types.py from agentnb/state: change that, then run `make types`."
SERVED = (RootAction, SessionAction, ChatAction)
"""The actions of the channels that a page follows."""
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
    return "\n".join([head, *(_definition(name, schema) for name, schema in definitions.items())])


def _definition(name: str, schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return _union(name, [_type(member) for member in schema["anyOf"]])
    if "enum" in schema:
        return _comment(schema, "") + _union(name, [json.dumps(value) for value in schema["enum"]])
    required = set(schema.get("required", ()))
    fields = "".join(
        f"  readonly {field}{'' if field in required else '?'}: {_type(value)};\n"
        for field, value in schema["properties"].items()
    )
    return f"{_comment(schema, '')}export interface {name} {{\n{fields}}}\n"


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
        case {"type": "array", "items": items} if items:
            item = _type(items)
            return f"readonly {f'({item})' if ' | ' in item else item}[]"
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
        f"{actions}}};\n"
    )


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


def files() -> dict[Path, str]:
    """What each file should hold."""
    definitions = json_schema()["$defs"]
    return {FOLDER / "types.gen.ts": types(definitions), FOLDER / "tables.gen.ts": tables(definitions)}


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from scripts.generated import write_or_check

    sys.exit(write_or_check(files(), __doc__))
