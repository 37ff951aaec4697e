"""Code intelligence for a notebook and its workspace: definition, references, hover, completion, errors, renaming."""
