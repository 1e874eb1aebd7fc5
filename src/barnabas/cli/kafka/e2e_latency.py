"""`kafka-e2e-latency`: how long a record takes from the producer to the consumer."""

import sys
import time
from collections.abc import Sequence

from barnabas.cli.kafka.options import Given, Options, UsageError, integer
from barnabas.cli.kafka.tool_runner import run_tool

_REQUIRED = ("bootstrap-server", "topic", "num-records", "producer-acks", "record-size")
_POSITIONS = (*_REQUIRED, "command-config")
_REPORT_EVERY = 1000


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or any(word.startswith("--") for word in words):
        return run_tool(_options(), _run, words)
    if len(words) not in (5, 6):
        print(
            f"Invalid number of arguments. Expected 5 or 6 positional arguments, but got {len(words)}. "
            "Usage: bootstrap-server topic num-records producer-acks record-size [optional] command-config",
            file=sys.stderr,
        )
        return 1
    print(
        "WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. "
        f"Please use named arguments instead: {', '.join(f'--{name}' for name in _POSITIONS)}"
    )
    named = [f"--{name}={word}" for name, word in zip(_POSITIONS, words, strict=False)]
    return run_tool(_options(), _run, named)


def _options() -> Options:
    options = Options(
        "kafka-e2e-latency", "Measure how long a record takes from the producer to the consumer."
    )
    options.option("bootstrap-server", "REQUIRED: bootstrap brokers.", value="host:port")
    options.option("topic", "REQUIRED: the topic; it is made if it is missing.", value="topic")
    options.option("num-records", "REQUIRED: how many records to send.", value="count", kind=integer)
    options.option("producer-acks", "REQUIRED: 1 or all.", value="acks")
    options.option("record-size", "REQUIRED: bytes of each value.", value="bytes", kind=integer)
    options.option("record-key-size", "Bytes of each key.", value="bytes", kind=integer, default=0)
    options.option(
        "record-header-key-size", "Bytes of a header's name.", value="bytes", kind=integer, default=0
    )
    options.option(
        "record-header-size", "Bytes of a header's value; -1: none.", value="bytes", kind=integer, default=0
    )
    options.option("num-headers", "Headers of each record.", value="count", kind=integer, default=0)
    options.option("command-config", "A file with settings of the clients.", value="file")
    return options


def _run(given: Given) -> None:
    _check(given)
    from barnabas.cli.messages.librdkafka_clients import check_reachable, open_consumer, open_producer
    from barnabas.cli.perf.round_trip import RoundTripTest, round_trips
    from barnabas.client.settings import read_properties

    properties = read_properties(given.command_config) if given.command_config else {}
    properties["bootstrap.servers"] = given.bootstrap_server
    check_reachable(properties)
    ends = _ends_of(properties, given.topic)
    group = {
        "group.id": f"test-group-{time.time_ns() // 1_000_000}",
        "enable.auto.commit": "false",
        "fetch.max.wait.ms": "0",
    }
    consumer = open_consumer({**properties, **group})
    try:
        from confluent_kafka import TopicPartition

        consumer.assign([TopicPartition(given.topic, number, end) for number, end in ends.items()])
        producer = open_producer({**properties, "linger.ms": "0", "acks": given.producer_acks})
        test = RoundTripTest(
            given.topic,
            given.num_records,
            given.record_size,
            given.record_key_size,
            given.num_headers,
            given.record_header_key_size,
            given.record_header_size,
        )
        result = round_trips(test, producer, consumer, _report)
    finally:
        consumer.close()
    print(f"Avg latency: {result.mean_ms:.4f} ms")
    p50, p99, p999 = result.percentiles_ms
    print(f"Percentiles: 50th = {p50}, 99th = {p99}, 99.9th = {p999}")


def _check(given: Given) -> None:
    options = _options()
    options.require(given, *_REQUIRED)
    if given.producer_acks not in ("1", "all"):
        raise UsageError(
            "Invalid value for --producer-acks. Latency testing requires synchronous acknowledgement. "
            "Please use '1' or 'all'."
        )
    if given.num_records <= 0:
        raise UsageError("Value for --num-records must be a positive integer.")
    for name in ("record-size", "record-key-size", "record-header-key-size", "num-headers"):
        if getattr(given, name.replace("-", "_")) < 0:
            raise UsageError(f"Value for --{name} must be a non-negative integer.")
    if given.record_header_size < -1:
        raise UsageError(
            "Value for --record-header-size must be a non-negative integer or -1 for null header value."
        )


def _report(number: int, milliseconds: float) -> None:
    if number % _REPORT_EVERY == 0:
        print(f"{number}\t{milliseconds}", flush=True)


def _ends_of(properties: dict[str, str], topic: str) -> dict[int, int]:
    """The end offset of each partition. Creates the topic if it does not exist."""
    from barnabas.client.admin.offsets import end_offsets
    from barnabas.client.admin.topics import create_topic
    from barnabas.client.cluster import Cluster
    from barnabas.client.settings import ClientSettings

    with Cluster(ClientSettings.of(None, properties)) as cluster:
        if not any(each.error_code == 0 for each in cluster.metadata([topic]).topics):
            created = "Will create topic with 1 partition(s) and replication factor = 1"
            print(f'Topic "{topic}" does not exist. {created}')
            create_topic(cluster, topic, partitions=1, replicas=1)
        leaders = cluster.retried(lambda: cluster.leaders([topic]))
        return {number: end for (_, number), end in end_offsets(cluster, list(leaders)).items()}
