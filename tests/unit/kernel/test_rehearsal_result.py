"""The line that says what a preview saw and missed; and how much output it keeps."""

from __future__ import annotations

import pytest

from agentnb import Rehearsal
from agentnb.state import RehearsalFile

MOST_LINES = 20
DOWNLOADS = "Downloads and runs a program."
MADE = (RehearsalFile(path="m.json", status="created"),)


@pytest.mark.parametrize(
    ("preview", "concern", "summary"),
    [
        (Rehearsal(), "", "Would change nothing."),
        (Rehearsal(exit_code=7), "", "Fails with exit code 7."),
        (Rehearsal(error="It took too long."), "", "Fails: It took too long."),
        (Rehearsal(files=MADE), DOWNLOADS, "Would create m.json."),
        (Rehearsal(), DOWNLOADS, "Changes nothing here, but downloads and runs a program."),
        (
            Rehearsal(connections=("x.org:443",)),
            DOWNLOADS,
            "Changes nothing here, but downloads and runs a program (no network in the preview).",
        ),
        (Rehearsal(connections=("x.org:443",)), "", "Would reach x.org:443 (no network in the preview)."),
        (
            Rehearsal(files=MADE, exit_code=7, connections=("x.org:443", "y:1")),
            "",
            "Fails here: the preview has no network (x.org:443 and 1 more); before that it would create m.json.",
        ),
        (
            Rehearsal(exit_code=7, connections=("x.org:443",)),
            DOWNLOADS,
            "Fails here: the preview has no network (x.org:443); elsewhere it downloads and runs a program.",
        ),
        (Rehearsal(exit_code=1), "Runs x.", "Changes nothing here, but runs x; fails with exit code 1."),
    ],
)
def test_summary_names_what_the_preview_could_not_see(preview: Rehearsal, concern: str, summary: str) -> None:
    assert preview.summary_with(concern) == summary


def test_long_diff_is_folded_with_a_count_of_hidden_lines() -> None:
    diff = "".join(f"+{number}\n" for number in range(10_000))
    preview = Rehearsal(files=(RehearsalFile(path="big.csv", status="created", diff=diff),))
    assert repr(preview).endswith(f"+{MOST_LINES - 1}\n… {10_000 - MOST_LINES:,} more lines")
    html = preview._repr_html_()
    assert "<summary>big.csv: 10,000 lines of difference</summary>" in html
    assert "… 9,500 more lines</pre></details>" in html


def test_long_preview_output_is_cut_with_a_count() -> None:
    rows = [f"{number} {number / 7}" for number in range(100)]
    preview = Rehearsal(result="\n".join(rows), stdout="\n".join([*rows, "done"]))
    text = repr(preview)
    assert f"value: {chr(10).join(rows[:MOST_LINES])}\n… {100 - MOST_LINES} more lines\n" in text
    last = "\n".join([*rows[101 - MOST_LINES :], "done"])
    assert f"printed: … {101 - MOST_LINES} earlier lines\n{last}\n" in text
    wide = " ".join(str(number) for number in range(1000, 2000))
    text = repr(Rehearsal(result=wide, stdout=wide))
    assert f"value: {wide[:399]} … 4,600 more characters\n" in text
    assert f"printed: … 4,600 earlier characters … {wide[-399:]}\n" in text
