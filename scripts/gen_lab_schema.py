"""Writes `js/schema/settings.gen.json` from the table of settings; with `--check`, only says whether it is stale.

They are the properties of JupyterLab's Settings editor (Settings → Settings Editor → Agent Chat), which the build puts
into the extension's schema. A setting that no file can hold is not in it, nor one whose value may be a secret.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "js" / "schema" / "settings.gen.json"

if TYPE_CHECKING:
    from agentnb.configuration.setting import Setting

TYPES = {"switch": "boolean", "number": "number", "names": "array"}


def property_of(setting: Setting) -> dict[str, Any]:
    """A setting as JSON Schema says it."""
    described = f"{setting.about} Applies {setting.counts}.".replace("`", "")
    schema: dict[str, Any] = {
        "title": setting.title,
        "description": described,
        "type": TYPES.get(setting.kind, "string"),
    }
    if setting.kind == "choice":
        schema["oneOf"] = [{"const": each, "title": label} for each, label in setting.choices.items()]
    elif setting.kind == "names":
        schema["items"] = {"type": "string"}
    elif setting.kind == "number":
        schema["minimum"] = 0
    return {**schema, "default": setting.default}


def text() -> str:
    """The whole file."""
    from agentnb.configuration.table import FIRST, SETTINGS

    ordered = [SETTINGS[name] for name in dict.fromkeys((*FIRST, *SETTINGS)) if name in SETTINGS]
    settings = [each for each in ordered if each.file and each.kind != "servers"]
    properties = {each.name: property_of(each) for each in settings}
    return json.dumps(properties, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from scripts.generated import write_or_check

    sys.exit(write_or_check({PAGE: text()}, __doc__))
