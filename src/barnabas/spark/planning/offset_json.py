"""A stream's offsets as Spark keeps them in its checkpoint: `{"orders":{"0":5}}`, the connector's own form.

Spark compares offsets as texts, so topics and partitions are always in the same order: an idle stream whose
keys move about would run an empty batch for ever. A checkpoint of Spark's connector can be continued.

The first batch's end carries the offsets it began at, under a key that no topic can have: when that batch
runs again Spark asks for the initial offsets anew, and `latest` or a time would give others by then.
"""

from collections.abc import Mapping
from typing import Final

from barnabas.spark.planning import Offsets, TopicPartition

INITIAL: Final = "@initial"

OffsetDict = dict[str, dict[str, int]]
"""What json makes of an offset; under INITIAL, the keys are `topic-partition`."""


class BadOffset(ValueError):
    """A checkpoint holds something else than offsets by topic and partition."""


def offset_dict(
    offsets: Mapping[TopicPartition, int], initial: Mapping[TopicPartition, int] | None = None
) -> OffsetDict:
    """Sorted: by topic, then by partition as a number."""
    written: OffsetDict = {}
    if initial is not None:
        written[INITIAL] = {f"{topic}-{number}": initial[topic, number] for topic, number in sorted(initial)}
    for topic, number in sorted(offsets):
        written.setdefault(topic, {})[str(number)] = offsets[topic, number]
    return written


def offsets_of(written: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Without the initial ones. Raises BadOffset."""
    try:
        return {
            (topic, int(number)): int(offset)
            for topic, partitions in written.items()
            if topic != INITIAL
            for number, offset in partitions.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise BadOffset(f'Expected e.g. {{"topicA":{{"0":23,"1":-1}}}}, got {written}') from None


def initial_offsets(written: Mapping[str, Mapping[str, int]]) -> Offsets | None:
    """Those the first batch began at; None in every other offset."""
    if INITIAL not in written:
        return None
    found: Offsets = {}
    for name, offset in written[INITIAL].items():
        topic, _, number = name.rpartition("-")
        found[topic, int(number)] = offset
    return found
