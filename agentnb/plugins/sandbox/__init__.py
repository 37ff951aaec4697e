"""Closing a process in: Landlock, seccomp and namespaces of Linux, by system calls; only the standard library."""
