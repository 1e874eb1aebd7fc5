"""Topics of a pipeline: read one as a stream, write rows to one exactly once, create those missing."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipelines.common.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = "barnabas"


def read_stream(spark: "SparkSession", settings: Settings, topic: str) -> "DataFrame":
    """key, value, topic, partition, offset, timestamp, timestampType, headers; committed records only."""
    return (
        spark.readStream.format(FORMAT)
        .option("kafka.bootstrap.servers", settings.bootstrap_server)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", topic)
        .option("startingOffsets", settings.starting_offsets)
        .option("maxOffsetsPerTrigger", settings.max_offsets)
        .option("includeHeaders", "true")
        .load()
    )


def write_batch(
    frame: "DataFrame", settings: Settings, topic: str, writer: str, batch_id: int, checkpoint: Path
) -> None:
    """Rows of one micro-batch to a topic. The pair (writer, batch) is written once, however often it is
    tried.
    """
    (
        frame.write.format(FORMAT)
        .option("kafka.bootstrap.servers", settings.bootstrap_server)
        .option("topic", topic)
        .option("checkpointLocation", str(checkpoint))
        .option("txnAppId", f"{writer}-{topic}")
        .option("txnVersion", str(batch_id))
        .option("writeTimestamp", writes_timestamp(frame))
        .mode("append")
        .save()
    )


def writes_timestamp(frame: "DataFrame") -> str:
    """The option of the sink: dead letters and copies keep the times of their originals."""
    return str("timestamp" in frame.columns).lower()


def max_message_bytes(bootstrap_server: str, topic: str) -> int:
    """The largest batch, and so the largest record, that a topic takes. Raises ClientError."""
    from barnabas.client.admin.configs import TOPIC, Resource, describe_configs
    from barnabas.client.cluster import Cluster
    from barnabas.client.settings import ClientSettings

    resource = Resource(TOPIC, topic)
    with Cluster(ClientSettings.of(bootstrap_server)) as cluster:
        configs = describe_configs(cluster, [resource])[resource]
    return next(int(each.value) for each in configs if each.name == "max.message.bytes" and each.value)


def ensure(bootstrap_server: str, names: Iterable[str], partitions: int) -> None:
    """Create the topics that are not there; a query on a missing topic would fail."""
    from barnabas.client.admin.topics import create_topic, list_topics
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import BrokerError
    from barnabas.client.settings import ClientSettings

    with Cluster(ClientSettings.of(bootstrap_server)) as cluster:
        there = {topic.name for topic in list_topics(cluster)}
        for name in dict.fromkeys(names):
            if name in there:
                continue
            try:
                create_topic(cluster, name, partitions=partitions)
            except BrokerError as error:
                if error.name != "topic_already_exists":  # another pipeline was faster
                    raise
