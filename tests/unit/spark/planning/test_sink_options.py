import pytest

from barnabas.spark.planning.option_values import BadOption
from barnabas.spark.planning.sink_options import Application, SinkOptions

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}


def test_streams_are_written_exactly_once_by_default() -> None:
    options = SinkOptions.of(SERVERS)
    assert (options.exactly_once, options.prefix, options.topic) == (True, "spark-sink", None)
    assert not SinkOptions.of({**SERVERS, "exactlyOnce": "FALSE"}).exactly_once
    assert not options.write_timestamp
    assert SinkOptions.of({**SERVERS, "writeTimestamp": "true"}).write_timestamp


def test_names_of_options_know_no_case() -> None:
    options = SinkOptions.of(
        {
            "KAFKA.Bootstrap.Servers": "a:1",
            "TOPIC": " orders ",
            "TransactionalIdPrefix": "etl",
            "kafka.ACKS": "1",
        }
    )
    assert options.kafka == {"bootstrap.servers": "a:1", "acks": "1"}
    assert (options.topic, options.prefix) == ("orders", "etl")


def test_a_batch_has_an_identity_if_both_halves_are_given() -> None:
    assert SinkOptions.of(SERVERS).application is None
    options = SinkOptions.of({**SERVERS, "txnAppId": "load", "txnVersion": "7"})
    assert options.application == Application("load", 7)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"kafka.key.serializer": "x"},
            "Kafka option 'key.serializer' is not supported as keys are serialized",
        ),
        ({"kafka.value.serializer": "x"}, "Kafka option 'value.serializer' is not supported as value are"),
        ({"kafka.transactional.id": "x"}, "transactionalIdPrefix"),
        ({"kafka.bootstrap.servers": " "}, "Option 'kafka.bootstrap.servers' must be specified"),
        ({"exactlyOnce": "perhaps"}, "exactlyOnce"),
        ({"writeTimestamp": "perhaps"}, "writeTimestamp"),
        ({"transactionalIdPrefix": " "}, "transactionalIdPrefix"),
        ({"txnAppId": "load"}, "must be given together"),
        ({"txnVersion": "1"}, "must be given together"),
        ({"txnAppId": "load", "txnVersion": "-1"}, "txnVersion"),
        ({"txnAppId": "load", "txnVersion": "one"}, "txnVersion"),
        ({"txnAppId": "load", "txnVersion": str(2**63 - 1)}, "txnVersion"),
    ],
)
def test_what_cannot_be_meant_is_refused(wrong: dict[str, str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        SinkOptions.of({**SERVERS, **wrong})
