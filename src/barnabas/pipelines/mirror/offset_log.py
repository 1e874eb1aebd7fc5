"""The topic of stretches at the target: what the mirror remembers of offsets, for itself and for others.

One partition, one record per batch and partition; the key is `topic/partition`. Records live as long as the
topic's own settings say, seven days unless somebody created it otherwise.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, TopicPartition

from barnabas.client.admin.offsets import READ_COMMITTED, end_offsets, start_offsets
from barnabas.client.admin.topics import create_topic, list_topics
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError
from barnabas.pipelines.mirror.copying import write
from barnabas.pipelines.mirror.offset_map import OffsetMap, Stretch, of_json, to_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WEEK_MS = 7 * 24 * 3600 * 1000
_PATIENCE = 30.0
_AT_THE_END = "_PARTITION_EOF"


class OffsetLog:
    def __init__(self, bootstrap_server: str, topic: str) -> None:
        self._bootstrap_server: str = bootstrap_server
        self._topic: str = topic
        self._position: int = 0
        self.map: OffsetMap = OffsetMap()

    def ensure(self, cluster: Cluster) -> None:
        if self._topic in {topic.name for topic in list_topics(cluster)}:
            return
        try:
            create_topic(cluster, self._topic, partitions=1, configs={"retention.ms": str(_WEEK_MS)})
        except BrokerError as error:
            if error.name != "topic_already_exists":
                raise

    def append(
        self,
        spark: "SparkSession",
        stretches: Mapping[tuple[str, int], Stretch],
        application: str,
        batch: int,
    ) -> None:
        rows = [
            (f"{place[0]}/{place[1]}", to_json(place, stretch), self._topic, 0)
            for place, stretch in sorted(stretches.items())
        ]
        frame = spark.createDataFrame(rows, "key string, value string, topic string, partition int").coalesce(
            1
        )
        write(frame, self._bootstrap_server, f"{application}-offsets", batch)

    def read(self, cluster: Cluster) -> OffsetMap:
        """Take in what is new since the last time. Raises ClientError, or ConnectionError."""
        place = (self._topic, 0)
        start = max(self._position, start_offsets(cluster, [place])[place])
        # Not beyond what is committed: a stretch that is passed over would never be looked at again, and its
        # offsets would be translated to those of the next one.
        end = end_offsets(cluster, [place], isolation=READ_COMMITTED)[place]
        if start < end:
            for value in self._values(start, end):
                self.map.add(*of_json(value))
            self._position = end
        return self.map

    def _values(self, start: int, end: int) -> Iterator[bytes]:
        """Without Spark: these are few records, and the thread that wants them has no session."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap_server,
                "group.id": self._topic,  # never joined, never committed to
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        try:
            consumer.assign([TopicPartition(self._topic, 0, start)])
            while True:
                message = consumer.poll(_PATIENCE)
                if message is None:
                    raise ConnectionError(f"{self._topic} could not be read to offset {end}")
                error, value = message.error(), message.value()
                if error is not None and error.name() == _AT_THE_END:
                    return
                if error is not None or value is None:
                    raise ConnectionError(f"{self._topic}: {error or 'a record without a value'}")
                if (message.offset() or 0) >= end:
                    return
                yield value
        finally:
            consumer.close()
