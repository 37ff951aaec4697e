"""The source of packages, for questions that only it answers: found where it is installed, or fetched and unpacked."""
