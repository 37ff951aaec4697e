"""``%agents policy``: the rules in force with their source, and the last decisions."""

from __future__ import annotations

from pathlib import Path

from tests.unit.ipython.test_extension import tell

SHOW = """
import os
os.environ.update(AGENTNB_CONFIG_DIR={config!r}, AGENTNB_DATA_DIR={config!r})
os.chdir({work!r})
def show():
    print(*(" ".join(line.split()) for line in repr(magic("agents", "policy")).splitlines()), sep="\\n")
"""
POLICY = """
[[rule]]
action = "allow"
command = ["ls *"]

[sensitive]
"**/*.csv" = true

[agents.claude]
bypass = true
confine = true

[agents.codex]
confine = ["x.org", "*.y.org"]

[agents.eliza]
confine = false

[agents.gemini]
confine = "no network"
"""
ANSWERED = """
import agentnb
magic("agents", "trust")
session = agentnb.start("eliza", permissions=lambda question: "agentnb:session")
session.prompt("/run echo a | wc -c #<b>").wait(120)
magic("agents", "use eliza")
show()
print(magic("agents", "policy")._repr_markdown_())
"""


def shown(tmp_path: Path, code: str, **settings: object) -> list[str]:
    """Returns the lines that *code* prints with `show`, without columns."""
    config, work = tmp_path / "config", tmp_path / "work"
    printed, warnings = tell(SHOW.format(config=str(config), work=str(work)) + code, **settings)
    assert warnings == ""
    return printed


def test_table_shows_defaults_files_and_how_to_trust(tmp_path: Path) -> None:
    config, work = tmp_path / "config", tmp_path / "work"
    for folder in (config, work):
        folder.mkdir()
    text = "\n".join(shown(tmp_path, "show()\nmagic('config', 'Agentnb.cell_review = \"after\"')\nshow()"))
    for words in (
        f"{config}/policy.toml",
        f"{config}/audit.jsonl",
        "Always asks",
        "no decisions yet",
        f"{work} is not trusted",
        "`%agents trust` trusts it.",
        "Cell changes are reviewed before they are made (cell_review).",
        "are reviewed after they are made",
    ):
        assert words in text


def test_table_shows_every_rule_with_its_source(tmp_path: Path) -> None:
    """The user's, a card's, the project's; also patterns and bypasses; the text of agents is escaped."""
    config, work = tmp_path / "config", tmp_path / "work"
    for folder, text in ((config, POLICY), (work / ".agentnb", '[[rule]]\naction = "deny"\npath = ["x"]\n')):
        folder.mkdir(parents=True)
        (folder / "policy.toml").write_text(text)
    text = "\n".join(shown(tmp_path, ANSWERED))
    for line in (
        f"{work} is trusted: your file's allow rules apply here.",
        "Doesn't need to ask: claude.",
        "Confined: claude, codex (x.org, *.y.org), not eliza, gemini (no network).",
        "user allow ls * /",
        "project deny x /",
        "settings sensitive **/*.csv [sensitive]",
        "session allow execute echo * or wc * for eliza up to low risk answered on a card",
        "eliza execute echo a | wc -c #<b> medium allow (session) callback",
        "| eliza | execute echo a \\| wc -c #&lt;b> | medium | allow (session) | callback |",
    ):
        assert f"\n{line}" in text or f" {line}" in text, text
