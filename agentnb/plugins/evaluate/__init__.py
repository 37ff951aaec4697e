"""``agentnb eval``: agents work on the user's own tasks, and a check decides which answers are right."""
