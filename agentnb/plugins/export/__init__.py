"""Exports a conversation as a document: Markdown, one HTML page, JSON lines, a notebook."""
