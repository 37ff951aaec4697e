"""What turns change: snapshots round each turn, the changes between them, undo, redo and keep."""
