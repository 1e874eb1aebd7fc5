"""Names of partitions: `source-3` is partition 3 of the topic `source`."""


def key_of(topic: str | None, partition: int | None) -> str:
    return f"{topic}-{partition}"


def partition_of(key: str) -> tuple[str, int]:
    topic, _, number = key.rpartition("-")
    return topic, int(number)
