"""Raw produce of one 100-byte record a request: what a request costs."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks import protocol, raw_client
from benchmarks.batches import batch
from benchmarks.metrics import Metric, Target
from benchmarks.processes import BrokerProcess
from benchmarks.protocol import ProduceAnswer
from benchmarks.scenarios.base import Scenario, Settings, topic

IN_FLIGHT = 5


class OneRecordRequests:
    """Requests/s with five in flight on each connection, going round the partitions."""

    group = "One record a request, raw sockets"

    def __init__(self, connections: int, partitions: int = 1, target: Target | None = None) -> None:
        self._connections = connections
        self._partitions = partitions
        self.name = f"small/{connections}c/{partitions}p"
        lanes = "1 connection" if connections == 1 else f"{connections} connections"
        where = "1 partition" if partitions == 1 else f"{partitions} partitions"
        self.metrics = (Metric("requests_s", f"{lanes}, {where}", "req/s", True, target),)

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        record = batch([bytes(100)])
        with ExitStack() as stack:
            first, name = stack.enter_context(topic(broker, self._partitions))
            others = [stack.enter_context(broker.connect()) for _ in range(self._connections - 1)]
            answer = ProduceAnswer(name, 1)
            requests = [protocol.produce(name, [(p, record)], acks=1) for p in range(self._partitions)]
            for request in requests:
                raw_client.produce_once(first, request, answer)
            replay = raw_client.replay_produce(
                [first, *others],
                requests,
                answer,
                in_flight=IN_FLIGHT,
                warm_up=settings.warm_up,
                seconds=settings.seconds,
            )
        return {"requests_s": replay.rate}


def scenarios() -> list[Scenario]:
    return [
        OneRecordRequests(1, target=Target("ratio", "least", 3.0)),
        OneRecordRequests(4, target=Target("ratio", "least", 2.0)),
        OneRecordRequests(1, partitions=100),
        OneRecordRequests(4, partitions=100),
    ]
