"""From what the user said to offsets: how brokers are asked, as a function that the caller gives.

`Ask` maps partitions to timestamps (or LATEST, EARLIEST) and answers with offsets, -1 where no record is
that young. Offsets may stay unbound (LATEST, EARLIEST): a batch query binds them when its tasks run, as
Spark's connector does, so that a DataFrame used twice sees what has arrived in between.
"""

from collections.abc import Callable, Mapping

from barnabas.spark.planning import Offsets, TopicPartition
from barnabas.spark.planning.limits import EARLIEST, LATEST

Ask = Callable[[Mapping[TopicPartition, int]], Mapping[TopicPartition, int]]

NO_MATCH = -1


def bound(offsets: Mapping[TopicPartition, int], ask: Ask) -> Offsets:
    """No EARLIEST or LATEST is left."""
    unbound = {place: offset for place, offset in offsets.items() if offset in (EARLIEST, LATEST)}
    found = ask(unbound) if unbound else {}
    return {place: found.get(place, offset) for place, offset in offsets.items()}
