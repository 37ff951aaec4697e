"""Shows the conversations of another kernel that is served."""
