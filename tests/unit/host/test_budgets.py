"""Budgets, with agents that report what they spend: a notice at 80 %, at the limit a question or an error."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import BudgetExceeded, InputQuestion, Session, TurnCancelled, UsageError
from tests.unit.api.conftest import AGENTS, PATIENCE, KernelSettings
from tests.unit.api.test_history import Folder
from tests.unit.host.conftest import inputs, notices
from tests.unit.host.kernels import Kernel, host_with_policy

SPENDS = [sys.executable, str(AGENTS / "spends.py")]
BEGIN = """import agentnb, json, os, sys
def say(turn):
    try:
        print(turn.wait(60).stop_reason, flush=True)
    except agentnb.BudgetExceeded as error:
        print("BudgetExceeded:", error, flush=True)
def spent():
    return getattr(agentnb.usage("agent").total, "costs", {})
def until_spent(dollars):
    while spent() != {"USD": dollars}:
        pass
    print("spent", flush=True)
session = agentnb.start("spends", budget=os.environ.get("BUDGET"))
"""


class Spender(Kernel):
    """A kernel with its own log, settings and policy files, whose agents spend."""

    def __init__(self, folder: Path) -> None:
        policy = folder / "user.toml"
        super().__init__(host_with_policy(policy, folder, site=folder / "site.toml", log=folder / "log.db"), folder)
        self.settings_here = KernelSettings()
        self.connect(settings=self.settings_here)

    def spend(self, *words: str, **options: Any) -> Session:
        """Starts a session with the agent that spends as its prompts say."""
        return self.start("spends", *words, spec={"counts_tokens": "turn"}, **options)

    def question(self, session: Session) -> InputQuestion:
        self.until(session, lambda: inputs(session))
        return inputs(session)[0]


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Spender]:
    kernel = Spender(tmp_path)
    yield kernel
    kernel.close()


def folder(tmp_path: Path) -> Folder:
    """Returns a folder for scripts whose settings know the agent."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/spends.toml").write_text(f'name = "spends"\ntitle = "Spends"\ncommand = {json.dumps(SPENDS)}\n')
    return Folder(tmp_path)


LIMITS = [
    ("$3", "cost 1;cost 2.5;wait", "This conversation's budget of $3.00 is used up ($3.50)."),
    ("1k tokens", "context 1200;wait", "This conversation's budget of 1,000 tokens is used up (1,200 tokens)."),
    ("1 s", "wait", "This conversation's budget of 1 s is used up (1 s)."),
]


@pytest.mark.parametrize(("budget", "prompt", "message"), LIMITS)
def test_unattended_turn_fails_at_the_limit_and_names_it(
    kernel: Spender, budget: str, prompt: str, message: str
) -> None:
    """The agent is cancelled in mid-turn; its work stays; the next prompt is not sent."""
    session = kernel.spend(budget=budget)
    turn = session.prompt(prompt)
    with pytest.raises(BudgetExceeded) as raised:
        turn.wait(PATIENCE)
    assert raised.value.message.partition("(")[0] == message.partition("(")[0]
    assert "session.budget" in str(raised.value)
    assert (turn.text, raised.value.turn) == (f"did {prompt}", turn)
    later = session.prompt("cost 1")
    with pytest.raises(BudgetExceeded):
        later.wait(PATIENCE)
    assert later.text == ""
    session.budget = "$100, 1M tokens, 1 h"
    assert session.prompt("cost 1").wait(PATIENCE).text == "did cost 1"


def test_usage_reported_at_turn_end_limits_the_next_prompt(kernel: Spender) -> None:
    """One notice and one warning at 80 %; a prompt that would begin over the limit is not sent."""
    session = kernel.spend(budget="1000 tokens, 3 turns")
    session.prompt("tokens 300 50").wait(PATIENCE)
    assert notices(session) == []
    with pytest.warns(UserWarning, match="This conversation's budget: 900 of 1,000 tokens used"):
        session.prompt("tokens 500 50").wait(PATIENCE)
    assert notices(session) == ["This conversation's budget: 900 of 1,000 tokens used."]
    assert session.state.meta == {"budget": {"limits": "1000 tokens, 3 turns", "line": "90% of 1,000 tokens used"}}
    with pytest.warns(UserWarning, match="3 of 3 turns"):
        session.prompt("cost 1").wait(PATIENCE)
    session.budget = "3 turns"
    with pytest.raises(BudgetExceeded, match="budget of 3 turns is used up"):
        session.prompt("tokens 1 1").wait(PATIENCE)


def test_question_at_the_limit_extends_the_budget_or_stops(kernel: Spender) -> None:
    """The turn waits for the answer; a prompt waits, too; cancelling the turn answers the question."""
    kernel.attend()
    session = kernel.spend(budget="$2")
    turn = session.prompt("cost 2;wait")
    question = kernel.question(session)
    assert question.message == "This conversation's budget of $2.00 is used up ($2.00)."
    (choice,) = question.questions or ()
    assert [each.label for each in choice.options] == ["Go on (+$2.00)", "Stop"]  # type: ignore[union-attr]
    assert (turn.state, turn.text) == ("running", "did cost 2;wait")
    question.answer({"budget": "go on"})
    assert turn.wait(PATIENCE).text.startswith("did cost 2;waitwent on")
    turn = session.prompt("cost 2.5;wait")
    kernel.question(session).answer({"budget": "stop"})
    assert (turn.wait(PATIENCE).stop_reason, turn.text) == ("cancelled", "did cost 2.5;wait")
    turn = session.prompt("cost 1")
    kernel.question(session).answer({"budget": "stop"})
    with pytest.raises(TurnCancelled):
        turn.wait(PATIENCE).raise_for_error()
    assert turn.text == ""
    turn = session.prompt("cost 1")
    kernel.question(session)
    turn.cancel()
    assert (turn.wait(PATIENCE).state, inputs(session)) == ("cancelled", [])


def test_agent_that_does_not_stop_at_the_limit_is_ended(kernel: Spender) -> None:
    session = kernel.spend(budget="$1")
    kernel.hurry(session, cancel=0.2)
    with pytest.raises(BudgetExceeded, match=r"\$1.00 is used up"):
        session.prompt("cost 1;deaf").wait(PATIENCE)
    session.budget = "$9"
    assert session.prompt("cost 1").wait(PATIENCE).text == "did cost 1"


def test_settings_and_policy_files_all_limit_the_budget(kernel: Spender) -> None:
    """The conversation's own budget replaces the setting's; the administrator's limit asks nobody."""
    kernel.attend()
    kernel.settings_here.values["budget"] = "1 turn"
    session = kernel.spend()
    with pytest.warns(UserWarning, match="1 of 1 turn used"):
        session.prompt("cost 1").wait(PATIENCE)
    turn = session.prompt("cost 1")
    assert kernel.question(session).message == "This conversation's budget (settings) of 1 turn is used up."
    turn.cancel()
    session.budget = "90 turns"
    session.prompt("cost 1").wait(PATIENCE)
    (kernel.folder / "user.toml").write_text('budget = "$2"\n')
    turn = session.prompt("cost 1")
    assert str(kernel.question(session).message).startswith("This conversation's budget (your policy file) of $2.00")
    turn.cancel()
    (kernel.folder / "user.toml").unlink()
    (kernel.folder / ".agentnb").mkdir()
    (kernel.folder / ".agentnb/policy.toml").write_text('budget = "1k tokens"\nbudget_day = "$2"\n')
    turn = session.prompt("cost 1")
    assert str(kernel.question(session).message).startswith("Today's budget (the project's policy file) of $2.00")
    turn.cancel()
    (kernel.folder / "site.toml").write_text('budget = "$1.50"\n')
    with pytest.raises(BudgetExceeded, match=r"\(set by your administrator\) of \$1.50 is used up .*site\.toml"):
        session.prompt("cost 1").wait(PATIENCE)
    assert inputs(session) == []


WRONG = ["lots", "-5 USD", "nan tokens", "200k", "0 turns", "1.5 turns", "$5, 3 EUR", "5 dollars", "9" * 40]


def test_invalid_budget_is_refused_with_the_wrong_part(kernel: Spender) -> None:
    """Refused when it is given; in a file edited by hand it lets no turn begin without a question."""
    session = kernel.spend()
    for text in WRONG:
        with pytest.raises(UsageError, match=r"^budget: .*200k tokens, \$5"):
            agentnb.start("eliza", budget=text)
        with pytest.raises(UsageError):
            session.budget = text
        for name in ("user.toml", "site.toml"):
            (kernel.folder / name).write_text(f'headless = "deny"\nbudget_day = "{text}"\n')
            with pytest.raises(BudgetExceeded, match=rf"A budget cannot be read. .*{name}, line 2: budget_day"):
                session.prompt("cost 1").wait(PATIENCE)
            (kernel.folder / name).unlink()
        assert session.prompt("cost 1").wait(PATIENCE).text == "did cost 1"


@pytest.mark.parametrize("text", ['budget = "lots"', "budget = -1", "budget_day = [1]", 'budget_day = "$5"\n]]]'])
def test_invalid_budget_in_settings_blocks_turns_until_confirmed(
    kernel: Spender, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A typing error lifts no limit; the error names the file and the part."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path))
    (tmp_path / "settings.toml").write_text(f"{text}\n")
    session = kernel.spend()
    with pytest.raises(BudgetExceeded, match=r"The setting budget\w* cannot be read. .*settings.toml"):
        session.prompt("cost 1").wait(PATIENCE)
    kernel.attend()
    turn = session.prompt("cost 1")
    kernel.question(session).answer({"budget": "go on"})
    assert turn.wait(PATIENCE).text == "did cost 1"
    assert session.prompt("cost 1").wait(PATIENCE).text == "did cost 1"


def test_unreported_usage_is_noticed_once_and_other_limits_hold(kernel: Spender) -> None:
    """Tokens, cost, or another currency."""
    session = kernel.spend("silent", budget="$1, 1k tokens, 2 turns")
    session.prompt("cost 5;tokens 5000 1").wait(PATIENCE)
    assert notices(session) == [
        "spends does not report cost: the limit of $1.00 is not enforced; time and turns are.",
        "spends does not report tokens: the limit of 1,000 tokens is not enforced; time and turns are.",
    ]
    before = len(notices(session))
    with pytest.warns(UserWarning, match="2 of 2 turns"):
        session.prompt("cost 5").wait(PATIENCE)
    assert len(notices(session)) == before + 1
    with pytest.raises(BudgetExceeded, match="2 turns"):
        session.prompt("cost 1").wait(PATIENCE)
    euros = kernel.spend("currency=EUR", budget="$1")
    euros.prompt("cost 5").wait(PATIENCE)
    assert notices(euros)[0].endswith(
        "reports its cost in EUR, not USD: the limit of $1.00 is not enforced; time and turns are."
    )


def test_daily_budget_fails_closed_without_a_writable_log(tmp_path: Path) -> None:
    """With the log off or not writable; the message says what to do."""
    here = folder(tmp_path)
    (tmp_path / "settings.toml").write_text('budget_day = "$5"\n')
    script = f"{BEGIN}say(session.prompt('cost 1'))"
    off = here.run(script, AGENTNB_CONFIG_DIR=str(tmp_path), AGENTNB_LOG="off").stdout
    assert "Today's budget of $5.00 cannot be counted. The session log is off (AGENTNB_LOG=off)" in off
    bad = here.run(script, AGENTNB_CONFIG_DIR=str(tmp_path), AGENTNB_LOG=str(tmp_path / "settings.toml/log.db")).stdout
    assert "cannot be counted. The session log" in bad


def test_budget_survives_a_kernel_that_is_killed(tmp_path: Path) -> None:
    """For conversation and day, after kill -9 in mid-turn; a deleted conversation still counts for its day."""
    here = folder(tmp_path)
    env = {**os.environ, "PYTHONPATH": str(Path.cwd()), "AGENTNB_LOG": str(here.log), "BUDGET": "$3"}
    env["AGENTNB_CONFIG_DIR"] = str(tmp_path)
    script = f"{BEGIN}turn = session.prompt('cost 2;wait'); print(session.tab_id)\nuntil_spent(2.0)\nturn.wait()"
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True
    ) as lost:
        assert lost.stdout is not None
        tab = lost.stdout.readline().strip()
        assert lost.stdout.readline() == "spent\n"
        lost.send_signal(signal.SIGKILL)
    again = f"import agentnb, json\nsession = agentnb.resume({tab!r})\nprint(session.budget)\n"
    again += (
        "\n".join(BEGIN.splitlines()[1:-1]) + "\nsay(session.prompt('cost 1.5;wait'))\nsay(session.prompt('cost 1'))"
    )
    out = here.run(again, AGENTNB_CONFIG_DIR=str(tmp_path)).stdout.splitlines()
    assert out[0] == "$3"
    assert out[1].startswith("BudgetExceeded: This conversation's budget of $3.00 is used up ($3.50)")
    assert out[2].startswith("BudgetExceeded")
    (tmp_path / "settings.toml").write_text('budget_day = "$3"\n')
    day = f"{BEGIN}say(session.prompt('cost 1'))\n"
    assert (
        "Today's budget (settings) of $3.00 is used up ($3.50)"
        in here.run(day, AGENTNB_CONFIG_DIR=str(tmp_path)).stdout
    )
    forgotten = f"import agentnb; agentnb.forget({tab!r})\n{BEGIN}print(spent())\nsay(session.prompt('cost 1'))"
    out = here.run(forgotten, AGENTNB_CONFIG_DIR=str(tmp_path)).stdout.splitlines()
    assert (out[0], "($3.50)" in out[1]) == ("{}", True)


def test_daily_budget_resets_only_at_local_midnight(tmp_path: Path) -> None:
    """Usage of two hours ago counts by local time; usage dated "tomorrow" always counts."""
    here, now = folder(tmp_path), time.time()
    here.run(f"{BEGIN}for cost in (4, 2): say(session.prompt(f'cost {{cost}}'))", AGENTNB_CONFIG_DIR=str(tmp_path))
    with closing(sqlite3.connect(here.log)) as log, log:
        for number, hours in enumerate((-2, 30)):
            moment = int((now + hours * 3600) * 1000)
            log.execute("UPDATE usage SET ended_at = ? WHERE number = ?", (moment, number))
    (tmp_path / "settings.toml").write_text('budget_day = "$6"\n')
    script = f"{BEGIN}say(session.prompt('cost 1'))"
    hour = time.gmtime(now).tm_hour
    for local, says in (
        (1, "end_turn\n"),
        (12, "BudgetExceeded: Today's budget (settings) of $6.00 is used up ($7.00)"),
    ):
        zone = f"XXX{(hour - local) % 24:+d}"  # POSIX: the offset added to local time to get UTC
        assert here.run(script, AGENTNB_CONFIG_DIR=str(tmp_path), TZ=zone).stdout.startswith(says), zone


def test_two_kernels_stop_at_a_shared_daily_limit(tmp_path: Path) -> None:
    """Each counts the usage of the other's running turn."""
    here = folder(tmp_path)
    (tmp_path / "settings.toml").write_text('budget_day = "$5"\n')
    go = tmp_path / "go"
    script = f"{BEGIN}turn = session.prompt('cost 2;look {go};cost 1;wait')\nuntil_spent(4.0)\nsay(turn)"
    env = {
        **os.environ,
        "PYTHONPATH": str(Path.cwd()),
        "AGENTNB_LOG": str(here.log),
        "AGENTNB_CONFIG_DIR": str(tmp_path),
    }
    command = [sys.executable, "-c", script]
    kernels = [subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [each.stdout.readline() for each in kernels if each.stdout] == ["spent\n"] * 2
    go.touch()
    ended = [each.communicate(timeout=PATIENCE)[0].splitlines()[-1] for each in kernels]
    assert all(each.startswith("BudgetExceeded: Today's budget (settings) of $5.00 is used up") for each in ended), (
        ended
    )


def test_cassette_replay_uses_no_budget(tmp_path: Path) -> None:
    """Recorded with a budget, replayed with a smaller one; the day's usage stays the same."""
    here = folder(tmp_path)
    (tmp_path / "settings.toml").write_text('budget_day = "$1000"\n')
    script = f"{BEGIN}say(session.prompt('cost 5'))\nsession.close()\nprint(spent())"
    env = {"AGENTNB_CASSETTE": str(tmp_path / "a.cassette.jsonl"), "AGENTNB_CONFIG_DIR": str(tmp_path)}
    spent = "end_turn\n{'USD': 5.0}\n"
    assert here.run(script, **env, AGENTNB_CASSETTE_MODE="record").stdout == spent
    (tmp_path / "settings.toml").write_text('budget_day = "$1"\nbudget = "$1"\n')
    assert here.run(script, **env, AGENTNB_CASSETTE_MODE="replay", BUDGET="$1").stdout == spent
