"""The source of packages, to answer questions from: found where it is installed, or downloaded and unpacked."""
