"""A simulated host with one broker on it: it is started, stopped, killed, paused, and loses power."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.simulation.clock import NodeClock
from tests.simulation.disk import SimulatedDisk
from tests.simulation.hosting import ANY_FILE, HostedBroker, environment
from tests.simulation.leases import Leases
from tests.simulation.network import Network
from tests.simulation.node_loop import NodeLoop
from tests.simulation.scheduler import Scheduler
from tests.simulation.store import SimulatedStore, StoreClient
from tests.simulation.threads import InOrder
from tests.simulation.transports import Host

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.errors import KafkaError
from barnabas.metadata.store import StoreError

PORT = 9092
_START_SECONDS = 60.0
_RESTART_SECONDS = 1.0
_NOTICED_SHARE, _NOTICED_SECONDS = 0.5, 1.0
"""A killed process is noticed by a store on the same host; otherwise its session has to time out."""
_NOTICE_SECONDS = 0.05
"""A change of the tree is noticed up to this late."""


class Machine:
    def __init__(
        self,
        number: int,
        scheduler: Scheduler,
        network: Network,
        store: SimulatedStore,
        leases: Leases,
        properties: Mapping[str, str],
    ) -> None:
        self.number: int = number
        self.name: str = f"broker-{number}"
        self.log_dirs: list[Path] = [Path(f"/data/{number}")]
        self.clock: NodeClock = NodeClock(scheduler)
        self.disk: SimulatedDisk = SimulatedDisk(self.clock)
        self.broker: HostedBroker | None = None
        self.client: StoreClient | None = None
        self.loop: NodeLoop = NodeLoop.on(scheduler, self.name)
        self._scheduler: Scheduler = scheduler
        self._network: Network = network
        self._store: SimulatedStore = store
        self.leases: Leases = leases
        self._rng: random.Random = scheduler.stream(f"machine {self.name}")
        self._ended: list[NodeLoop] = []
        self._is_wanted: bool = False
        """Whether it is to run: a broker that ends by itself is started again, as an operator would."""
        self._reaches_store: bool = True
        self.failures: list[str] = []
        """Why the broker ended by itself, or could not start."""
        self.power_cuts: int = 0
        self.power_cut_in: int = 0
        """The last transaction of the store before the last loss of power."""
        self.starts: int = 0
        self._config: BrokerConfig = BrokerConfig.from_properties(
            {
                **properties,
                "node.id": str(number),
                "listeners": f"PLAINTEXT://{self.name}:{PORT}",
                "log.dirs": ",".join(map(str, self.log_dirs)),
                "barnabas.metadata.store.path": ANY_FILE,
            }
        )

    @property
    def is_up(self) -> bool:
        return self.broker is not None

    @property
    def is_running(self) -> bool:
        """Whether its process does anything: it is up and not paused."""
        return self.is_up and not self.loop.is_paused

    def lose_store(self) -> None:
        """The store cannot be reached from here; the session expires if that lasts."""
        self._reaches_store = False
        if self.client is not None:
            self.client.disconnect()

    def reach_store(self) -> None:
        self._reaches_store = True
        if self.client is not None and self.is_up:
            self.client.reconnect()

    # --- starting and ending ----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to start the broker; it serves when `is_serving`."""
        assert not self.is_up
        self._is_wanted = True
        self.starts += 1
        self._network.power_on(self.name)
        self.loop = NodeLoop.on(self._scheduler, self.name)
        Host(self._network, self.loop)
        self.disk.spend = self.loop.threads.spend
        self.disk.spend_reading = self.loop.threads.spend_if_working
        self.client = self._connect_store()
        rng = self._scheduler.stream(f"start {self.starts} of {self.name}")
        self.broker = HostedBroker(
            self._config, environment(self.loop, self.clock, self.disk, self.client, rng)
        )
        self.loop.create_task(self._live(self.broker))

    def start_if_down(self) -> None:
        if not self.is_up:
            self.start()

    async def _live(self, broker: HostedBroker) -> None:
        """As `barnabas serve`: a broker that cannot start, or cannot go on, ends its process."""
        try:
            await broker.start()
            await broker.failed.wait()
            await broker.stop()
            self.failures.append(f"{self.name} ended: {broker.failure}")
        except (KafkaError, OSError, StoreError) as error:
            self.failures.append(f"{self.name} did not start: {error}")
        self._end_process(broker)
        self._scheduler.after(_RESTART_SECONDS, f"{self.name} is started again", self._start_again)

    def _start_again(self) -> None:
        if self._is_wanted:
            self.start_if_down()

    def _connect_store(self) -> StoreClient:
        client = self._store.connect(InOrder(self.loop.threads, lambda: self._rng.random() * _NOTICE_SECONDS))
        client.is_reachable = self._reaches_store
        loop = self.loop
        self.leases.add(client, lambda: self.loop is loop and self.is_running and self._reaches_store)
        return client

    def wait_until_serving(self) -> None:
        self._scheduler.run_until(lambda: self.is_serving, _START_SECONDS, f"the start of {self.name}")

    @property
    def is_serving(self) -> bool:
        return self.broker is not None and self.broker.is_serving

    def begin_stop(self, on_stopped: Callable[[], None] = lambda: None) -> None:
        """A clean stop, as by SIGTERM. A broker that is starting would start first: it has to serve."""
        broker = self.broker
        if broker is None:
            return
        self._is_wanted = False

        async def stop() -> None:
            await broker.stop()
            self._end_process(broker)
            on_stopped()

        self.loop.create_task(stop())

    def _end_process(self, broker: HostedBroker) -> None:
        if self.broker is broker:
            disk = self.disk.image()
            self._end()
            self._network.close_all(self.name)
            self.disk = disk

    def kill(self) -> None:
        """As by SIGKILL: what was written stays, the kernel closes the connections."""
        if self.broker is not None:
            self._is_wanted = False
            client = self.client
            self._end_process(self.broker)
            if client is not None and self._rng.random() < _NOTICED_SHARE:
                delay = self._rng.random() * _NOTICED_SECONDS
                self._scheduler.after(delay, f"the death of {self.name} is noticed", client.expire)

    def cut_power(self, rng: random.Random) -> None:
        if self.is_up:
            self._is_wanted = False
            disk = self.disk.image_after_power_cut(self.log_dirs, rng)
            self._end()
            self._network.power_off(self.name)
            self.disk = disk
            self.power_cuts += 1
            self.power_cut_in = self._store.tree.last_transaction

    def _end(self) -> None:
        self.loop.kill()
        self._ended.append(self.loop)
        self.broker = None
        if self.client is not None:
            self.client.disconnect()

    def pause(self) -> None:
        self.loop.pause()

    def resume(self) -> None:
        self.loop.resume()

    def discard(self) -> None:
        """The simulation is over."""
        self._end()
        for loop in self._ended:
            loop.discard()
