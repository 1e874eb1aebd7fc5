"""The topic of stretches at the target: what the mirror remembers of offsets, for itself and for others.

One partition, one record per batch and partition; the key is `topic/partition`. Records live as long as the
topic's own settings say, seven days unless it was created with other settings.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.client.admin.offsets import READ_COMMITTED, end_offsets, start_offsets
from barnabas.client.admin.topics import create_topic, list_topics
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError
from barnabas.pipelines.mirror.copying import write
from barnabas.pipelines.mirror.offset_map import OffsetMap, Stretch, of_json, to_json
from barnabas.pipelines.mirror.partition_tail import read_committed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WEEK_MS = 7 * 24 * 3600 * 1000


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
        checkpoint: Path,
    ) -> None:
        rows = [
            (f"{topic_partition[0]}/{topic_partition[1]}", to_json(topic_partition, stretch), self._topic, 0)
            for topic_partition, stretch in sorted(stretches.items())
        ]
        frame = spark.createDataFrame(rows, "key string, value string, topic string, partition int").coalesce(
            1
        )
        write(frame, self._bootstrap_server, f"{application}-offsets", batch, checkpoint)

    def read(self, cluster: Cluster) -> OffsetMap:
        """Take in what is new since the last time. Raises ClientError, or ConnectionError."""
        topic_partition = (self._topic, 0)
        start = max(self._position, start_offsets(cluster, [topic_partition])[topic_partition])
        # Not beyond what is committed: a stretch that is passed over would never be looked at again, and its
        # offsets would be translated to those of the next one.
        end = end_offsets(cluster, [topic_partition], isolation=READ_COMMITTED)[topic_partition]
        if start < end:
            for _, value in read_committed(self._bootstrap_server, self._topic, start, end):
                if value is None:
                    raise ConnectionError(f"{self._topic}: a record without a value")
                self.map.add(*of_json(value))
            self._position = end
        return self.map
