"""The changes of turns: snapshots around each turn, the changes between them, undo, redo and keep."""
