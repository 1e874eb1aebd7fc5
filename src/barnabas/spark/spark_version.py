"""Which versions of PySpark can do what: its data source API for Python has grown.

Batches work from 4.0 on. Writing streams needs Arrow writers for streams (4.1), reading them needs readers
that are given their start (4.2): without it a source cannot limit a batch, nor see loss before Spark writes
a batch down. An older version is refused with the reason, before anything is read or written.
"""

import pyspark

STREAM_WRITES = (4, 1)
STREAM_READS = (4, 2)


class OldSpark(Exception):
    """This version of PySpark lacks what the query needs."""


def require(needed: tuple[int, int], purpose: str) -> None:
    """Raises OldSpark."""
    found = pyspark.__version__
    if tuple(int(part) for part in found.split(".")[:2]) < needed:
        wanted = ".".join(map(str, needed))
        raise OldSpark(
            f"{purpose} with format('barnabas') needs PySpark {wanted} or newer; this is {found}. Batches "
            "(spark.read, df.write) work with it"
        )
