"""``agentnb eval``: agents do tasks of one's own, and a check says which answers are right."""
