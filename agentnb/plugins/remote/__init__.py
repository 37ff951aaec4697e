"""Agents on other machines: a program that connects to one and speaks for it on stdin and stdout."""
