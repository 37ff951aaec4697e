"""Write the bill of materials (CycloneDX 1.6) of a release: the packages it requires and those whose code it contains.

Usage:
    ``python scripts/sbom.py build/sbom/agentnb.cdx.json`` writes it, from the lock files and this environment.
    ``python scripts/sbom.py --check build/sbom/agentnb.cdx.json`` validates it, with `cyclonedx-python-lib`.

The packages that it requires have the versions of ``constraints.txt``, which the tests ran with; an installation may
have newer ones. Those inside the front end are exact, with the hash of what npm delivered.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

LICENCES = ROOT / "agentnb/static/THIRD-PARTY-LICENSES.txt"
_PIN = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
_BUNDLED = re.compile(r"^(\S+) (\d\S*) \((.+)\)$", re.MULTILINE)


def required() -> list[dict[str, Any]]:
    """The packages that agentnb needs at run time, in the versions that are tested."""
    from scripts import pins

    pinned = {name.lower(): version for name, version in _PIN.findall((ROOT / "constraints.txt").read_text("utf-8"))}
    names = pins.closure(_project()["dependencies"])
    return [_component("pypi", name, pinned[name]) for name in sorted(names)]


def bundled() -> list[dict[str, Any]]:
    """The npm packages whose code is in the front end, with licence and hash."""
    lock = json.loads((ROOT / "js/package-lock.json").read_text("utf-8"))["packages"]
    components = []
    for name, version, licence in _BUNDLED.findall(LICENCES.read_text("utf-8")):
        algorithm, _, digest = lock[f"node_modules/{name}"]["integrity"].partition("-")
        content = base64.b64decode(digest).hex()
        component = _component("npm", name, version)
        component["licenses"] = [{"license": {"id": licence}}]
        component["hashes"] = [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": content}]
        components.append(component)
    return components


def bill() -> dict[str, Any]:
    """The whole document; equal for equal contents."""
    project, components = _project(), [*required(), *bundled()]
    own = _component("pypi", project["name"], project["version"])
    own["licenses"] = [{"expression": project["license"]}]
    tree = [{"ref": own["bom-ref"], "dependsOn": [each["bom-ref"] for each in components]}]
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([own, components]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
        "dependencies": tree,
    }


def check(path: Path) -> None:
    """Exit with what is wrong where the file is not valid CycloneDX."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(path.read_text("utf-8"))
    if problem is not None:
        sys.exit(f"{path}: {problem}")


def _component(kind: str, name: str, version: str) -> dict[str, Any]:
    address = f"pkg:{kind}/{name.replace('@', '%40')}@{version}"
    return {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}


def _project() -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return project


def main() -> None:
    """Write or check the file."""
    path = Path(sys.argv[-1])
    if "--check" in sys.argv:
        check(path)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{json.dumps(bill(), indent=2)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
