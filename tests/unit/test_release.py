"""Releases: workflows run only pinned code, and the bill of materials lists what users get."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

USES = re.compile(r"^ *(?:- )?uses: (.+)$", re.MULTILINE)
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def test_workflows_pin_every_action_to_a_commit() -> None:
    """A tag can move to other code; a comment has the version for people and dependabot."""
    used = [
        line for path in (ROOT / ".github/workflows").glob("*.yml") for line in USES.findall(path.read_text("utf-8"))
    ]
    assert ([line for line in used if not PINNED.fullmatch(line)], len(used) > 10) == ([], True)


def test_release_constraints_have_a_hash_for_each_package() -> None:
    text = (ROOT / "constraints-release.txt").read_text("utf-8")
    pins = re.findall(r"^([\w.-]+)==\S+(?: ;[^\\]+)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", text, re.MULTILINE)
    names = {name for name, _ in pins}
    assert len(pins) == text.count("==")
    assert {"check-wheel-contents", "cyclonedx-python-lib", "pypi-attestations", "twine"} <= names


@pytest.mark.slow
def test_bill_of_materials_lists_every_shipped_package(tmp_path: Path) -> None:
    """Requirements and packages bundled in the front end; a second run gives the same bytes."""
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for file in files:
        subprocess.run([sys.executable, "scripts/sbom.py", str(file)], cwd=ROOT, check=True)
    bill = json.loads(files[0].read_text("utf-8"))
    addresses = [each["purl"].partition("@")[0] for each in bill["components"]]
    bundled = json.loads((ROOT / "js/package.json").read_text("utf-8"))["dependencies"]
    assert {f"pkg:npm/{name.replace('@', '%40')}" for name in bundled} <= set(addresses)
    assert {"pkg:pypi/anywidget", "pkg:pypi/msgspec", "pkg:pypi/httpcore"} <= set(addresses)
    assert "pkg:pypi/pytest" not in addresses
    assert {each["hashes"][0]["alg"] for each in bill["components"] if "pkg:npm/" in each["purl"]} == {"SHA-512"}
    assert files[0].read_bytes() == files[1].read_bytes()


def test_security_table_names_existing_modules_and_tests() -> None:
    """Every path in its table exists, and each row has both."""
    rows = re.findall(r"^\| (`.+)$", (ROOT / "SECURITY.md").read_text("utf-8"), re.MULTILINE)
    named = [re.findall(r"`((?:agentnb|js|tests)/[^`]+)`", row) for row in rows]
    assert [path for paths in named for path in paths if not (ROOT / path).exists()] == []
    assert all(paths[0].startswith(("agentnb/", "js/")) and paths[-1].startswith("tests/") for paths in named)
    assert len(rows) >= 10


def test_citation_has_version_and_date_of_the_newest_release() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    newest = re.search(r"^## \[(\d[\d.]+)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    cited = [re.findall(rf"^{key}: (\S+)$", citation, re.MULTILINE) for key in ("version", "date-released")]
    assert newest is not None
    assert cited == [[newest[1]], [newest[2]]]
