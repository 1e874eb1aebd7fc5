"""What is in flight to one broker: a connection of our own, and the requests that await answers, in order."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from barnabas.client.connection import Connection
from barnabas.spark.wire.partition_queue import PartitionQueue
from barnabas.wire.client_produce import OLDEST, Produced, RecordBatch, parse_produced, produce_request
from barnabas.wire.response_reader import MALFORMED


@dataclass(frozen=True, slots=True)
class Terms:
    """What every request of a producer states."""

    acks: int
    timeout_ms: int
    transactional_id: str | None
    newest_version: int


@dataclass(slots=True)
class ProduceLane:
    node: int
    connection: Connection
    terms: Terms
    version: int = field(init=False)
    requests: deque[list[PartitionQueue]] = field(default_factory=deque)
    """For each request the partitions it has a batch of."""

    def __post_init__(self) -> None:
        self.version = self.connection.common_version("produce", OLDEST, self.terms.newest_version)

    def send(self, queues: Sequence[PartitionQueue]) -> None:
        """The next batch of each. They count as sent even if sending fails: a part may have been sent."""
        batches = []
        for queue in queues:
            batch = queue.sent(self.node)
            batches.append(RecordBatch(queue.topic, queue.partition, (batch.head, batch.body)))
        self.requests.append(list(queues))
        request = produce_request(
            self.version,
            batches,
            transactional_id=self.terms.transactional_id,
            acks=self.terms.acks,
            timeout_ms=self.terms.timeout_ms,
        )
        self.connection.send(request, is_answered=self.terms.acks != 0)

    def receive(self) -> list[tuple[PartitionQueue, Produced]]:
        """The answer to the oldest request. Raises Unreachable and TimedOut; `requests` is as it was then."""
        answer = self.connection.receive()
        try:
            results = {(each.topic, each.partition): each for each in parse_produced(self.version, answer)}
            found = [(queue, results[queue.topic, queue.partition]) for queue in self.requests[0]]
        except (*MALFORMED, KeyError) as error:
            raise self.connection.refused("produce") from error
        self.requests.popleft()
        return found
