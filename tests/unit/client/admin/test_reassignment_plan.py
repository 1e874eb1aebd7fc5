import json
import random
from pathlib import Path

import pytest

from barnabas.client.admin.checked_json import BadJson
from barnabas.client.admin.reassignment_plan import (
    BadPlan,
    Plan,
    format_plan,
    generate,
    parse_brokers,
    parse_plan,
    parse_topics,
    read_partitions,
    read_plan,
    usable_brokers,
)
from barnabas.client.admin.replica_log_dirs import Replica
from barnabas.client.cluster import Node


def _plan(*partitions: object, **more: object) -> str:
    return json.dumps({"version": 1, "partitions": list(partitions), **more})


def _entry(topic: str, partition: int, replicas: list[int], **more: object) -> dict[str, object]:
    return {"topic": topic, "partition": partition, "replicas": replicas, **more}


def test_plan_is_written_as_kafka_writes_it() -> None:
    text = format_plan({("b", 0): (1,), ("a", 10): (1, 2), ("a", 9): (2,)}, {Replica("a", 10, 2): "/d"})
    assert text == (
        '{"version":1,"partitions":[{"topic":"a","partition":9,"replicas":[2],"log_dirs":["any"]},'
        '{"topic":"a","partition":10,"replicas":[1,2],"log_dirs":["any","/d"]},'
        '{"topic":"b","partition":0,"replicas":[1],"log_dirs":["any"]}]}'
    )


def test_plan_that_was_written_is_read_back() -> None:
    replicas, dirs = {("ä", 0): (1, 2), ("a", 1): (3,)}, {Replica("ä", 0, 2): "/disk 2"}
    plan = parse_plan(format_plan(replicas, dirs))
    assert plan.replicas == replicas
    assert plan.log_dirs == dirs
    assert plan.topics == {"a", "ä"}
    assert plan.brokers == {1, 2, 3}


def test_directories_and_version_may_be_left_out() -> None:
    plan = parse_plan(json.dumps({"partitions": [_entry("a", 0, [1, 2])]}))
    assert plan == Plan(((("a", 0), (1, 2)),), {})
    assert parse_plan("{}").partitions == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The input is not valid JSON"),
        (
            _plan({"topic": "a", "partition": 2**31, "replicas": [1]}),
            "Expected `Integer` value, received 2147",
        ),
        ("[]", r"Expected JSON object, received \[\]"),
        ('{"version":2}', "Not supported version field value 2"),
        ('{"version":"1"}', 'Expected `Integer` value, received "1"'),
        ('{"partitions":{}}', r"Expected JSON array, received \{\}"),
        (_plan({"partition": 0, "replicas": [1]}), "No such field exists: `topic`"),
        (_plan({"topic": 7, "partition": 0, "replicas": [1]}), "Expected `String` value, received 7"),
        (
            _plan({"topic": "a", "partition": True, "replicas": [1]}),
            "Expected `Integer` value, received true",
        ),
        (_plan({"topic": "a", "partition": 0, "replicas": 1}), "Expected `JSON array` value, received 1"),
        (_plan(_entry("a", 0, [1, 2], log_dirs=["/x"])), r"Size of replicas list \[1, 2\] is different from"),
    ],
)
def test_invalid_plan_is_reported(text: str, message: str) -> None:
    with pytest.raises(BadJson, match=message):
        parse_plan(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_plan(), "^Partition reassignment list cannot be empty$"),
        (_plan(_entry("a", 0, [])), "^Partition replica list cannot be empty$"),
        (
            _plan(_entry("a", 0, [1]), _entry("b", 0, [1]), _entry("a", 0, [2])),
            "^Partition reassignment contains duplicate topic partitions: a-0$",
        ),
        (
            _plan(_entry("a", 0, [1, 2, 1]), _entry("b", 1, [3, 3])),
            (
                "^Partition replica lists may not contain duplicate entries: a-0 contains multiple entries "
                "for 1. b-1 contains multiple entries for 3$"
            ),
        ),
    ],
)
def test_plan_that_cannot_be_executed_is_refused(text: str, message: str) -> None:
    plan = parse_plan(text)
    with pytest.raises(BadJson, match=message):
        plan.checked()


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadJson, match=r"plan\.json: No such file or directory$"):
        read_plan(tmp_path / "plan.json")


def test_topics_to_move() -> None:
    assert parse_topics('{"version":1,"topics":[{"topic":"b"},{"topic":"a"}]}') == ["b", "a"]
    with pytest.raises(BadJson, match=r"^The input string is not a valid JSON$"):
        parse_topics("nonsense")
    with pytest.raises(BadJson, match=r"^Not supported version field value 3$"):
        parse_topics('{"version":3}')


def test_partitions_of_an_election(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text('{"partitions":[{"topic":"a","partition":1},{"topic":"b","partition":0}]}')
    assert read_partitions(file) == [("a", 1), ("b", 0)]
    for text, message in (
        ("", "^Replica election data is empty$"),
        ("{}", '^Replica election data is missing "partitions" field$'),
        (
            '{"partitions":[{"topic":"a","partition":1},{"topic":"a","partition":1}]}',
            r"^Replica election data contains duplicate partitions: \[a-1\]$",
        ),
    ):
        file.write_text(text)
        with pytest.raises(BadJson, match=message):
            read_partitions(file)


def test_brokers() -> None:
    assert parse_brokers("3,1,2") == [3, 1, 2]
    with pytest.raises(BadPlan, match=r'^For input string: "x"$'):
        parse_brokers("1,x")
    with pytest.raises(BadPlan, match=r"^Broker list contains duplicate entries: \[1\]$"):
        parse_brokers("1,2,1")


def test_generated_plan_keeps_replication_factors_and_uses_all_brokers() -> None:
    current = {("a", index): (1, 2) for index in range(12)} | {("b", 0): (1,)}
    proposed = generate(current, {4: None, 5: None, 6: None}, random.Random(1))
    assert proposed.keys() == current.keys()
    assert all(len(set(proposed["a", index])) == 2 for index in range(12))
    assert len(proposed["b", 0]) == 1
    leaders = [proposed["a", index][0] for index in range(12)]
    assert {leaders.count(broker) for broker in (4, 5, 6)} == {4}


def test_generated_plan_spreads_over_racks() -> None:
    racks = {1: "x", 2: "x", 3: "y", 4: "y"}
    current = {("a", index): (1, 2) for index in range(8)}
    proposed = generate(current, racks, random.Random(2))
    assert all({racks[broker] for broker in brokers} == {"x", "y"} for brokers in proposed.values())


def test_too_few_brokers_are_no_plan() -> None:
    with pytest.raises(BadPlan, match="replication factor of 2 cannot be reached because only 1 broker"):
        generate({("a", 0): (1, 2)}, {1: None})
    with pytest.raises(BadPlan, match="All brokers are currently fenced"):
        generate({("a", 0): (1,)}, {})


def test_racks_count_only_if_all_brokers_have_one() -> None:
    nodes = {1: Node(1, "h", 1, "x"), 2: Node(2, "h", 2, None), 3: Node(3, "h", 3, "y")}
    assert usable_brokers(nodes, [1, 3, 9], with_racks=True) == {1: "x", 3: "y"}
    assert usable_brokers(nodes, [1, 2], with_racks=False) == {1: None, 2: None}
    with pytest.raises(BadPlan, match=r"^Not all brokers have rack information. Add --disable-rack-aware"):
        usable_brokers(nodes, [1, 2], with_racks=True)
