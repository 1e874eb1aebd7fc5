"""A group goes from the classic protocol to the new one and back, member by member, and works meanwhile."""

from collections.abc import Callable, Sequence

import pytest
from tests.integration.clients.clients import pairs_of_members
from tests.integration.clients.drivers.member import Member, settle, until
from tests.integration.clients.group_records import all_values, fill
from tests.integration.clients.raw import RawClient

from barnabas.testing import Broker

OpenMember = Callable[..., Member]
_PAIRS = (
    ("confluent", "confluent-new"),
    ("java", "java-new"),
    ("confluent", "java-new"),
    ("java", "confluent-new"),
    ("kafka-python", "confluent-new"),
    ("aiokafka", "java-new"),
)


def _type_and_state(broker: Broker, group: str) -> tuple[str, str]:
    with RawClient(broker.port) as client:
        listed = client.call("list_groups", 5, states_filter=[], types_filter=[]).groups
    (found,) = [(each.group_type, each.group_state) for each in listed if each.group_id == group]
    return found


@pairs_of_members("classic", "new", *_PAIRS)
@pytest.mark.kafka_topic(partitions=4)
def test_rolling_upgrade_and_downgrade(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, classic: str, new: str
) -> None:
    options = {"auto_commit_ms": 100, "assignor": "range" if classic == "aiokafka" else ""}
    old = [open_member(classic, kafka_topic, **options) for _ in range(2)]
    everybody = list(old)
    sent = _deliver(kafka_broker, kafka_topic, everybody, old, [2, 2], 0)
    assert _type_and_state(kafka_broker, group) == ("classic", "Stable")

    # Up: a new member joins while both old ones are there, then the old ones leave one by one.
    fresh = [open_member(new, kafka_topic, auto_commit_ms=100)]
    everybody += fresh
    sent += _deliver(kafka_broker, kafka_topic, everybody, [*old, *fresh], [2, 1, 1], 1)
    assert _type_and_state(kafka_broker, group) == ("consumer", "Stable")
    old[0].close()
    sent += _deliver(kafka_broker, kafka_topic, everybody, [old[1], *fresh], [2, 2], 2)
    old[1].close()
    sent += _deliver(kafka_broker, kafka_topic, everybody, fresh, [4], 3)
    assert _type_and_state(kafka_broker, group) == ("consumer", "Stable")

    # And down again: when the last new member has left, the group is a classic one.
    back = open_member(classic, kafka_topic, **options)
    everybody.append(back)
    sent += _deliver(kafka_broker, kafka_topic, everybody, [back, *fresh], [2, 2], 4)
    fresh[0].close()
    sent += _deliver(kafka_broker, kafka_topic, everybody, [back], [4], 5)
    assert _type_and_state(kafka_broker, group) == ("classic", "Stable")
    assert set(all_values(everybody)) == set(sent)
    assert [member.failure for member in everybody] == [None] * len(everybody)


def _deliver(
    broker: Broker,
    topic: str,
    everybody: Sequence[Member],
    present: Sequence[Member],
    to: list[int],
    turn: int,
) -> list[bytes]:
    """The members present share the topic, and what is sent now reaches them."""
    settle(*present, topic=topic, partitions=4, to=to)
    sent = fill(broker, topic, partitions=4, each=3, first=3 * turn)
    until(lambda: set(sent) <= set(all_values(everybody)), *present)
    return sent
