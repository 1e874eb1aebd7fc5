"""The real broker on simulated parts: sockets, threads, disk, clock, randomness and metadata store.

Everything between the sockets and the files is the broker's own code: connections, dispatch, handlers,
coordinators, partitions, logs.
"""

import random
import socket
from pathlib import Path
from typing import cast

from tests.simulation.disk import SimulatedDisk
from tests.simulation.node_loop import NodeLoop
from tests.simulation.store import StoreClient

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.ids import TopicPartition
from barnabas.base.loop_holds import LoopHolds
from barnabas.broker.broker import Broker
from barnabas.broker.environment import Environment
from barnabas.controller.controller import Controller
from barnabas.metadata.store import MetadataStore
from barnabas.replication.partition import Partition
from barnabas.storage.log import Log

ANY_FILE = "/"
"""Where the embedded store would be: a path that exists. The simulated store has no file."""


def environment(
    loop: NodeLoop, clock: Clock, disk: SimulatedDisk, client: StoreClient, rng: random.Random
) -> Environment:
    """Connections to other brokers are made by the loop, as always."""

    def listen(host: str | None, port: int) -> socket.socket:
        assert loop.host is not None
        sock = loop.host.socket()
        sock.bind((sock.host, port))
        sock.listen()
        return cast(socket.socket, sock)

    def open_store(path: Path, session_timeout_ms: int) -> MetadataStore:
        return client

    return Environment(
        clock=clock,
        rng=rng,
        fs=disk,
        holds=LoopHolds(clock.monotonic),
        make_executor=loop.threads.executor,
        make_thread=lambda name: loop.threads.executor(1),
        open_store=open_store,
        listen=listen,
    )


class HostedBroker(Broker):
    """A broker that can be looked at."""

    def __init__(self, config: BrokerConfig, environment: Environment) -> None:
        super().__init__(config, environment)

    @property
    def is_serving(self) -> bool:
        return self._follows_changes

    @property
    def controller(self) -> Controller:
        return self._controller

    def replica(self, name: TopicPartition) -> tuple[Partition, Log] | None:
        """The partition and its log, if this broker has it and its log is open."""
        hosted = self._partitions.topic(name.topic)
        partition = None if hosted is None else hosted.partitions.get(name.partition)
        log = self._logs.if_open(name)
        return None if partition is None or log is None else (partition, log)
