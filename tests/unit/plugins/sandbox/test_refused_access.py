"""The accesses that an agent's confinement refused are found in its programs' output."""

from __future__ import annotations

import pytest

from agentnb.agent.confinement import LONGEST_TEXT, refused_accesses
from agentnb.plugins.sandbox.confinement import Confinement

CONFINED = Confinement(way="Landlock", read=("/usr", "/etc"), write=("/home/ada/work", "/dev/null"))
HOME = "/home/ada"


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("sh: 1: cannot create /home/ada/.bashrc: Permission denied", [("~/.bashrc", "writing")]),
        ("bash: line 1: /home/ada/.bashrc: Permission denied", []),
        ("bash: line 1: /home/ada/.env: Permission denied", [("~/.env", "using")]),
        ("cat: ../other/notes.txt: Permission denied", [("~/other/notes.txt", "using")]),
        ("cat: '/home/ada/.ssh/id': Permission denied", [("~/.ssh/id", "using")]),
        ("Error: EACCES: permission denied, mkdir '/home/ada/.npm'", [("~/.npm", "writing")]),
        ("PermissionError: [Errno 13] Permission denied: '/data/a.csv'", [("/data/a.csv", "using")]),
        ("touch: cannot touch '/etc/x': Permission denied", [("/etc/x", "writing")]),
        ("cat: /etc/shadow: Permission denied", []),
        ("sh: 1: cannot create /home/ada/work/a: Permission denied", []),
        ("git@github.com: Permission denied (publickey).", []),
        ("/home/ada/.bashrc is fine", []),
        ("", []),
    ],
)
def test_refused_accesses_are_found_in_program_output(printed: str, expected: list[tuple[str, str]]) -> None:
    """Only paths outside the confinement count: others were refused by something else."""
    assert [tuple(each) for each in refused_accesses(printed, CONFINED, HOME)] == expected


def test_number_of_refused_accesses_is_limited() -> None:
    """Each counts once; only the end of a long text is read."""
    same = "cat: /data/x: Permission denied\n"
    many = "".join(f"cat: /data/{number}: Permission denied\n" for number in range(100))
    assert len(refused_accesses(same * 50, CONFINED, HOME)) == 1
    assert len(refused_accesses(many, CONFINED, HOME)) == 20
    assert refused_accesses(same + "x" * LONGEST_TEXT, CONFINED, HOME) == ()
