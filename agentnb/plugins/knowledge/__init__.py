"""Knowledge for agents: skills of packages, research in their source, code intelligence."""
