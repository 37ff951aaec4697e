"""Approve from the phone: a page that answers questions, and the codes that open it."""
