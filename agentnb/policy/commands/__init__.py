"""Commands: read as a shell reads them, and rated."""
