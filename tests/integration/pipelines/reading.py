"""What a pipeline wrote: records of a topic that are committed, rows of a table as others read them."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import deltalake
import pandas as pd
from confluent_kafka import Consumer, Message, TopicPartition
from tests.patience import PATIENCE


class Record(NamedTuple):
    partition: int
    offset: int
    key: bytes
    value: bytes
    timestamp: tuple[int, int]
    headers: dict[str, bytes]


def _record(message: Message) -> Record:
    raw: Any = message
    headers = dict(raw.headers() or [])
    return Record(raw.partition(), raw.offset(), raw.key(), raw.value(), raw.timestamp(), headers)


def records(bootstrap_server: str, topic: str) -> list[Record]:
    """Every committed record of a topic, partition by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_server,
            "group.id": "tests",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    try:
        partitions = sorted(consumer.list_topics(topic).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        found: list[Record] = []
        open_ends: set[int | None] = set(partitions)
        while open_ends:
            message = consumer.poll(PATIENCE)
            assert message is not None, f"{topic}: no answer"
            if message.error() is None:
                found.append(_record(message))
            else:
                open_ends.discard(message.partition())
        return found
    finally:
        consumer.close()


def values(bootstrap_server: str, topic: str) -> pd.DataFrame:
    """The JSON values of a topic, one row each."""
    rows: list[dict[str, Any]] = [json.loads(each.value) for each in records(bootstrap_server, topic)]
    frame = pd.DataFrame(rows)
    for column in frame.columns.intersection(["window_start", "window_end", "start", "end"]):
        frame[column] = pd.to_datetime(frame[column], utc=True, format="ISO8601")
    return frame


def table(warehouse: Path, name: str) -> pd.DataFrame:
    """By delta-rs itself, or by pandas for a table of plain files."""
    if (warehouse / name / "_delta_log").exists():
        return deltalake.DeltaTable(warehouse / name).to_pandas()
    return pd.read_parquet(warehouse / name)
