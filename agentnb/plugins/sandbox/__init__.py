"""Confines a process with Linux's Landlock, seccomp and namespaces, by system calls, with only the standard library."""
