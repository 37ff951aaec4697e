"""The source of packages, for questions that only it answers: found where it is installed, or fetched and unpacked.

Nothing of a package is imported or run.
"""

from agentnb.package_research.findings import Finding, Research, read_findings
from agentnb.package_research.source import PackageSource, installed_source

__all__ = ["Finding", "PackageSource", "Research", "installed_source", "read_findings"]
