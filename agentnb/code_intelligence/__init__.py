"""Code intelligence for a notebook and its workspace: definition, references, hover, completion, errors, renaming.

The cells are one module, in the order in which they ran (:mod:`agentnb.code_intelligence.notebook_module`); places are
told by cell, line and column. jedi does the work, in this process (:mod:`agentnb.code_intelligence.jedi_analysis`);
what no text says, the types of the live variables say (:mod:`agentnb.code_intelligence.live_names`). Where the user has
chosen a language server, it finds problems and uses (:mod:`agentnb.code_intelligence.language_server_answers`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.one_at_a_time import names_at_first_use

if TYPE_CHECKING:
    from agentnb.code_intelligence.records import CodeLocation as CodeLocation
    from agentnb.code_intelligence.records import Completion as Completion
    from agentnb.code_intelligence.records import Description as Description
    from agentnb.code_intelligence.records import Diagnostic as Diagnostic
    from agentnb.code_intelligence.records import Renaming as Renaming
    from agentnb.code_intelligence.records import TextChange as TextChange
else:
    __getattr__, __dir__ = names_at_first_use(
        __name__,
        {
            "CodeLocation": "agentnb.code_intelligence.records",
            "Completion": "agentnb.code_intelligence.records",
            "Description": "agentnb.code_intelligence.records",
            "Diagnostic": "agentnb.code_intelligence.records",
            "Renaming": "agentnb.code_intelligence.records",
            "TextChange": "agentnb.code_intelligence.records",
        },
    )
