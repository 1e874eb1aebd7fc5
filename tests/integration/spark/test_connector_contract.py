"""The same queries through Spark's own connector: changing the format's name changes nothing."""

from collections.abc import Mapping

import pytest
from tests.integration.spark.queries import FORMAT, Queries, numbered, produce

from barnabas.testing import Broker

pytestmark = [pytest.mark.maven, pytest.mark.needs("pyspark")]
_GOLDEN = "plain,codecs,txn,compact,appendtime,rolled"


@pytest.mark.parametrize(
    "options",
    [
        {"includeHeaders": "true"},
        {"kafka.isolation.level": "read_committed", "minPartitions": "20"},
        {
            "startingTimestamp": "0",
            "startingOffsetsByTimestampStrategy": "latest",
            "subscribePattern": "^(txn|c)",
        },
    ],
    ids=["headers", "committed", "pattern"],
)
def test_rows_are_equal(
    queries: Queries, golden_broker: Broker, connector: str, options: Mapping[str, object]
) -> None:
    ours = queries.read(_GOLDEN, options, broker=golden_broker)
    theirs = queries.read(_GOLDEN, options, form=connector, broker=golden_broker)
    assert ours.schema == theirs.schema
    assert ours.count() > 100
    assert ours.exceptAll(theirs).count() == 0
    assert theirs.exceptAll(ours).count() == 0


@pytest.mark.kafka_topic(partitions=3)
def test_a_checkpoint_is_handed_from_one_to_the_other_and_back(
    queries: Queries, kafka_broker: Broker, kafka_topic: str, connector: str
) -> None:
    produce(kafka_broker, kafka_topic, numbered(0, 3))
    assert queries.available_now(kafka_topic, form=connector).values == numbered(0, 3)
    produce(kafka_broker, kafka_topic, numbered(3, 5), partition=2)
    assert queries.available_now(kafka_topic, form=FORMAT).values == numbered(3, 5)
    produce(kafka_broker, kafka_topic, numbered(5, 7))
    assert queries.available_now(kafka_topic, form=connector).values == numbered(5, 7)


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": "latest"},
        {"endingOffsets": "earliest"},
        {"startingOffsets": '{"plain":{"0":-1}}'},
        {"startingTimestamp": "noon"},
        {"minPartitions": "0"},
        {"assign": "orders"},
        {"kafka.auto.offset.reset": "earliest"},
        {"startingOffsets": '{"plain":{"0":5}}', "endingOffsets": '{"plain":{"0":4}}'},
    ],
)
def test_refusals_are_in_the_same_words(
    queries: Queries, golden_broker: Broker, connector: str, options: Mapping[str, object]
) -> None:
    with pytest.raises(Exception, match=r"\S") as theirs:
        queries.read("plain", options, form=connector, broker=golden_broker).collect()
    with pytest.raises(Exception, match=r"\S") as ours:
        queries.read("plain", options, broker=golden_broker).collect()
    words = _essence(str(theirs.value))
    assert words in _essence(str(ours.value))


def _essence(message: str) -> str:
    """Without what Spark puts around it, and on one line."""
    first = message.split("JVM stacktrace")[0]
    return " ".join(first.split())
