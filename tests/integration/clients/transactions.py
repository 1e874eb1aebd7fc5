"""What the tests of transactions write and ask: plain values, offsets, the coordinator's state."""

from collections.abc import Sequence
from typing import Any

from tests.integration.clients.drivers.transaction_client import TransactionalProducer
from tests.integration.clients.messages import Message
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import list_offset

from barnabas.testing import Broker

READ_COMMITTED = 1


def texts(*values: str, partition: int = 0, key: bytes | None = b"k") -> list[Message]:
    return [Message(key, value.encode(), partition=partition) for value in values]


def values_of(messages: Sequence[Message]) -> list[str]:
    return [(message.value or b"").decode() for message in messages]


def write(producer: TransactionalProducer, topic: str, *values: str, partition: int = 0) -> None:
    """A whole transaction."""
    producer.begin()
    producer.send(topic, texts(*values, partition=partition))
    producer.commit()


def stable_offset(broker: Broker, topic: str, partition: int = 0) -> int:
    """The last stable offset: where a consumer that reads committed records ends."""
    with RawClient(broker.port) as client:
        found = list_offset(client, topic, partition=partition, isolation=READ_COMMITTED)
    assert found.error_code == 0
    offset: int = found.offset
    return offset


def log_end(broker: Broker, topic: str, partition: int = 0) -> int:
    with RawClient(broker.port) as client:
        found = list_offset(client, topic, partition=partition)
    assert found.error_code == 0
    offset: int = found.offset
    return offset


def described(broker: Broker, transactional_id: str) -> Any:
    """The answer of DescribeTransactions for the one id."""
    with RawClient(broker.port) as client:
        answer = client.call("describe_transactions", 0, transactional_ids=[transactional_id])
    return answer.transaction_states[0]
