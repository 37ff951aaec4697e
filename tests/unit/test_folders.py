"""The inside: the user's folders, with and without a home, whatever this process's variables are."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from agentnb.folders import config_folder, data_folder
from agentnb.log.location import log_location

# Reads the package's files first: another user may have no access to the checkout.
STRANGER = """
import os
from agentnb.agent.catalog import find
from agentnb.folders import config_folder, home
find("eliza")
os.setuid(54321)
del os.environ["HOME"]
print(home(), config_folder(), find("eliza").title)
"""


@pytest.mark.parametrize(
    ("environ", "config", "data"),
    [
        ({"HOME": "/h"}, "/h/.jupyter/agentnb", "/h/.local/share/jupyter/agentnb"),
        ({"HOME": "/h", "XDG_DATA_HOME": "/x"}, "/h/.jupyter/agentnb", "/x/jupyter/agentnb"),
        ({"HOME": "/h", "JUPYTER_CONFIG_DIR": "/c", "JUPYTER_DATA_DIR": "/d"}, "/c/agentnb", "/d/agentnb"),
        ({"HOME": "/h", "AGENTNB_CONFIG_DIR": "/c", "AGENTNB_DATA_DIR": "/d"}, "/c", "/d"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the folders of a Linux home")
def test_agentnb_folders_are_next_to_those_of_jupyter(environ: dict[str, str], config: str, data: str) -> None:
    """By Jupyter's rules, or as agentnb's variables say."""
    assert (str(config_folder(environ)), str(data_folder(environ))) == (config, data)
    assert str(log_location(environ)) == f"{data}/sessions.db"
    assert str(log_location({**environ, "AGENTNB_LOG": "/a/logs/"})) == "/a/logs/sessions.db"
    assert log_location({**environ, "AGENTNB_LOG": "off"}) is None


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can become a user whom the system does not know"
)
def test_user_without_a_home_can_use_the_built_in_agents() -> None:
    """A container's user id without a password entry, and no HOME: nothing fails."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "AGENTNB"))}
    done = subprocess.run(
        [sys.executable, "-c", STRANGER], env=environ, cwd="/", capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("/ /.jupyter/agentnb Tour\n", "")
