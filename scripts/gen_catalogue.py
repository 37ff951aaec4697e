"""Writes `locale/agentnb.pot`, the messages for translators; with `--check`, only says whether it is stale.

The front end's are those that its build wraps (`js/translate.mjs`); the kernel's are the sentences of its errors, its
policy and its settings, which the page finds by their form (`js/src/translation.ts`).
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agentnb.configuration.table import GROUPS, SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
CATALOGUE = ROOT / "locale" / "agentnb.pot"
HEAD = """\
# Messages of agentnb. Written by scripts/gen_catalogue.py from the sources: change those.
msgid ""
msgstr ""
"Project-Id-Version: agentnb\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"
"""
PROSE_NAMES = {"hint", "title", "about", "reason", "summary", "message", "risk", "why"}
"""Names of arguments and variables whose texts people read."""
ALL_PROSE = ("agentnb/policy/",)
"""Folders whose sentences are all shown to people."""
SILENT = (
    "agentnb/cli/",
    "agentnb/checkup/",
    "agentnb/plugins/acp_agent/",
    "agentnb/testing/",
    "agentnb/pytest_plugin/",
)
"""Folders of programs that write to terminals and logs."""


SENTENCE = re.compile(r"[A-Za-z]{2}.*\s.*[.!?…]$|^[A-Z][a-z]+( [\w-]+)*$", re.DOTALL)


class Message(NamedTuple):
    """One message.

    Attributes:
        id: The English text.
        plural: Its plural; empty where it has none.
    """

    id: str
    plural: str = ""


def messages() -> dict[Message, set[str]]:
    """The messages, and the files that have each."""
    catalogue: dict[Message, set[str]] = defaultdict(set)
    for each in _of_the_page():
        catalogue[Message(each["id"], each.get("plural", ""))].add(each["at"].rpartition(":")[0])
    for path in sorted((ROOT / "agentnb").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(SILENT):
            for text in _Sentences.of(path, every=name.startswith(ALL_PROSE)):
                catalogue[Message(text)].add(name)
    for text in _of_the_settings():
        catalogue[Message(text)].add("agentnb/configuration/table.py")
    return catalogue


def _of_the_settings() -> Iterator[str]:
    """What the page shows of the table of settings."""
    yield from GROUPS.values()
    for each in SETTINGS.values():
        yield from filter(
            None, (each.title, each.checks_title, each.about, *each.choices.values(), each.empty, each.counts)
        )


def _of_the_page() -> list[dict[str, str]]:
    command = ["node", str(ROOT / "js/catalogue.mjs")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stderr}\nThe front end's messages need its packages: cd js && npm ci")
    answer: list[dict[str, str]] = json.loads(done.stdout)
    return answer


class _Sentences(ast.NodeVisitor):
    """Collects what the kernel says to people, in one module."""

    def __init__(self, *, every: bool) -> None:
        self.texts: list[str] = []
        self._every = every

    @classmethod
    def of(cls, path: Path, *, every: bool) -> list[str]:
        """The sentences of a module."""
        finder = cls(every=every)
        finder.visit(ast.parse(path.read_text(encoding="utf-8")))
        return finder.texts

    def visit_Raise(self, node: ast.Raise) -> None:
        if isinstance(node.exc, ast.Call):
            for argument in node.exc.args:
                self._take(argument)
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg in PROSE_NAMES:
            self._take(node.value)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(each, ast.Name) and each.id in PROSE_NAMES for each in node.targets):
            self._take(node.value)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        if self._every:
            self._take(node)
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                self.visit(each.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if self._every:
            self._take(node)

    def _take(self, node: ast.expr) -> None:
        if isinstance(node, ast.IfExp):
            self._take(node.body)
            self._take(node.orelse)
        text = _template(node).strip()
        if re.match(r"[A-Z`{]", text) and re.search(
            r"[A-Za-z]{2}.*\s.*[.!?…]$|^[A-Z][a-z]+( [\w-]+)*$", text, re.DOTALL
        ):
            self.texts.append(text)


def _template(node: ast.expr) -> str:
    """A string with `{0}` for what stands in it; empty for what is none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) and "{" not in node.value else ""
    if not isinstance(node, ast.JoinedStr):
        return ""
    text, places = "", 0
    for each in node.values:
        if isinstance(each, ast.Constant):
            text += str(each.value)
        else:
            text += f"{{{places}}}"
            places += 1
    return text if places < 10 else ""  # noqa: PLR2004 - one digit


def page() -> str:
    """The whole file."""
    catalogue = messages()
    plurals = {each.id for each in catalogue if each.plural}
    entries = [
        _entry(each, sorted(catalogue[each])) for each in sorted(catalogue) if each.plural or each.id not in plurals
    ]
    return "\n".join([HEAD, *entries])


def _entry(message: Message, files: list[str]) -> str:
    lines = [f"#: {' '.join(files)}", f"msgid {_quoted(message.id)}"]
    if message.plural:
        return "\n".join([*lines, f"msgid_plural {_quoted(message.plural)}", 'msgstr[0] ""', 'msgstr[1] ""', ""])
    return "\n".join([*lines, 'msgstr ""', ""])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def main() -> None:
    """Write the file, or check it."""
    text = page()
    if "--check" not in sys.argv[1:]:
        CATALOGUE.parent.mkdir(exist_ok=True)
        CATALOGUE.write_text(text, encoding="utf-8")
    elif not CATALOGUE.exists() or CATALOGUE.read_text(encoding="utf-8") != text:
        sys.exit(f"{CATALOGUE.relative_to(ROOT)} is stale: run `make types`.")


if __name__ == "__main__":
    main()
