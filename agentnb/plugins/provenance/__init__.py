"""Who wrote which line of a notebook: `agentnb provenance`, `agentnb.provenance`, the mark at the cell."""
