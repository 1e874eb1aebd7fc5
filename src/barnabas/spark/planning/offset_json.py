"""A stream's offsets as Spark keeps them in its checkpoint: `{"orders":{"0":5}}`, the connector's own form.

Spark compares offsets as texts, so topics and partitions are always in the same order: an idle stream whose
keys move about would run an empty batch for ever. A checkpoint of Spark's connector can be continued, and
one of ours by Spark's connector: what else an offset says is in the names of topics that cannot exist (no
topic has a `@` or a space in its name) and that have no partitions, which the connector reads as nothing.

- `"@ids orders=<id>,...": {}`: the ids of the topics. A topic that was created anew has another.
- `"@initial orders-0=5,...": {}`: where the first batch began; only in the end of the first batch. When
  that batch runs again, Spark requests the initial offsets again. `latest` or a timestamp would then give
  other offsets.
"""

from collections.abc import Mapping
from typing import Final

from barnabas.spark.planning import Offsets, TopicPartition

IDS: Final = "@ids"
INITIAL: Final = "@initial"

OffsetDict = dict[str, dict[str, int]]
"""What json makes of an offset."""
TopicIds = Mapping[str, str]
"""By name; topics of brokers without topic ids are missing."""


class BadOffset(ValueError):
    """A checkpoint holds something else than offsets by topic and partition."""


def offset_dict(
    offsets: Mapping[TopicPartition, int],
    initial: Mapping[TopicPartition, int] | None = None,
    ids: TopicIds | None = None,
) -> OffsetDict:
    """Sorted: by topic, then by partition as a number."""
    written: OffsetDict = {}
    named = {topic: ids[topic] for topic, _ in sorted(offsets) if topic in ids} if ids else {}
    if named:
        written[_packed(IDS, named)] = {}
    if initial is not None:
        numbered = {f"{topic}-{number}": str(initial[topic, number]) for topic, number in sorted(initial)}
        written[_packed(INITIAL, numbered)] = {}
    for topic, number in sorted(offsets):
        written.setdefault(topic, {})[str(number)] = offsets[topic, number]
    return written


def offsets_of(written: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Of topics alone. Raises BadOffset."""
    try:
        return {
            (topic, int(number)): int(offset)
            for topic, partitions in written.items()
            if not topic.startswith("@")
            for number, offset in partitions.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise BadOffset(f'Expected e.g. {{"topicA":{{"0":23,"1":-1}}}}, got {written}') from None


def initial_offsets(written: Mapping[str, Mapping[str, int]]) -> Offsets | None:
    """Those the first batch began at; None in every other offset. Raises BadOffset."""
    packed = _unpacked(written, INITIAL)
    if packed is None:
        return None
    found: Offsets = {}
    try:
        for name, offset in packed.items():
            topic, _, number = name.rpartition("-")
            found[topic, int(number)] = int(offset)
    except ValueError:
        raise BadOffset(f"Expected {INITIAL} topic-0=5, got {packed}") from None
    return found


def topic_ids_of(written: Mapping[str, Mapping[str, int]]) -> TopicIds:
    """Empty in the offsets of Spark's connector."""
    return _unpacked(written, IDS) or {}


def _packed(kind: str, pairs: Mapping[str, str]) -> str:
    return f"{kind} " + ",".join(f"{name}={value}" for name, value in pairs.items())


def _unpacked(written: Mapping[str, Mapping[str, int]], kind: str) -> dict[str, str] | None:
    for key in written:
        if key.startswith(f"{kind} "):
            pairs = key.removeprefix(f"{kind} ").split(",")
            return {name: value for pair in pairs if pair for name, _, value in [pair.partition("=")]}
    return None
