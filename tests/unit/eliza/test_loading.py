"""The ACP SDK, loaded for a process that only serves a client."""

from __future__ import annotations

import subprocess
import sys

CODE = """
from agentnb.eliza.loading import load_sdk
load_sdk()
from acp.schema import NewSessionResponse, TextContentBlock
print(NewSessionResponse.__pydantic_complete__)
print(TextContentBlock.model_validate({"type": "text", "text": "x"}).text)
from pydantic import BaseModel, ConfigDict
class Described(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)
print(Described.model_fields, NewSessionResponse.model_fields["session_id"].description)
"""


def test_the_sdk_prepares_a_model_when_it_is_used_and_reads_no_description() -> None:
    """What takes most of its time is put off, and what is used works."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout.splitlines()) == ("", ["False", "x", "{} None"])
