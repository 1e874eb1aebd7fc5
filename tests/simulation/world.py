"""A whole simulation: brokers, clients, faults, and the checks of what they did.

`run(Plan(seed))` starts the brokers, lets clients write and read while faults happen, heals everything, waits
until every replica is in sync again, reads all logs, and checks the history. The same plan gives the same
run.

`python -m tests.simulation.world PLAN SEED` runs one of `plans` and prints what it violates, with a list of
faults that is made as short as possible.
"""

import asyncio
import gc
import logging
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from tests.faults.random_life import shrinker
from tests.faults.random_life.trace import Failure, Lived
from tests.simulation import faults as fault_lists
from tests.simulation.clients.administrator import Administrator
from tests.simulation.clients.cluster_client import ClusterClient
from tests.simulation.clients.committer import Committer
from tests.simulation.clients.consumer import Consumer
from tests.simulation.clients.producer import Producer
from tests.simulation.clients.transactional import TransactionalProducer
from tests.simulation.decisions import Decisions
from tests.simulation.disk import read_open_file
from tests.simulation.faults import Fault
from tests.simulation.history import ALL, History
from tests.simulation.history_checks import (
    FinalLog,
    IsrSizes,
    check_equal_logs,
    check_history,
    check_min_isr,
)
from tests.simulation.injection import Injection
from tests.simulation.invariants import Invariants
from tests.simulation.leases import Leases
from tests.simulation.machine import PORT, Machine
from tests.simulation.network import Network
from tests.simulation.observation import Observation
from tests.simulation.operator import Operator
from tests.simulation.plans import PLANS, Plan
from tests.simulation.scheduler import Scheduler, SimulationError
from tests.simulation.sealed import sealed
from tests.simulation.store import SimulatedStore
from tests.simulation.truncations import watched_truncations
from tests.simulation.unexpected import UnexpectedErrors
from tests.simulation.violation import Broken, Violation

from barnabas.base.ids import TopicPartition
from barnabas.handlers import long_request
from barnabas.metadata.store import WatchEvent

TOPIC = "t"
_OBSERVED_EVERY = 0.25
_HEAL_SECONDS = 300.0
_REST_SECONDS = 0.4
"""Clients rest up to this long between requests."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a simulation came to."""

    plan: Plan
    violations: tuple[Violation, ...]
    digest: int
    steps: int
    virtual_seconds: float
    counts: Mapping[str, int]

    def __str__(self) -> str:
        found = "\n".join(map(str, self.violations[:5]))
        faults = fault_lists.listed(self.plan.faults)
        return f"seed {self.plan.seed}, {self.plan.brokers} brokers:\n{found}\nwith these faults:\n{faults}"


class World:
    def __init__(self, plan: Plan) -> None:
        self.plan: Plan = plan
        self.scheduler: Scheduler = Scheduler(plan.seed)
        self.network: Network = Network(self.scheduler)
        self.store: SimulatedStore = SimulatedStore()
        leases = Leases(self.scheduler)
        self.machines: list[Machine] = [
            Machine(number, self.scheduler, self.network, self.store, leases, plan.properties())
            for number in range(plan.brokers)
        ]
        self.history: History = History()
        self.partitions: list[TopicPartition] = [
            TopicPartition(TOPIC, number) for number in range(plan.partitions)
        ]
        self.observation: Observation = Observation(self.store, self.machines)
        self.violations: list[Violation] = []
        self.store.on_write = self._on_write
        self._invariants: Invariants = Invariants(not plan.keeps_everything)
        self._decisions: Decisions = Decisions(self.store)
        self._isr_sizes: dict[TopicPartition, IsrSizes] = {each: IsrSizes() for each in self.partitions}
        self._clients: list[ClusterClient] = []
        self._working: list[asyncio.Task[None]] = []
        self._administrator: Administrator | None = None
        self._reported: list[Violation] = []
        self._is_stopping: bool = False
        self._starts: dict[int, int] = {}
        self.injection: Injection | None = None

    # --- the parts of a run -----------------------------------------------------------------------------

    def run(self) -> None:
        self._start_brokers()
        self._create_topic()
        self._start_clients()
        names = [client.name for client in self._clients]
        operator = Operator(self.store, self.machines, self.partitions)
        self.injection = Injection(self.scheduler, self.network, self.machines, names, operator)
        self.injection.schedule(self.plan.faults)
        self._observe_regularly()
        self.scheduler.run_for(self.plan.seconds)
        self._is_stopping = True
        self.injection.heal()
        self._wait_until_healed()
        logs = {partition: self._read_log(partition) for partition in self.partitions}
        self._observe()
        for partition in self.partitions:
            self.violations += check_equal_logs(partition, self.observation.logs_of(partition))
        if self.plan.keeps_everything:
            self.violations += check_history(self.history, logs)
        minimum = min(self.plan.min_insync_replicas, self.plan.replication_factor)
        self.violations += check_min_isr(self.history.writes, self._isr_sizes, minimum)
        if self._administrator is not None:
            self.violations += self._administrator.check(self.observation.topics(), self.scheduler.now)

    def _start_brokers(self) -> None:
        first = self.machines[: len(self.machines) - self.plan.joining]
        for machine in first:
            machine.start()
        for machine in first:
            machine.wait_until_serving()

    def _create_topic(self) -> None:
        configs = {"min.insync.replicas": str(self.plan.min_insync_replicas)}
        factor, partitions = self.plan.replication_factor, self.plan.partitions
        admin = self._client("admin")
        replicas: list[int] = []
        if self.plan.has_roles:
            controller = Operator(self.store, self.machines, self.partitions).controller()
            replicas = [each.number for each in self.machines if each.number != controller][:factor]
            if self.plan.controller_follows:
                replicas[1] = controller
        admin.loop.run(admin.create_topic(TOPIC, partitions, factor, configs, replicas))

    def _client(self, name: str) -> ClusterClient:
        bootstrap = [(machine.name, PORT) for machine in self.machines]
        client = ClusterClient(name, self.scheduler, self.network, bootstrap)
        self._clients.append(client)
        return client

    def _start_clients(self) -> None:
        for number, partition in enumerate(self.partitions):
            client = self._client(f"producer-{number}")
            self._work(client, self._producing(Producer(client, self.history, ALL)))
            client = self._client(f"consumer-{number}")
            consumer = Consumer(client, self.history, partition, is_committed=number % 2 == 0)
            self._work(client, self._repeating(client, consumer.poll))
        client = self._client("plain")
        self._work(client, self._producing(Producer(client, self.history, 1)))
        if self.plan.transactions:
            client = self._client("transactions")
            self._work(client, self._transacting(client))
        for number in range(self.plan.groups):
            client = self._client(f"committer-{number}")
            committer = Committer(client, self.history, self.partitions[0])
            self._work(client, self._repeating(client, committer.commit, committer.read))

        if self.plan.administration:
            client = self._client("administrator")
            self._administrator = Administrator(client, self.plan.replication_factor)
            self._work(client, self._repeating(client, self._administrator.act))

    # --- clients ----------------------------------------------------------------------------------------

    def _work(self, client: ClusterClient, work: Coroutine[Any, Any, None]) -> None:
        self._working.append(client.loop.create_task(work))

    async def _repeating(
        self, client: ClusterClient, *actions: Callable[[], Coroutine[Any, Any, Any]]
    ) -> None:
        while not self._is_stopping:
            await asyncio.sleep(client.rng.random() * _REST_SECONDS)
            await client.rng.choice(actions)()

    async def _producing(self, producer: Producer) -> None:
        rng = producer.client.rng

        async def produce() -> None:
            await producer.produce(rng.choice(self.partitions), rng.randint(1, 3))

        await self._repeating(producer.client, produce)

    async def _transacting(self, client: ClusterClient) -> None:
        producer = TransactionalProducer(client, self.history)
        await self._repeating(client, lambda: producer.run_transaction(self.partitions))

    # --- checks -----------------------------------------------------------------------------------------

    def _observe_regularly(self) -> None:
        self._observe()
        self.scheduler.after(_OBSERVED_EVERY, "observation", self._observe_regularly)

    def _on_write(self, changes: Sequence[WatchEvent]) -> None:
        """In the middle of the work of a broker: what is found is raised by the next observation."""
        for partition in self.partitions:
            self._isr_sizes[partition].note(self.scheduler.now, len(self.observation.isr_of(partition)))
        for violation in self._decisions.check(changes):
            self.report(violation)
        self.scheduler.after(0, "observation", self._observe)

    def report(self, violation: Violation) -> None:
        self._reported.append(replace(violation, time=self.scheduler.now))

    def _observe(self) -> None:
        for violation in self._reported:
            raise Broken(violation)
        for machine in self.machines:
            if self._starts.get(machine.number) != machine.starts:
                self._starts[machine.number] = machine.starts
                self._invariants.forget_broker(machine.number)
        for partition in self.partitions:
            view = self.observation.view(partition)
            if view is None:
                continue
            acknowledged = self.history.committed(partition) if self.plan.keeps_everything else []
            for violation in self._invariants.check(view, acknowledged):
                raise Broken(replace(violation, time=self.scheduler.now))

    # --- the end ----------------------------------------------------------------------------------------

    def _wait_until_healed(self) -> None:
        self.scheduler.run_until(
            lambda: all(machine.is_serving for machine in self.machines),
            _HEAL_SECONDS,
            "a start of all brokers",
        )
        self.scheduler.run_until(
            lambda: all(task.done() for task in self._working), _HEAL_SECONDS, "the end of all clients"
        )
        for task in self._working:
            task.result()
        self.scheduler.run_until(
            lambda: all(self.observation.is_full(each) for each in self.partitions),
            _HEAL_SECONDS,
            "a full ISR of every partition",
        )
        self.scheduler.run_until(
            lambda: all(self._is_committed(each) for each in self.partitions),
            _HEAL_SECONDS,
            "the high watermark at the end of every log",
        )

    def _is_committed(self, partition: TopicPartition) -> bool:
        """Or no request has concerned the partition since its leader began to lead."""
        view = self.observation.view(partition)
        leader = None if view is None else view.replica(view.leader)
        if leader is not None and leader.is_leader and leader.is_untouched:
            return True
        return leader is not None and leader.is_leader and leader.high_watermark == leader.log_end_offset

    def _read_log(self, partition: TopicPartition) -> FinalLog:
        """Read with both isolation levels, to the end that an empty fetch shows."""
        logs: list[dict[int, bytes]] = []
        start = 0
        for is_committed in (False, True):
            client = self._client(f"reader of {partition}, {is_committed}")
            history = History()
            consumer = Consumer(client, history, partition, is_committed=is_committed)

            async def read(consumer: Consumer = consumer) -> None:
                while consumer.offset < consumer.high_watermark or not await consumer.poll():
                    await consumer.poll()

            client.loop.run(read(), _HEAL_SECONDS)
            logs.append({each.offset: each.value for each in history.reads})
            start = consumer.log_start_offset
        return FinalLog(logs[0], logs[1], start)

    def discard(self) -> None:
        for machine in self.machines:
            machine.discard()
        for client in self._clients:
            client.loop.kill()
            client.loop.discard()

    def send_file(self, out: int, source: int, position: int, size: int) -> int:
        """What `os.sendfile` does, for simulated sockets and files."""
        return self.network.socket_of(out).send(read_open_file(source, position, size))

    def counts(self) -> dict[str, int]:
        injected = {} if self.injection is None else self.injection.counts
        return {
            **injected,
            "acknowledged": len(self.history.acknowledged()),
            "written": len(self.history.writes),
            "read": len(self.history.reads),
            "transactions": len(self.history.transactions),
            "group commits": len(self.history.commits),
            **({} if self._administrator is None else {"administered": self._administrator.acknowledged}),
        }


def run(plan: Plan) -> Run:
    long_request._prepared.clear()
    world = World(plan)
    violations: list[Violation] = []
    with ExitStack() as stack:
        errors = stack.enter_context(UnexpectedErrors())
        stack.enter_context(sealed(world.scheduler, world.send_file))
        stack.enter_context(_without_collections())
        if plan.keeps_everything:
            stack.enter_context(watched_truncations(world.report))
        try:
            world.run()
        except Broken as broken:
            violations.append(broken.violation)
        except SimulationError as error:
            violations.append(Violation(type(error).__name__, str(error), world.scheduler.now))
        unexpected = [*world.scheduler.unexpected, *errors.found]
        world.discard()  # Ends coroutines in the middle of their work: what they say about it is no error.
    violations += world.violations
    violations += [Violation("unexpected-error", each, world.scheduler.now) for each in unexpected]
    trace = world.scheduler.trace
    return Run(plan, tuple(violations), trace.digest, trace.count, world.scheduler.now, world.counts())


@contextmanager
def _without_collections() -> Iterator[None]:
    """A run is short and its garbage small; collections take a quarter of its time."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


class BrokenRun(Failure[Fault]):
    """The list of faults of a run that broke an invariant, and its end."""

    @property
    def kind(self) -> str:
        return self.reason.split(" ")[0]


def shrink_run(found: Run, attempts: int = 60) -> Run:
    """A run with fewer faults that breaks the same invariant."""
    end = Fault(fault_lists.END, found.plan.seconds)

    def plan_of(steps: Sequence[Fault]) -> Plan:
        return replace(found.plan, faults=tuple(step for step in steps if step != end))

    def live(steps: Sequence[Fault]) -> Lived[Fault]:
        shorter = run(plan_of(steps))
        reason = str(shorter.violations[0]) if shorter.violations else ""
        return Lived(BrokenRun(reason, tuple(steps)) if reason else None, shorter.counts)

    failure = BrokenRun(str(found.violations[0]), (*found.plan.faults, end))
    return run(plan_of(shrinker.shrink(failure, live, attempts).steps))


def main() -> int:
    logging.disable(logging.WARNING)
    name, seed = sys.argv[1], int(sys.argv[2])
    found = run(PLANS[name](seed))
    print(dict(found.counts), f"{found.steps} steps, {found.virtual_seconds:.0f} s, digest {found.digest:x}")
    if not found.violations:
        return 0
    print(*found.violations[:5], sep="\n")
    print(shrink_run(found))
    return 1


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
