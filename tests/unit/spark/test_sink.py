import pytest

from barnabas.client.errors import BadSettings
from barnabas.spark.sink import Sink

VALUE = [("value", "string")]
OPTIONS = {"kafka.bootstrap.servers": "localhost:9092", "topic": "t"}
LOAD = {"txnAppId": "load", "txnVersion": "0"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"kafka.acks": "1"},
        {"kafka.acks": "0"},
        {"kafka.enable.idempotence": "false"},
        {"kafka.max.in.flight.requests.per.connection": "6"},
    ],
)
def test_properties_that_exclude_exactly_once_are_refused_when_it_is_planned(wrong: dict[str, str]) -> None:
    for options, is_stream in (({}, True), (LOAD, False)):
        with pytest.raises(
            BadSettings, match=r"Exactly once needs an idempotent producer: .*exactlyOnce=false"
        ):
            Sink.of(VALUE, {**OPTIONS, **wrong, **options}, is_stream=is_stream)
    at_least_once = {"exactlyOnce": "false"}
    assert not Sink.of(VALUE, {**OPTIONS, **wrong, **at_least_once}, is_stream=True).options.exactly_once
    assert Sink.of(VALUE, {**OPTIONS, **wrong}, is_stream=False).options.application is None


def test_combinations_that_kafka_refuses_are_refused_when_a_write_is_planned() -> None:
    wrong = {"kafka.acks": "1", "kafka.enable.idempotence": "true"}
    with pytest.raises(BadSettings, match="Must set acks to all"):
        Sink.of(VALUE, {**OPTIONS, **wrong}, is_stream=False)
