"""Which tests run in one process and which of them first, when `make test` spreads them over several.

A file stays together, for what its tests share. All files that share a Spark session are one piece of work: a
session costs ten seconds and its first queries as much again, and two of them fight for the cores. What takes
longest begins first, so that no process is left with it in the end; the rest is mixed, since some tests
compute and others wait.
"""

from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

_OF_THE_SESSION = ("tests/integration/spark/", "tests/integration/pipelines/")
_BY_THEMSELVES = ("test_sink_kills.py", "test_front_doors.py")
"""They start drivers and clusters of their own."""


class OneSession(LoadFileScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "spark" if _shares_the_session(file) else file


def turn(nodeid: str) -> int:
    """The lower, the sooner; those of one turn are in any order."""
    file = nodeid.split("::", 1)[0]
    if _shares_the_session(file):
        return 0
    return 1 if file.endswith(_BY_THEMSELVES) else 2


def _shares_the_session(file: str) -> bool:
    return file.startswith(_OF_THE_SESSION) and not file.endswith(_BY_THEMSELVES)
