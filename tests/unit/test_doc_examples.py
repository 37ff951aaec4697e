"""The examples on the pages are readable, name existing things, and run."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from IPython.core.inputtransformer2 import TransformerManager

import agentnb
from agentnb.errors import PolicyError
from tests.unit.command_line import run_here
from tests.unit.forked import run_script

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/how-to").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OURS = {  # only between our own processes
    "AGENTNB_BATCH_PROCESS",
    "AGENTNB_KERNEL_SOCKET",
    "AGENTNB_KERNEL_TOKEN",
    "AGENTNB_OWNER",
    "AGENTNB_RECORDING",
}


class Block(NamedTuple):
    page: str
    language: str
    text: str


BLOCKS = [Block(page.name, *match) for page in PAGES for match in FENCE.findall(page.read_text(encoding="utf-8"))]
PYTHON = [block for block in BLOCKS if block.language == "python"]
OTHERS = [ROOT / "docs/contributing.md", *(ROOT / "docs/reference").glob("*.md")]
PROSE = {page.name: page.read_text(encoding="utf-8") for page in (*PAGES, *OTHERS)}
OF_PLUGINS = {"provenance", "verify"}
COMMANDS = set(re.findall(r"^## `agentnb ([a-z]+)", PROSE["cli.md"], re.MULTILINE))
CELL = ("%", "import agentnb", "agentnb.", "session = agentnb.start", "turn.")

HELP = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_line_magic("load_ext", "agentnb")
print(*(shell.find_line_magic(name).__doc__ for name in ("agent", "agents")))
"""
RUN = """
import sys
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_cell("%load_ext agentnb\\nimport agentnb\\nmodel, df = 1, [1, 2]")
for block in Path(sys.argv[1]).read_text("utf-8").split("\\0"):
    shell.run_cell(block).raise_error()
"""


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.page)
def test_python_examples_are_valid_in_a_cell(block: Block) -> None:
    """IPython can read it, with magics."""
    ast.parse(TransformerManager().transform_cell(block.text))


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.page)
def test_prompt_examples_have_no_comment_or_load_ext(block: Block) -> None:
    prompts = [line for line in block.text.splitlines() if line.startswith("%agent ")]
    assert not (prompts and "%load_ext" in block.text)
    assert [line for line in prompts if "#" in line] == []


def test_documented_commands_and_options_exist() -> None:
    """`%agents WORD`, `%agent -x`, `agentnb WORD`."""
    text, shown = "\n".join(PROSE.values()), run_script(HELP).stdout
    managed = {*re.findall(r"%agents ([a-z]+)", shown), *OF_PLUGINS}
    assert set(re.findall(r"`%agents ([a-z]+)", text)) - managed == set()
    assert set(re.findall(r"%agent (--?[a-z]+)", text)) - set(re.findall(r"(?<!\S)(--?[a-z]+)", shown)) == set()
    blocks = "\n".join(block.text for block in BLOCKS if not block.language)
    assert set(re.findall(r"^agentnb ([a-z]+)", blocks, re.MULTILINE)) - COMMANDS == set()


def test_every_environment_variable_is_documented() -> None:
    """The variables on the pages and in the code."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "agentnb").rglob("*.py"))
    named = set(re.findall(r"\"(AGENTNB_[A-Z0-9_]+)\"", code)) | set(
        re.findall(r"AGENTNB_[A-Z0-9_]+", "".join(PROSE.values()))
    )
    tables = PROSE["settings.md"] + PROSE["contributing.md"]
    listed = set(re.findall(r"^\| `(AGENTNB_[A-Z0-9_]+)`", tables, re.MULTILINE))
    assert named - listed == OURS


def test_example_files_in_the_docs_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages' agent description, local model and Codex settings, and policy are valid files."""
    of_page: dict[str, list[Any]] = {}
    for each in BLOCKS:
        if each.language == "toml":
            of_page.setdefault(each.page, []).append(each)
    agent, replaced, providers, asks = of_page["own-agents.md"]
    (local,), (codex,), (policy,) = of_page["local-model.md"], of_page["pair.md"], of_page["permissions.md"]
    (settings,), (tool,) = of_page["settings.md"], of_page["skills.md"]
    for there in of_page["remote-agents.md"]:
        assert tomllib.loads(there.text)
    (tmp_path / "site.toml").write_text(of_page["administer.md"][0].text, encoding="utf-8")
    complaints = run_here("site-policy", "check", str(tmp_path / "site.toml")).stderr.splitlines()
    assert [each for each in complaints if "must be confined, but cannot be confined here" not in each] == []
    asking = f'name = "asking"\ntitle = "Asks"\ncommand = ["mine"]\n{asks.text}'
    examples = {"agents/mine": agent.text, "agents/asking": asking, "policy": policy.text, "local": local.text}
    (tmp_path / "agents").mkdir()
    for name, text in {**examples, "settings": settings.text}.items():
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path))
    assert {"mine", "asking"} <= {row.name for row in agentnb.agents()}
    assert tomllib.loads(replaced.text)["name"] == "claude"
    assert tomllib.loads(providers.text)["providers"].keys() == {"main", "other"}
    assert 'command = "agentnb"\nargs = ["mcp"]' in codex.text
    with pytest.raises(PolicyError, match="it has 3"):
        agentnb.settings().remove_rule(99)
    rows = {row.name: row.value for row in agentnb.settings()}
    assert tomllib.loads(settings.text).keys() <= rows.keys()
    assert "agentnb.tools" in tomllib.loads(tool.text)["project"]["entry-points"]
    assert rows["local_key_variable"] == "LAB_KEY"


def test_cells_of_the_first_pages_run(tmp_path: Path) -> None:
    """All cells in one shell, with the built-in agent instead of another."""
    pages = ("README.md", "cells.md", "chat.md", "permissions.md", "agents.md", "history.md")
    blocks = [block.text for page in pages for block in BLOCKS if block.page == page and block.text.startswith(CELL)]
    blocks += [block.text for block in PYTHON if block.page == "python-asyncio.md"]
    cells = [text.replace('"claude"', '"eliza"').replace('"../data"', '"."') for text in blocks]
    (tmp_path / "cells").write_text("\0".join(cells), encoding="utf-8")
    command = [sys.executable, "-c", RUN, "cells"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(cells) == 16
