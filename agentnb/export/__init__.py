"""Export: a conversation as a document: Markdown, one HTML page, JSON lines, a notebook.

`sources` finds the conversation (a notebook, a cassette, a session that was kept); `page` makes the HTML; `documents`
the rest.
"""
