"""Completion of the command line in the shells themselves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.test_cli import COMMANDS
from tests.unit.command_line import run_here

ASK = {
    "bash": """source ./script; COMP_WORDS=({words} ""); COMP_CWORD={count}; _agentnb; echo "${{COMPREPLY[@]}}" """,
    "fish": "source ./script; complete --do-complete '{words} {dashes}' | string replace --regex '\\t.*' ''; true",
}


def run(folder: Path, shell: str, *words: str) -> str:
    """Returns the output of a shell in *folder*, which has its completion script."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (folder / "script").write_text(run_here("completion", shell).stdout, encoding="utf-8")
    done = subprocess.run([shell, *words], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("shell", ASK)
def test_a_shell_completes_commands_flags_and_values(tmp_path: Path, shell: str) -> None:
    def completed(words: str, dashes: str = "") -> set[str]:
        code = ASK[shell].format(words=words, count=len(words.split()), dashes=dashes)
        return set(run(tmp_path, shell, "-c", code).split())

    assert set(COMMANDS) <= completed("agentnb")
    assert {"--reset", "--what-if", "--json"} <= completed("agentnb settings", dashes="--")
    assert completed("agentnb replay --pace") == {"instant", "recorded"}
    assert {"bash", "zsh", "fish"} <= completed("agentnb completion")


def test_zsh_loads_the_completion_script(tmp_path: Path) -> None:
    code = "autoload -U compinit && compinit -u -D && source ./script && print -- $_comps[agentnb]"
    assert "_agentnb" in run(tmp_path, "zsh", "-fc", code)
