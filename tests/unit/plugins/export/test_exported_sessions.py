"""The page exports kept conversations."""

from __future__ import annotations

from pathlib import Path

from tests.unit.server.asking_page import MakeHost, kernel, page_of, talk
from tests.unit.server.test_history_arrangement import refused

__all__ = ["kernel"]

FORMS = {"md": "# Fit\n", "html": "<!doctype html>", "jsonl": '{"kind"', "ipynb": '{\n "cells"'}


def test_page_exports_a_session_in_each_form(kernel: MakeHost, tmp_path: Path) -> None:
    """Credentials are removed in each form."""
    host = kernel()
    key = "ghp_" + "a1B2" * 9
    uri = talk(host, tmp_path, ("Why?", f"Because of {key}."), title="Fit").session.uri
    page = page_of(host)
    texts = {form: page.ask("exportSession", {"channel": uri, "form": form})["result"]["text"] for form in FORMS}
    assert {form: begins for form, begins in FORMS.items() if not texts[form].startswith(begins)} == {}
    assert [form for form, text in texts.items() if "Because of ***" not in text or key in text] == []
    assert "no longer has this conversation" in refused(page, "exportSession", channel=uri[:-1])
