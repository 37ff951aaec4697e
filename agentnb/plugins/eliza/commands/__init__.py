"""Everything that eliza does on command, one small coroutine each."""
