"""The built-in agent: deterministic and offline.

Without a slash command it answers like a patient listener (`doctor`). With one (`/help` lists them) it does something
that agents do: stream, think, plan, call tools, ask, read, write, run, fail, hang.
"""
