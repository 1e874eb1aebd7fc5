"""Clients of both protocols in one group, with random requests in random order, and their invariants.

They join, heartbeat, leave, die and come back with the other protocol; the topic grows; appends fail; time
passes; the coordinator moves. Always: no partition is worked on by two members that the group knows, at the
generation or epoch it knows them at, and the log replayed is the group. Left alone, the group comes to rest
with each partition at exactly one member, as a consumer group if a member uses that protocol.
"""

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.unit.group.consumer.consumer_shard import GROUP
from tests.unit.group.migration.migration_clients import (
    AnyClient,
    ClassicClient,
    ConsumerClient,
)
from tests.unit.group.migration.migration_shard import (
    MigrationShard,
)

from barnabas.base.errors import CoordinatorNotAvailable, KafkaError
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import JOIN_EPOCH

CONSUMER_SESSION_MS = 6_000


class MigrationMachine(RuleBasedStateMachine):
    clients = Bundle("clients")

    def __init__(self) -> None:
        super().__init__()
        self.partitions = 4
        self.is_cooperative = False
        self.policy = "bidirectional"
        self.shard = MigrationShard({"orders": self.partitions})
        self.alive: list[AnyClient] = []
        self.names = 0
        self.is_rebalance_lost = False
        """A classic rebalance is not in the log: after a move, members that had not heard of it do not.

        Kafka's coordinator forgets it too. A member that knows of it rejoins and begins it again; so does the
        next member that comes or goes.
        """

    @initialize(
        is_cooperative=st.booleans(),
        interval_ms=st.sampled_from([0, 1_000]),
        policy=st.sampled_from(["bidirectional", "bidirectional", "upgrade"]),
    )
    def start(self, is_cooperative: bool, interval_ms: int, policy: str) -> None:
        self.is_cooperative, self.policy = is_cooperative, policy
        self.shard = MigrationShard(
            {"orders": self.partitions},
            consumer_session_timeout_ms=CONSUMER_SESSION_MS,
            consumer_assignment_interval_ms=interval_ms,
            consumer_migration_policy=policy,
        )

    # --- members -----------------------------------------------------------------------------------------

    def _classic(self, instance_id: str | None) -> ClassicClient:
        client = ClassicClient(self.shard, is_cooperative=self.is_cooperative, instance_id=instance_id)
        self.alive.append(client)
        return client

    def _consumer(self, instance_id: str | None) -> ConsumerClient:
        self.names += 1
        client = ConsumerClient(self.shard, f"m{self.names}", instance_id=instance_id, timeout=4_000)
        self.alive.append(client)
        return client

    def _new(self, is_classic: bool, instance_id: str | None) -> AnyClient:
        return self._classic(instance_id) if is_classic else self._consumer(instance_id)

    @precondition(lambda self: len(self.alive) < 5)
    @rule(target=clients, is_classic=st.booleans(), is_static=st.booleans(), steps=st.integers(1, 4))
    def join(self, is_classic: bool, is_static: bool, steps: int) -> AnyClient:
        self.names += 1
        client = self._new(is_classic, f"i{self.names}" if is_static else None)
        for _ in range(steps):
            self._beat(client)
        return client

    @rule(client=clients, steps=st.integers(1, 5))
    def work(self, client: AnyClient, steps: int) -> None:
        for _ in range(steps):
            if client in self.alive:
                self._beat(client)

    @rule(client=clients)
    def reconcile(self, client: AnyClient) -> None:
        if isinstance(client, ConsumerClient):
            client.reconcile()

    @rule(client=consumes(clients))
    def leave(self, client: AnyClient) -> None:
        if client in self.alive:
            self.alive.remove(client)
            self._leave(client)

    @rule(client=consumes(clients))
    def die(self, client: AnyClient) -> None:
        if client in self.alive:
            self.alive.remove(client)

    @rule(target=clients, client=consumes(clients), steps=st.integers(1, 4))
    def change_protocol(self, client: AnyClient, steps: int) -> AnyClient:
        """A restart with the other protocol, as in a rolling migration."""
        if client in self.alive:
            self.alive.remove(client)
        if isinstance(client, ConsumerClient) and client.instance_id is not None:
            self._send(client.leave_for_a_while)
        else:
            self._leave(client)
        changed = self._new(isinstance(client, ConsumerClient), client.instance_id)
        for _ in range(steps):
            self._beat(changed)
        return changed

    def _beat(self, client: AnyClient) -> None:
        self._send(client.try_beat if isinstance(client, ConsumerClient) else client.beat)
        self.check()

    def _leave(self, client: AnyClient) -> None:
        self._send(client.leave)

    def _send(self, request: object) -> None:
        try:
            request()  # type: ignore[operator]
        except KafkaError:
            return

    # --- the world ---------------------------------------------------------------------------------------

    @precondition(lambda self: self.partitions < 8)
    @rule()
    def grow_the_topic(self) -> None:
        self.partitions += 1
        self.shard.set_topics({"orders": self.partitions})

    @rule(ms=st.sampled_from([1, 500, 1_000, 3_000, 7_000]))
    def pass_time(self, ms: int) -> None:
        self.shard.driver.advance(ms)

    @rule()
    def fail_the_next_append(self) -> None:
        self.shard.driver.fail_next(CoordinatorNotAvailable())

    @rule()
    def move_the_coordinator(self) -> None:
        group = self.shard.groups.find(GROUP)
        if isinstance(group, ClassicGroup) and self.shard.state == "PreparingRebalance":
            self.is_rebalance_lost = True
        self.shard = self.shard.reloaded()
        for client in self.alive:
            client.shard = self.shard

    # --- what holds --------------------------------------------------------------------------------------

    @invariant()
    def check(self) -> None:
        group = self.shard.groups.find(GROUP)
        holders: dict[tuple[str, int], str] = {}
        for client in self.alive:
            if not is_known(group, client):
                continue
            for partition in client.holds:
                other = holders.setdefault(partition, client.member_id)
                assert other == client.member_id, f"{partition} is with {other} and {client.member_id}"

    @invariant()
    def the_log_is_the_group(self) -> None:
        self.shard.check_log()

    def teardown(self) -> None:
        self.shard.driver._failures.clear()
        self.alive = [each for each in self.alive if not getattr(each, "is_fenced", False)]
        for _ in range(40):
            for client in self.alive:
                client.settle()
            self.check()
            self.shard.driver.advance(1_100)
        self.alive = [each for each in self.alive if not getattr(each, "is_fenced", False)]
        if not self.alive:
            return
        assert self.shard.state == "Stable"
        held = sorted(partition for client in self.alive for partition in client.holds)
        if not self.is_rebalance_lost:
            assert held == [("orders", number) for number in range(self.partitions)]
        if any(isinstance(client, ConsumerClient) for client in self.alive):
            assert self.shard.kind == "consumer"
        elif self.policy == "bidirectional":
            assert self.shard.kind == "classic"


def is_known(group: object, client: AnyClient) -> bool:
    """Whether the client is a member of the group at its generation or epoch."""
    if isinstance(client, ConsumerClient):
        return (
            isinstance(group, ConsumerGroup)
            and client.epoch != JOIN_EPOCH
            and client.member_id in group.members
        )
    if isinstance(group, ConsumerGroup):
        member = group.members.get(client.member_id)
        return member is not None and member.epoch == client.generation
    return (
        isinstance(group, ClassicGroup)
        and client.member_id in group.members
        and group.generation == client.generation
    )


MigrationMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestMigrationMachine = MigrationMachine.TestCase
