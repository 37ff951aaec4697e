"""The plug-ins that come with agentnb: each is a package found by the entry-point group `agentnb.plugins`."""
