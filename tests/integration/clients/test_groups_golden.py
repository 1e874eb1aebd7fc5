"""The groups of Apache Kafka's log directory are known once it is adopted; its tool decodes what we write."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.clients.clients import every_member
from tests.integration.clients.drivers.group_client import Committed, Partition
from tests.integration.clients.drivers.member import Member, settle, until
from tests.integration.clients.golden_log_dir import GOLDEN, adopt
from tests.integration.clients.group_records import fill
from tests.integration.clients.group_requests import (
    commit_offset,
    fetch_offsets,
    new_heartbeat,
    wait_for_coordinator,
)
from tests.integration.clients.jars import java_command
from tests.integration.clients.raw import RawClient
from tests.patience import PROGRAM_PATIENCE

from barnabas.testing import Broker

OpenMember = Callable[..., Member]
_DECODED = re.compile(r" key: (?P<key>\{.*?\}) payload: (?P<payload>.*)$")
_GROUPS = ("golden-classic", "golden-consumer", "golden-standalone")
_DUMP = GOLDEN / "dumps" / "__consumer_offsets-0_00000000000000000000.log.txt"


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with adopt(tmp_path_factory.mktemp("adopted")) as broker:
        for group in _GROUPS:
            wait_for_coordinator(broker.port, group)  # its partition may still be loading
        yield broker


def _decoded(text: str) -> list[tuple[str, dict[str, Any], dict[str, Any] | None]]:
    """(type of the record, its key, its value) for every line that the tool could decode."""
    found = []
    for line in text.splitlines():
        if (match := _DECODED.search(line)) is not None:
            key = json.loads(match["key"])
            payload = None if match["payload"] == "<DELETE>" else json.loads(match["payload"])
            found.append((key["type"], key["data"], None if payload is None else payload["data"]))
    return found


def _offsets(text: str) -> dict[tuple[str, str, int], tuple[int, int, str]]:
    """(group, topic, partition) to (offset, leader epoch, metadata), as the newest records say."""
    known = {}
    for kind, key, value in _decoded(text):
        if kind == "1" and value is not None:
            name = key["group"], key["topic"], key["partition"]
            known[name] = value["offset"], value["leaderEpoch"], value["metadata"]
    return known


def test_committed_offsets_are_those_of_the_dump(adopted: Broker) -> None:
    expected = _offsets(_DUMP.read_text())
    assert {group for group, _, _ in expected} == set(_GROUPS)
    found = {}
    with RawClient(adopted.port) as client:
        for group in {group for group, _, _ in expected}:
            answer = fetch_offsets(client, group, None)
            assert answer.error_code == 0
            for topic in answer.topics:
                for each in topic.partitions:
                    described = each.committed_offset, each.committed_leader_epoch, each.metadata
                    found[group, topic.name, each.partition_index] = described
    assert found == expected


def test_groups_are_listed_with_their_types(adopted: Broker) -> None:
    with RawClient(adopted.port) as client:
        answer = client.call("list_groups", 5, states_filter=[], types_filter=[])
        while answer.error_code == 14:  # one of the fifty partitions is still being loaded
            answer = client.call("list_groups", 5, states_filter=[], types_filter=[])
        listed = answer.groups
    found = {each.group_id: (each.protocol_type, each.group_state, each.group_type) for each in listed}
    golden = {name: described for name, described in found.items() if name.startswith("golden-")}
    assert golden == {
        "golden-classic": ("consumer", "Empty", "classic"),
        "golden-consumer": ("consumer", "Empty", "consumer"),
        "golden-standalone": ("", "Empty", "classic"),
    }


@every_member
def test_members_go_on_where_apache_kafka_ended(
    adopted: Broker, open_member: OpenMember, client: str
) -> None:
    """Everything is read already, except in the standalone consumer's topic, which stopped at 11 of 20."""
    group = "golden-standalone"
    partition = Partition("plain", 0)
    alone = open_member(client, group=group, broker=adopted, reset="none")
    alone.do(lambda each: each.assign([partition]))
    found = alone.do(lambda each: each.committed([partition]))[partition]
    assert found is not None
    assert found.offset == 11
    until(lambda: len(alone.received) == 9, alone)
    assert [message.offset for message in alone.received] == list(range(11, 20))
    other = "golden-consumer" if client.endswith("-new") else "golden-classic"
    member = open_member(client, "plain", "codecs", group=other, broker=adopted, reset="none")
    until(lambda: len(member.owned) == 6, member)
    wanted = [Partition("codecs", number) for number in range(5)]
    committed = member.do(lambda each: each.committed(wanted))
    assert committed == dict.fromkeys(wanted, Committed(50))
    assert member.received == []


@pytest.mark.maven
@pytest.mark.needs("confluent_kafka")
def test_apache_kafkas_dump_tool_decodes_our_records(
    kafka_broker_factory: Callable[..., Broker], jars: Path, group: str, open_member: OpenMember
) -> None:
    broker = kafka_broker_factory(process=True)
    broker.create_topic("here", 2)
    fill(broker, "here", partitions=2, each=5)
    wait_for_coordinator(broker.port, "standalone")
    with RawClient(broker.port) as client:
        assert commit_offset(client, "standalone", "here", 3, leader_epoch=0, metadata="wörter") == 0
        new_heartbeat(client, "regex", "a-member", 0, subscribed_topic_regex="he.*")
    classic = open_member("confluent", "here", broker=broker, group="classic", instance="one")
    new = open_member("confluent-new", "here", broker=broker, group="new")
    settle(classic, topic="here", partitions=2)
    settle(new, topic="here", partitions=2)
    for member in (classic, new):
        until(lambda member=member: len(member.received) == 10, member)  # type: ignore[misc]
        member.do(lambda each: each.commit())
        member.close()
    broker.stop()
    segment = broker.log_dir / "__consumer_offsets-0" / "00000000000000000000.log"
    text = _dump(jars, segment)
    assert "isvalid: false" not in text
    assert text.count("| offset: ") == len(_decoded(text)), "something could not be decoded"
    offsets = _offsets(text)
    assert offsets["standalone", "here", 0] == (3, 0, "wörter")
    assert offsets["classic", "here", 0][0] == offsets["new", "here", 1][0] == 5
    kinds = {kind for kind, _, _ in _decoded(text)}
    # Offset, classic group, and the records of the new protocol: group epoch, member, epoch of the target,
    # target, current assignment, and what an expression stands for.
    assert kinds >= {"1", "2", "3", "5", "6", "7", "8", "16"}


def _dump(jars: Path, segment: Path) -> str:
    command = [*java_command(jars), "org.apache.kafka.tools.DumpLogSegments"]
    command += ["--offsets-decoder", "--files", str(segment)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PROGRAM_PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
