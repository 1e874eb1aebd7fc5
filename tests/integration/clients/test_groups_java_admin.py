"""Groups seen and changed by the Java client's Admin."""

from collections.abc import Callable

import pytest
from tests.integration.clients.clients import some_members
from tests.integration.clients.drivers import SendFailed
from tests.integration.clients.drivers.java import JavaMachine
from tests.integration.clients.drivers.member import Member, settle, until

from barnabas.testing import Broker

pytestmark = pytest.mark.needs("java", "javac", "maven")
OpenMember = Callable[..., Member]
Ask = Callable[..., list[list[str]]]


@pytest.fixture
def ask(kafka_broker: Broker, java_machine: JavaMachine) -> Ask:
    def ask(command: str, *words: str) -> list[list[str]]:
        settings = f"bootstrap.servers={kafka_broker.bootstrap_servers}"
        return [line.split("\t") for line in java_machine.ask("groups", settings, command, *words)]

    return ask


@some_members("java", "java-new")
@pytest.mark.kafka_topic(partitions=2)
def test_group_is_listed_and_described(
    kafka_topic: str, group: str, open_member: OpenMember, ask: Ask, client: str
) -> None:
    first = open_member(client, kafka_topic, client_id="first", instance="one")
    second = open_member(client, kafka_topic, client_id="second")
    settle(first, second, topic=kafka_topic, partitions=2, to=[1, 1])
    kind = "Consumer" if client.endswith("-new") else "Classic"
    assert [group, kind, "consumer", "Stable"] in ask("list")
    assert group in {words[0] for words in ask("list", kind)}
    other = "Classic" if client.endswith("-new") else "Consumer"
    assert group not in {words[0] for words in ask("list", other)}
    described, *members = ask("describe", group)
    assignor = "uniform" if client.endswith("-new") else "range"
    assert described == ["group", group, kind, "Stable", assignor]
    upgraded = "true" if client.endswith("-new") else "-"
    owned = {
        name: " ".join(sorted(f"{each.topic}-{each.partition}" for each in member.owned))
        for name, member in (("first", first), ("second", second))
    }
    assert sorted(members) == [
        ["member", "first", "/127.0.0.1", "one", upgraded, owned["first"]],
        ["member", "second", "/127.0.0.1", "-", upgraded, owned["second"]],
    ]


@pytest.mark.kafka_topic(partitions=2)
def test_offsets_are_altered_listed_and_deleted(kafka_topic: str, group: str, ask: Ask) -> None:
    one, two = f"{group}-1", f"{group}-2"
    ask("alter", one, f"{kafka_topic}:0=5=by hand", f"{kafka_topic}:1=6=")
    ask("alter", two, f"{kafka_topic}:0=7=")
    assert sorted(ask("offsets", one, two)) == [
        [one, kafka_topic, "0", "5", "by hand"],
        [one, kafka_topic, "1", "6", ""],
        [two, kafka_topic, "0", "7", ""],
    ]
    ask("delete-offsets", one, f"{kafka_topic}:0=0=")
    assert ask("offsets", one) == [[one, kafka_topic, "1", "6", ""]]
    ask("delete", one, two)
    assert not {words[0] for words in ask("list")} & {one, two}
    with pytest.raises(SendFailed, match="GroupIdNotFound"):
        ask("delete", one)


@some_members("java", "java-new")
def test_what_is_refused_while_members_are_there(
    kafka_topic: str, group: str, open_member: OpenMember, ask: Ask, client: str
) -> None:
    member = open_member(client, kafka_topic)
    until(lambda: len(member.owned) == 1, member)
    with pytest.raises(SendFailed, match="GroupNotEmpty"):
        ask("delete", group)
    with pytest.raises(SendFailed, match="UnknownMemberId"):
        ask("alter", group, f"{kafka_topic}:0=5=")
    with pytest.raises(SendFailed, match="GroupSubscribedToTopic"):
        ask("delete-offsets", group, f"{kafka_topic}:0=0=")


def test_static_member_is_removed(kafka_topic: str, group: str, open_member: OpenMember, ask: Ask) -> None:
    member = open_member("java", kafka_topic, instance="one")
    until(lambda: len(member.owned) == 1, member)
    member.close()
    assert len(ask("describe", group)) == 2
    ask("remove", group, "one")
    assert ask("describe", group) == [["group", group, "Classic", "Empty", ""]]
