"""Help while the user types: an edit of one cell from a prompt, and completions in cells."""
