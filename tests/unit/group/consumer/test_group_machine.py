"""Many members with random requests in random order, and the invariants of the group.

Members follow the protocol (`Client`): they heartbeat, revoke, acknowledge, leave, die, come back, change
what they want; topics come, grow and go; appends fail; the coordinator moves. Always: no partition is worked
on by two members that the group knows, epochs only grow, and the log replayed is the group. Left alone, the
group becomes stable with every partition of a subscribed topic at exactly one member that subscribes to it.
"""

import re
from typing import Any

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
from tests.unit.group.consumer.consumer_shard import GROUP, Client, ConsumerShard, durable

from barnabas.base.errors import CoordinatorNotAvailable, KafkaError
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import JOIN_EPOCH

SESSION_MS = 6_000
TOPICS = ("t0", "t1", "t2")
NAMES = st.lists(st.sampled_from(TOPICS), unique=True)
REGEXES = st.sampled_from([None, "t.*", "t[01]", "nothing"])


class GroupMachine(RuleBasedStateMachine):
    clients = Bundle("clients")

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {"t0": 3}
        self.incarnations: dict[str, int] = {}
        self.shard = ConsumerShard(self.counts)
        self.alive: list[Client] = []
        self.away: list[Client] = []
        self.names = 0
        self.last_epochs: dict[str, int] = {}
        self.group_epoch = 0

    @initialize(interval_ms=st.sampled_from([0, 1_000]))
    def start(self, interval_ms: int) -> None:
        self.shard = ConsumerShard(
            self.counts,
            consumer_session_timeout_ms=SESSION_MS,
            consumer_assignment_interval_ms=interval_ms,
            consumer_regex_refresh_interval_ms=60_000,
        )

    # --- members -----------------------------------------------------------------------------------------

    def _new(self, topics: list[str], regex: str | None, **fields: Any) -> Client:
        self.names += 1
        client = Client(self.shard, f"m{self.names}", topics, regex=regex, timeout=4_000, **fields)
        self.alive.append(client)
        return client

    @precondition(lambda self: len(self.alive) < 6)
    @rule(target=clients, topics=NAMES, regex=REGEXES, is_static=st.booleans())
    def join(self, topics: list[str], regex: str | None, is_static: bool) -> Client:
        client = self._new(topics, regex, instance_id=f"i{self.names}" if is_static else None)
        client.try_beat()
        return client

    @rule(client=clients)
    def heartbeat(self, client: Client) -> None:
        if client in self.alive:
            client.try_beat()

    @rule(client=clients)
    def reconcile(self, client: Client) -> None:
        if client in self.alive:
            client.reconcile()

    @rule(client=clients, topics=NAMES, regex=REGEXES)
    def change_subscription(self, client: Client, topics: list[str], regex: str | None) -> None:
        client.subscribe(topics, regex)

    @rule(client=consumes(clients))
    def leave(self, client: Client) -> None:
        if client in self.alive:
            self.alive.remove(client)
            self._send(client.leave)

    @rule(client=consumes(clients))
    def die(self, client: Client) -> None:
        if client in self.alive:
            self.alive.remove(client)

    @rule(client=consumes(clients))
    def leave_for_a_while(self, client: Client) -> None:
        if client in self.alive and client.instance_id is not None:
            self.alive.remove(client)
            self._send(client.leave_for_a_while)
            self.away.append(client)

    @precondition(lambda self: self.away)
    @rule(target=clients)
    def come_back(self) -> Client:
        old = self.away.pop()
        client = self._new(list(old.topics or ()), old.regex, instance_id=old.instance_id)
        client.try_beat()
        return client

    def _send(self, request: Any) -> None:
        try:
            request()
        except KafkaError:
            return

    # --- the world ---------------------------------------------------------------------------------------

    @rule(topic=st.sampled_from(TOPICS))
    def grow_or_create_a_topic(self, topic: str) -> None:
        if topic not in self.counts:
            self.incarnations[topic] = self.incarnations.get(topic, 0) + 1
        self.counts[topic] = min(self.counts.get(topic, 0) + 2, 6)
        self.shard.set_topics(self.counts, self.incarnations)

    @rule(topic=st.sampled_from(TOPICS))
    def delete_a_topic(self, topic: str) -> None:
        if self.counts.pop(topic, None) is not None:
            self.shard.set_topics(self.counts, self.incarnations)
            for client in self.alive:
                # No owner can use it.
                client.holds = {each for each in client.holds if each[0] != topic}
                client.assigned = frozenset(each for each in client.assigned if each[0] != topic)

    @rule(ms=st.sampled_from([1, 500, 1_000, 3_000, 7_000]))
    def pass_time(self, ms: int) -> None:
        self.shard.driver.advance(ms)

    @rule()
    def fail_the_next_append(self) -> None:
        self.shard.driver.fail_next(CoordinatorNotAvailable())

    @rule()
    def move_the_coordinator(self) -> None:
        before = self.shard
        self.shard = before.reloaded()
        if self._group() is not None:
            assert durable(self.shard.group) == durable(before.group)
        for client in self.alive + self.away:
            client.shard = self.shard

    # --- what holds --------------------------------------------------------------------------------------

    def _group(self) -> ConsumerGroup | None:
        group = self.shard.groups.find(GROUP)
        return group if isinstance(group, ConsumerGroup) else None

    @invariant()
    def no_partition_is_worked_on_twice(self) -> None:
        group = self._group()
        holders: dict[tuple[str, int], str] = {}
        for client in self.alive:
            if group is None or client.member_id not in group.members or client.epoch == JOIN_EPOCH:
                continue
            for partition in client.holds:
                other = holders.setdefault(partition, client.member_id)
                assert other == client.member_id, f"{partition} is with {other} and {client.member_id}"

    @invariant()
    def epochs_only_grow(self) -> None:
        group = self._group()
        if group is None:
            return
        assert group.epoch >= self.group_epoch
        assert group.assignment_epoch <= group.epoch
        self.group_epoch = group.epoch
        for member_id, member in group.members.items():
            if member.epoch >= 0:
                assert member.epoch >= self.last_epochs.get(member_id, 0)
                self.last_epochs[member_id] = member.epoch
            assert member.epoch <= group.assignment_epoch

    @invariant()
    def derived_state_is_what_the_members_say(self) -> None:
        group = self._group()
        if group is not None:
            owned = {
                (topic_id, partition): member.epoch
                for member in group.members.values()
                for assignment in (member.assigned, member.pending_revocation)
                for topic_id, partitions in assignment.items()
                for partition in partitions
            }
            for (topic_id, partition), epoch in owned.items():
                assert group.partition_epoch(topic_id, partition) == epoch
            assert set(group.target) <= set(group.members)
            assert set(group.resolved_regexes) <= set(group.subscribed_regexes)

    def teardown(self) -> None:
        self.shard.driver._failures.clear()
        for _ in range(30):
            for client in self.alive:
                # A static member has to wait for the session of the one that had its instance id.
                client.try_beat()
                client.reconcile()
                client.try_beat()
            self.shard.driver.advance(1_100)
        group = self._group()
        if not self.alive or group is None:
            assert group is None or group.is_empty
            return
        assert group.state_name == "Stable"
        assert set(group.members) == {client.member_id for client in self.alive}
        self._check_everything_is_assigned()

    def _check_everything_is_assigned(self) -> None:
        held = [(partition, client) for client in self.alive for partition in client.holds]
        assert len({partition for partition, _ in held}) == len(held)
        for (topic, _), client in held:
            assert topic in self._wanted_by(client)
        wanted = {topic for client in self.alive for topic in self._wanted_by(client)}
        assert {partition for partition, _ in held} == {
            (topic, number) for topic in wanted for number in range(self.counts[topic])
        }

    def _wanted_by(self, client: Client) -> set[str]:
        names = set(client.topics or ())
        if client.regex:
            names |= {topic for topic in self.counts if re.fullmatch(client.regex, topic)}
        return names & set(self.counts)


GroupMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestGroupMachine = GroupMachine.TestCase
