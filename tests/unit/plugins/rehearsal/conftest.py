from tests.unit.host.test_freedom import host_of, work

__all__ = ["host_of", "work"]
