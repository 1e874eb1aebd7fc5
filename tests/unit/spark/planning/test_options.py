import pytest

from barnabas.spark.planning.limits import (
    EARLIEST,
    FROM_EARLIEST,
    FROM_LATEST,
    LATEST,
    AtOffsets,
    AtTimestamp,
    AtTimestamps,
)
from barnabas.spark.planning.option_values import BadOption
from barnabas.spark.planning.options import SourceOptions

_LEAST = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}


def _stream(**more: str) -> SourceOptions:
    return SourceOptions.of_stream({**_LEAST, **more})


def _batch(**more: str) -> SourceOptions:
    return SourceOptions.of_batch({**_LEAST, **more})


def test_defaults_are_those_of_sparks_connector() -> None:
    stream, batch = _stream(), _batch()
    assert (stream.start, batch.start, batch.end) == (FROM_LATEST, FROM_EARLIEST, FROM_LATEST)
    assert stream.fail_on_data_loss
    assert not stream.include_headers
    assert not stream.is_read_committed
    assert not stream.start_is_latest_without_match
    assert (stream.max_offsets_per_trigger, stream.min_offsets_per_trigger) == (None, None)
    assert stream.max_trigger_delay_ms == 15 * 60 * 1000
    assert (stream.poll_timeout_ms, stream.fetch_attempts) == (120_000, 3)
    assert stream.metadata_ttl_ms == -1
    assert (stream.group_prefix, batch.group_prefix) == ("spark-kafka-source", "spark-kafka-relation")
    assert stream.group_id is None
    assert stream.warnings == ()


def test_names_are_case_insensitive() -> None:
    options = SourceOptions.of_stream(
        {
            "Kafka.Bootstrap.Servers": "localhost:9092",
            "SUBSCRIBE": "orders",
            "StartingOffsets": "EARLIEST",
            "MAXoffsetsPerTrigger": "7",
            "includeheaders": "True",
            "kafka.isolation.level": "READ_COMMITTED",
        }
    )
    assert options.start == FROM_EARLIEST
    assert options.max_offsets_per_trigger == 7
    assert options.include_headers
    assert options.is_read_committed
    assert options.kafka["bootstrap.servers"] == "localhost:9092"


def test_every_number_is_read() -> None:
    options = _stream(
        **{
            "minOffsetsPerTrigger": "3",
            "maxOffsetsPerTrigger": "30",
            "maxTriggerDelay": "2m",
            "minPartitions": "4",
            "maxRecordsPerPartition": "1000",
            "kafkaConsumer.pollTimeoutMs": "512",
            "fetchOffset.numRetries": "5",
            "fetchOffset.retryIntervalMs": "20",
            "partition.metadata.cache.ttl.ms": "60000",
            "groupIdPrefix": "mine",
            "failOnDataLoss": "false",
        }
    )
    assert (options.min_offsets_per_trigger, options.max_offsets_per_trigger) == (3, 30)
    assert options.max_trigger_delay_ms == 120_000
    assert (options.min_partitions, options.max_records_per_partition) == (4, 1000)
    assert options.poll_timeout_ms == 512
    assert (options.fetch_attempts, options.fetch_retry_interval_ms) == (5, 20)
    assert options.metadata_ttl_ms == 60_000
    assert options.group_prefix == "mine"
    assert not options.fail_on_data_loss


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("15m", 900_000), ("30s", 30_000), ("250ms", 250), ("1h", 3_600_000), ("2min", 120_000), ("40", 40)],
)
def test_a_delay_is_a_time_as_spark_writes_it(text: str, milliseconds: int) -> None:
    assert _stream(maxTriggerDelay=text).max_trigger_delay_ms == milliseconds


def test_one_timestamp_beats_timestamps_by_partition_beats_offsets() -> None:
    offsets = {"startingOffsets": '{"orders":{"0":5,"1":-1}}'}
    by_partition = {"startingOffsetsByTimestamp": '{"orders":{"0":111,"1":222}}', **offsets}
    assert _stream(**offsets).start == AtOffsets({("orders", 0): 5, ("orders", 1): LATEST})
    assert _stream(**by_partition).start == AtTimestamps({("orders", 0): 111, ("orders", 1): 222})
    assert _stream(startingTimestamp="333", **by_partition).start == AtTimestamp(333)


def test_a_batch_has_an_end_too() -> None:
    assert _batch(endingOffsets='{"orders":{"0":5}}').end == AtOffsets({("orders", 0): 5})
    assert _batch(endingOffsetsByTimestamp='{"orders":{"0":9}}').end == AtTimestamps({("orders", 0): 9})
    assert _batch(endingTimestamp=" 12 ").end == AtTimestamp(12)
    assert _batch(startingOffsets='{"orders":{"0":-2}}').start == AtOffsets({("orders", 0): EARLIEST})


def test_a_group_id_is_taken_with_a_warning() -> None:
    options = _stream(**{"kafka.group.id": "reports", "groupIdPrefix": "x"})
    assert options.group_id == "reports"
    assert "kafka.group.id" in options.warnings[0]
    assert (
        options.warnings[1] == "Option groupIdPrefix will be ignored as option kafka.group.id has been set."
    )


def test_limits_of_triggers_are_ignored_in_a_batch_with_a_warning() -> None:
    options = _batch(maxOffsetsPerTrigger="1", minOffsetsPerTrigger="1", maxTriggerDelay="1s")
    assert options.warnings == (
        "maxOffsetsPerTrigger option ignored in batch queries",
        "minOffsetsPerTrigger option ignored in batch queries",
        "maxTriggerDelay option ignored in batch queries",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"endingOffsets": "latest"}, "ending offset not valid in streaming queries"),
        ({"endingOffsetsByTimestamp": "{}"}, "ending timestamp not valid in streaming queries"),
        ({"assign": '{"t":[0]}'}, "Only one of the following options can be specified for Kafka source"),
        ({"minPartitions": "0"}, "minPartitions must be positive"),
        ({"minPartitions": "many"}, "Option 'minPartitions' must be a whole number, got 'many'"),
        ({"minPartitions": "9999999999"}, "Option 'minPartitions' is out of range"),
        ({"maxRecordsPerPartition": "-1"}, "maxRecordsPerPartition must be positive"),
        (
            {"minOffsetsPerTrigger": "11", "maxOffsetsPerTrigger": "10"},
            r"The value of minOffsetPerTrigger\(11\) is higher than the maxOffsetsPerTrigger\(10\).",
        ),
        ({"kafka.auto.offset.reset": "latest"}, "Kafka option 'auto.offset.reset' is not supported"),
        ({"kafka.key.deserializer": "x"}, "Kafka option 'key.deserializer' is not supported as keys"),
        ({"kafka.value.deserializer": "x"}, "Kafka option 'value.deserializer' is not supported as values"),
        ({"kafka.enable.auto.commit": "true"}, "Kafka option 'enable.auto.commit' is not supported"),
        ({"kafka.interceptor.classes": "x"}, "Kafka option 'interceptor.classes' is not supported"),
        ({"kafka.isolation.level": "none"}, "kafka.isolation.level must be one of"),
        ({"kafka.bootstrap.servers": ""}, "Option 'kafka.bootstrap.servers' must be specified"),
        ({"startingOffsets": "{"}, 'Expected e.g. {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}, got {'),
        ({"startingOffsets": '{"t":{"x":1}}'}, "Expected e.g."),
        ({"startingOffsets": '{"t":{"0":true}}'}, "Expected e.g."),
        ({"startingOffsets": '{"t":5}'}, "Expected e.g."),
        ({"startingOffsetsByTimestamp": "[]"}, 'Expected e.g. {"topicA": {"0": 123456789'),
        ({"startingTimestamp": "noon"}, "Expected a single long value, got noon"),
        ({"startingOffsetsByTimestampStrategy": "earliest"}, "must be error or latest"),
        ({"failOnDataLoss": "maybe"}, "'maybe' is not a boolean string"),
        ({"maxTriggerDelay": "soon"}, "time must be specified as seconds"),
    ],
)
def test_what_a_stream_refuses(options: dict[str, str], message: str) -> None:
    with pytest.raises(BadOption, match=message.replace("{", r"\{")):
        _stream(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startingOffsets": "latest"}, "starting offset can't be latest for batch queries on Kafka"),
        ({"startingOffsets": '{"t":{"3":-1}}'}, "startingOffsets for t-3 can't be latest for batch queries"),
        ({"endingOffsets": "earliest"}, "ending offset can't be earliest for batch queries on Kafka"),
        ({"endingOffsets": '{"t":{"3":-2}}'}, "ending offset for t-3 can't be earliest for batch queries"),
        (
            {"startingOffsets": '{"t":{"0":5}}', "endingOffsets": '{"t":{"1":5}}'},
            (
                "The specified start offset and end offset should have the same topic-partitions. "
                "Topic-partitions for start offset: t-0, topic-partitions for end offset: t-1."
            ),
        ),
        (
            {"startingOffsets": '{"t":{"0":5}}', "endingOffsets": '{"t":{"0":4}}'},
            "The specified start offset 5 is greater than the end offset 4 for topic t partition 0.",
        ),
        (
            {"startingOffsetsByTimestamp": '{"t":{"0":5}}', "endingOffsetsByTimestamp": '{"t":{"0":4}}'},
            "The specified start timestamp 5 is greater than the end timestamp 4 for topic t partition 0.",
        ),
    ],
)
def test_what_a_batch_refuses(options: dict[str, str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        _batch(**options)


def test_an_end_at_the_latest_offset_is_after_every_start() -> None:
    assert _batch(startingOffsets='{"t":{"0":5}}', endingOffsets='{"t":{"0":-1}}').end == AtOffsets(
        {("t", 0): LATEST}
    )
