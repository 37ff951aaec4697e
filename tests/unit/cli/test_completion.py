"""Completion of the command line in the shells themselves, and the addresses in its help."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from agentnb.cli.command_line import COMMANDS, plugin_commands
from agentnb.cli.setup import script

EVERY = {**COMMANDS, **plugin_commands()}
ASK = {
    "bash": """source ./script; COMP_WORDS=({words} ""); COMP_CWORD={count}; _agentnb; echo "${{COMPREPLY[@]}}" """,
    "fish": "source ./script; complete --do-complete '{words} {dashes}' | string replace --regex '\\t.*' ''; true",
}


def completed(folder: Path, shell: str, words: str, *, dashes: str = "") -> set[str]:
    """Returns the completions of *shell* after *words*."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (folder / "script").write_text(script(shell, EVERY), encoding="utf-8")
    code = ASK[shell].format(words=words, count=len(words.split()), dashes=dashes)
    done = subprocess.run([shell, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize("shell", ASK)
def test_a_shell_completes_commands_flags_and_values(tmp_path: Path, shell: str) -> None:
    assert set(EVERY) <= completed(tmp_path, shell, "agentnb")
    assert {"--reset", "--what-if", "--json"} <= completed(tmp_path, shell, "agentnb settings", dashes="--")
    assert completed(tmp_path, shell, "agentnb replay --pace") == {"instant", "recorded"}
    assert {"bash", "zsh", "fish"} <= completed(tmp_path, shell, "agentnb completion")


def test_zsh_loads_the_completion_script(tmp_path: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    (tmp_path / "script").write_text(script("zsh", EVERY), encoding="utf-8")
    code = "autoload -U compinit && compinit -u -D && source ./script && print -- $_comps[agentnb]"
    done = subprocess.run(["zsh", "-fc", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "_agentnb" in done.stdout


def test_help_cites_web_addresses_instead_of_docs_files() -> None:
    """A wheel has no docs/."""
    for command in EVERY.values():
        texts = [command.summary, command.details, *(option.help for option in command.options)]
        cited = [each for text in texts for each in re.findall(r"\S*docs/\S+", text)]
        assert [each for each in cited if not each.startswith("https://")] == [], command.name
