"""The magics: ``%agent``, ``%%agent`` and ``%agents``. What they do is loaded when one of them is used first."""

from __future__ import annotations

import difflib
from functools import cached_property
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, cell_magic, line_cell_magic, line_magic, magics_class, no_var_expand

from agentnb.errors import UsageError
from agentnb.host.environment import current_environment
from agentnb.ipython.rewrite import AWAITED_MAGIC
from agentnb.one_at_a_time import imported

if TYPE_CHECKING:
    from agentnb.api.session import Turn
    from agentnb.api.unattended import AwaitableWork
    from agentnb.ipython.config import Agentnb
    from agentnb.ipython.prompt_command import PromptCommand
    from agentnb.ipython.tabs import Tabs
    from agentnb.kernel.rehearsal_result import Rehearsal


@magics_class
class AgentMagics(Magics):
    """The magics of one shell."""

    shell: Any

    def __init__(self, shell: Any, settings: Agentnb, tabs: Tabs) -> None:
        super().__init__(shell)
        self.settings = settings
        self.tabs = tabs
        self._displayed_ids: set[str] = set()
        self.is_loaded_by_chat = False

    @cached_property
    def _prompts(self) -> PromptCommand:
        """Runs prompts; the host and all below it are loaded with it, not with the magics."""
        imported("agentnb.api.start", "agentnb.ipython.prompt_command")
        from agentnb.ipython.config import say
        from agentnb.ipython.prompt_command import PromptCommand

        if self.is_loaded_by_chat:
            why = "%agent works here because the chat is open."
            say(f"{why} To use it without the chat, run %load_ext agentnb first.", warns=False)
        return PromptCommand(self.shell, self.settings, self.tabs, self._displayed_ids)

    @no_var_expand
    @line_cell_magic
    def agent(self, line: str, cell: str | None = None) -> Turn | AwaitableWork:
        """Prompt a coding agent and watch it answer.

        ::

            %agent [options] PROMPT         one line
            turn = %agent [options] PROMPT  the same, and bind the turn

            %%agent [options]               a whole cell as the prompt
            PROMPT ...

        The cell shows the turn while it runs and ends when the turn ends. The kernel's interrupt (or Ctrl-C) cancels
        the turn. The notebook keeps plain Markdown. If nobody can click (nbconvert, papermill, nbval), there is one
        output at the end, and permissions are denied unless you allow them.

        Options, before the prompt only:

        -a, --agent NAME        the agent to talk to; `%agents known` lists them
        --model NAME            the agent's model, by its id or name; it can be changed in an open tab
        -t, --tab NAME          the tab (session) to use; opened if no tab has that name
        -n, --new               open a new tab
        -b, --background        return at once; the turn continues
        -c, --context NAMES     attach variables, files or cells: `-c df,model -c data/a.csv`
        -o, --output NAME       bind the turn to the variable NAME
        --timeout SECONDS       cancel the turn after that long
        --freedom WORD          ask, edit or auto: how freely the agent works; it can be changed in an open tab
        --permissions MODE      ask, allow or deny: how the agent's requests are answered in a new tab
        --verify                verify the notebook before the turn is done; the agent fixes the findings
        --budget TEXT           the limits of the tab: `--budget "200k tokens, $5, 30 min, 20 turns"`
        -k, --kernel            give the agent of a new tab access to this kernel: variables, code, cells
        --                      end of options; the rest is the prompt, even if it begins with a dash

        Errors, without writing a prompt:

        %agent fix              fix the last error of a cell; `%agent fix 3`: that of cell [3]
        %agent explain          explain it; nothing is changed
        %%agent fix             fix it, with more instructions below

        Many inputs, in the background with -b, bound with -o:

        %%agent map df          ask about each row of df: the cell is a template, `{column}` a field; a list's elements
                                are `{input}`. See `agentnb.map`.

        Without -a and -t the prompt goes to the current tab; the first use opens one with the default agent
        (`%config Agentnb.agent = "claude"` sets it).

        Mentions in the prompt attach things for the agent to see:

        @df                     a variable: type, shape, columns, head
        @data/train.csv         a file or folder of the workspace; with spaces: @"my data.csv"
        @cell:3, @output:3      the cell with that number and its outputs, pictures too; the outputs alone
        @plot                   the latest figure
        @cells                  all cells, without their pictures
        @cell, @selection       the active cell; selected text, otherwise the selected cells (with the sidebar open)
        @error, @error:3        the last error, or that of cell [3]: your own frames, their lines and values

        An @ inside a word (an address), in backticks or in a decorator is just an @. Quotes, braces, dollars and
        question marks in a prompt are just text.

        The result is the turn: `turn.text`, `turn.tool_calls`, `turn.plan`, `turn.usage`, `turn.stop_reason`.

        Examples::

            %agent Why does this fit not converge? Look at @model and @df.
            %agent -a claude -t analysis -o turn Plot the residuals of @model.
            %agent -b Write tests for @src/fit.py
        """
        return self._prompts.run(line, cell)

    @no_var_expand
    @line_cell_magic(AWAITED_MAGIC)  # type: ignore[arg-type] # typed for the form without a name
    async def agent_awaited(self, line: str, cell: str | None = None) -> Turn | AwaitableWork:
        """The form of `%agent` in a cell that can await; see `%agent?`."""
        return await self._prompts.run_awaited(line, cell)

    @no_var_expand
    @cell_magic
    def rehearse(self, line: str, cell: str) -> Rehearsal:
        """Show what a cell would do, without doing it.

        ::

            %%rehearse [SECONDS]
            df = df.dropna()
            df.to_csv("clean.csv")

        The cell runs in a copy of this kernel that is thrown away: no file, variable or server is touched. It shows an
        `agentnb.Rehearsal`: variables and files that would change, with diffs, the output and figures, programs and
        addresses. SECONDS is the time limit (5). It needs Linux.
        """
        imported("agentnb.api.start", "agentnb.api.rehearse")
        from agentnb.api.rehearse import rehearse
        from agentnb.kernel.rehearsal_result import SECONDS

        try:
            seconds = float(line) if line.strip() else SECONDS
        except ValueError:
            raise UsageError(f"%%rehearse takes a number of seconds, not {line.strip()!r}.") from None
        return rehearse(cell, seconds=seconds)

    @line_magic
    def agents(self, line: str) -> Any:
        """Manage the agents' tabs.

        ::

            %agents                   the open tabs (the current one is marked)
            %agents list              the same
            %agents known             known agents, and what to type for missing ones
            %agents doctor [NAMES]    examine Jupyter and each agent: missing, too old, not logged in, and what to type
            %agents use NAME          make the tab NAME the one that %agent uses
            %agents new [AGENT] [NAME] [--kernel]  open a tab; with --kernel its agent gets tools for this kernel
            %agents cancel [NAME]     stop the turn that runs in a tab
            %agents close [NAME]      close a tab
            %agents restart [NAME]    restart a tab's agent
            %agents history [WORDS]   the sessions in the log, or those that contain WORDS
            %agents resume ID         reopen one of them; the beginning of its id is enough
            %agents delete ID         delete one of them from the log permanently
            %agents fork [NAME] [AS COPY]  copy a tab: the transcript, and what its agent knows
            %agents kept [AGENT] [CURSOR]  the sessions that an agent itself keeps, a page of them
            %agents open ID [AGENT]   open one of those in a tab
            %agents erase ID [AGENT]  make the agent delete one of those permanently
            %agents logout AGENT      sign an agent out
            %agents changes [NAME]    what a tab's turns changed: files, cells, variables
            %agents undo [TURN]       undo what a turn of the current tab changed: its number (-1: the last), or the
                                      last that can be undone
            %agents redo [TURN]       redo what was undone
            %agents health [NAME]     a tab's agent: process, age, deaths, silence, last output on stderr
            %agents record PATH       record agents that start from now on into a cassette
            %agents record stop       stop recording
            %agents freedom [WORD [NAME]]
            %agents permissions [MODE [NAME]]
                                      how a tab's permission requests are answered; a MODE (ask, allow or deny)
                                      changes that
            %agents policy [NAME]     what agents may do: the rules in force, and the last decisions
            %agents pair              let agents in your terminal use this kernel (`agentnb mcp`)
            %agents unpair            stop that, and close their connections
            %agents serve             let other programs join the conversations (Agent Host Protocol); `agentnb serve
                                      --list` in a terminal shows the address
            %agents serve NAME [RIGHTS]  let one more client connect: watch, drive, approve
            %agents serve stop        stop that, and close their connections
            %agents trust [FOLDER]    let your policy file's allow rules count in FOLDER (default: the workspace)
            %agents untrust [FOLDER]  let them ask there again
            %agents sidebar           show the chat in the sidebar

        NAME is the current tab by default.
        """
        imported("agentnb.api.start", "agentnb.ipython.manage")
        from agentnb.ipython.manage import ALONE, COMMANDS, NEEDED, OTHER_WORDS, commands

        command, _, rest = line.strip().partition(" ")
        if not command:
            command = "list"
        actions = commands()
        action = actions.get(command)
        if action is None:
            close = difflib.get_close_matches(command, actions, n=1) if command != "help" else []
            meant = OTHER_WORDS.get(command) or next(iter(close), None)
            guess = f"Did you mean `%agents {meant}`? " if meant else ""
            hint = f"{guess}It has {', '.join(actions)}. `%agents?` says what each does."
            raise UsageError(f"%agents has no command {command!r}.", hint=hint)
        if command in ALONE and rest.strip():
            raise UsageError(
                f"%agents {command} takes nothing more, not {rest.strip()!r}.", hint="`%agents?` lists all commands."
            )
        if command in NEEDED and not rest.strip():
            what, hint = NEEDED[command]
            raise UsageError(f"%agents {command} needs {what}.", hint=hint)
        words = rest.strip()
        return action(self.tabs, words.strip("\"'") if command in COMMANDS else words)

    def show(self, turn: Turn) -> None:
        """Display *turn* where it is the value of a cell, unless that cell has shown it already."""
        self._prompts.show(turn)

    def forget_shown(self, *_: Any) -> None:
        """A new cell begins: nothing has been shown in it. What an agent runs within one is no cell."""
        if not current_environment().job_queue.is_running_job:
            self._displayed_ids.clear()
