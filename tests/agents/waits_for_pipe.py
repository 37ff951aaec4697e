"""Prints if it sees the end of a pipe while a fork runs that was made when the pipe was open."""

import os

from agentnb.plugins.rehearsal.code import begin_code

read, write = os.pipe()
ends, ending = os.pipe()
wait = begin_code(lambda _: len(os.read(ends, 1)), os.curdir, descriptors=(ends,))
os.close(write)
print(os.read(read, 1))
os.close(ending)
rehearsal = wait()
print(rehearsal.way, rehearsal.error)
