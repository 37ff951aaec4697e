"""``c.Agentnb.local_url`` and similar: which model the agent `local` uses in new tabs."""

from __future__ import annotations

import json

from tests.unit.forked import run_script

SCRIPT = """
import json
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell(config=Config({"Agentnb": {"local_url": "http://127.0.0.1:1/v1"}}))
shell.run_line_magic("load_ext", "agentnb")
shell.run_line_magic("config", "Agentnb.local_key_variable = 'LAB_KEY'")
from agentnb.api.configured import configured
given = configured("local", None, {"AGENTNB_LOCAL_MODEL": "mine"}, None)
print(json.dumps([given.env, dict(configured("eliza", None, None, None).env)]))
"""


def test_local_model_settings_reach_only_the_local_agent() -> None:
    done = run_script(SCRIPT)
    of_local = {
        "AGENTNB_LOCAL_URL": "http://127.0.0.1:1/v1",
        "AGENTNB_LOCAL_KEY_VARIABLE": "LAB_KEY",
        "AGENTNB_LOCAL_MODEL": "mine",
    }
    assert json.loads(done.stdout.splitlines()[-1]) == [of_local, {}], done.stderr
