from random import Random

import pytest

from barnabas.base.ids import TopicPartition
from barnabas.storage.names import deleted_directory, file_name, offset_of, parse_directory


def test_a_segment_file_carries_twenty_digits() -> None:
    assert file_name(1320, ".timeindex") == "00000000000000001320.timeindex"
    assert offset_of("00000000000000001320.log.deleted") == 1320
    assert offset_of("leader-epoch-checkpoint") is None


@pytest.mark.parametrize(
    ("name", "topic", "partition", "mark"),
    [
        ("t-0", "t", 0, ""),
        ("my-topic.x-12", "my-topic.x", 12, ""),
        ("__consumer_offsets-49", "__consumer_offsets", 49, ""),
        ("t-3.0123456789abcdef0123456789abcdef-delete", "t", 3, "delete"),
        ("a.b-3.0123-future", "a.b", 3, "future"),
        ("t-3.0123-stray", "t", 3, "stray"),
    ],
)
def test_a_directory_name_contains_its_partition(name: str, topic: str, partition: int, mark: str) -> None:
    parsed = parse_directory(name)
    assert parsed is not None
    assert (*parsed.topic_partition, parsed.mark) == (topic, partition, mark)


@pytest.mark.parametrize("name", ["x", "-0", "t-", "t-x", "t--delete", ".barnabas", "t-3-delete"])
def test_other_directories_are_no_partitions(name: str) -> None:
    assert parse_directory(name) is None


def test_a_doomed_name_fits_the_file_system_and_keeps_the_partition() -> None:
    name = deleted_directory(TopicPartition("t" * 249, 123), Random(1))
    assert len(name) == 255
    parsed = parse_directory(name)
    assert parsed is not None
    assert (parsed.topic_partition.partition, parsed.mark) == (123, "delete")
