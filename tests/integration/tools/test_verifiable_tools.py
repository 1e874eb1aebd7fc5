"""kafka-verifiable-producer and -consumer with our broker: events as lines of JSON."""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from tests.integration.tools.programs import Ran, run_inside, start

from barnabas.testing import Broker


@pytest.fixture
def topic(barnabas_broker: Broker) -> Iterator[str]:
    name = f"verifiable-{os.urandom(4).hex()}"
    yield name
    barnabas_broker.delete_topics({name} & barnabas_broker.topics())


def _events(ran: Ran) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in ran.lines]
    assert all(list(event)[:2] == ["timestamp", "name"] for event in events)
    return [{key: value for key, value in event.items() if key != "timestamp"} for event in events]


def _run(tool: str, broker: Broker, topic: str, *arguments: str) -> Ran:
    where = ("--bootstrap-server", broker.bootstrap_servers, "--topic", topic)
    return run_inside(f"kafka-verifiable-{tool}", *where, *arguments)


def test_every_acknowledgement_is_reported(barnabas_broker: Broker, topic: str) -> None:
    more = ("--repeating-keys", "2", "--value-prefix", "7", "--acks", "1")
    ran = _run("producer", barnabas_broker, topic, "--max-messages", "3", *more)
    assert ran.code == 0
    first, *sent, end, summary = _events(ran)
    assert first == {"name": "startup_complete"}
    assert sent == [
        {
            "name": "producer_send_success",
            "key": str(number % 2),
            "value": f"7.{number}",
            "offset": number,
            "topic": topic,
            "partition": 0,
        }
        for number in range(3)
    ]
    assert end == {"name": "shutdown_complete"}
    assert summary.pop("avg_throughput") > 0
    assert summary == {"name": "tool_data", "sent": 3, "acked": 3, "target_throughput": -1}


def test_group_member_reports_what_it_read_and_committed(barnabas_broker: Broker, topic: str) -> None:
    assert _run("producer", barnabas_broker, topic, "--max-messages", "2").code == 0
    ran = _run("consumer", barnabas_broker, topic, "--group-id", topic, "--max-messages", "2", "--verbose")
    assert ran.code == 0
    partition = {"topic": topic, "partition": 0}
    assert _events(ran) == [
        {"name": "startup_complete"},
        {"name": "partitions_assigned", "partitions": [partition]},
        {"name": "record_data", "key": None, "value": "0", **partition, "offset": 0},
        {"name": "record_data", "key": None, "value": "1", **partition, "offset": 1},
        {
            "name": "records_consumed",
            "count": 2,
            "partitions": [{**partition, "count": 2, "minOffset": 0, "maxOffset": 1}],
        },
        {"name": "offsets_committed", "offsets": [{**partition, "offset": 2}], "success": True},
        {"name": "partitions_revoked", "partitions": [partition]},
        {"name": "shutdown_complete"},
        {"name": "shutdown_requested"},
    ]


def test_a_signal_ends_the_endless(barnabas_broker: Broker, topic: str) -> None:
    where = ("--bootstrap-server", barnabas_broker.bootstrap_servers, "--topic", topic)
    with start("kafka-verifiable-producer", *where, "--throughput", "50") as producer:
        producer.wait_for_line("producer_send_success")
        with start(
            "kafka-verifiable-consumer", *where, "--group-id", topic, "--group-protocol", "consumer"
        ) as consumer:
            consumer.wait_for_line("offsets_committed")
            read = consumer.interrupt(signal_number=signal.SIGTERM)
        sent = producer.interrupt()
    assert sent.code == 128 + signal.SIGINT
    assert [event["name"] for event in _events(sent)[-2:]] == ["shutdown_complete", "tool_data"]
    assert read.code == 128 + signal.SIGTERM
    names = [event["name"] for event in _events(read)]
    assert names.index("shutdown_requested") < names.index("shutdown_complete")


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("producer", ["--bootstrap-server", "h:1"], 'Missing required argument "[topic]"'),
        (
            "producer",
            ["--bootstrap-server", "h:1", "--topic", "t", "--acks", "2"],
            "argument --acks: invalid choice: '2' (choose from {0,1,-1})",
        ),
        ("consumer", ["--bootstrap-server", "h:1", "--topic", "t"], 'Missing required argument "[group-id]"'),
    ],
)
def test_errors_are_reported(tool: str, arguments: list[str], message: str) -> None:
    ran = run_inside(f"kafka-verifiable-{tool}", *arguments)
    assert ran.code == 1
    assert ran.stderr.splitlines()[0] == message
