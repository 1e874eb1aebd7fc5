"""A long request is answered with the bytes that it would get if it were handled at once."""

import asyncio
import dataclasses
import struct
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

import pytest
from kio.index import load_request_schema
from tests.fakes.connection import FakeConnection
from tests.fakes.node import Node, entity
from tests.strategies.entities import entity_in, written

from barnabas.base.loop_holds import LoopHolds
from barnabas.handlers import long_request_table
from barnabas.handlers.dispatch import Dispatcher
from barnabas.handlers.long_fetch import completed
from barnabas.handlers.registry import APIS
from barnabas.network.connection import Connection
from barnabas.network.slices import SLICE_SECONDS, Slices

NAMES = ["orders", "payments", "unknown", "", "bad name", *[f"x{number}" for number in range(12)]]
ID = UUID(int=7)


def _topics(inner: dict[str, Any], counts: tuple[int, ...] = (1, 11, 0, 4)) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "topic": name,
            "topic_id": ID,
            "partitions": [{"partition_index": n, "partition": n, **inner} for n in range(count)],
        }
        for name, count in zip(["orders", "payments", "unknown", "x"], counts, strict=True)
    ]


def _indexes() -> list[dict[str, Any]]:
    return [{**topic, "partition_indexes": list(range(len(topic["partitions"])))} for topic in _topics({})]


REQUESTS: list[tuple[str, int, dict[str, Any]]] = [
    ("list_offsets", 3, {"topics": _topics({"timestamp": -1})}),
    ("list_offsets", 9, {"replica_id": -1, "topics": _topics({"timestamp": -1})}),
    ("metadata", 4, {"topics": [{"name": name} for name in NAMES]}),
    ("metadata", 12, {"topics": [{"name": name, "topic_id": None} for name in NAMES]}),
    ("offset_commit", 7, {"group_id": "g", "generation_id_or_member_epoch": -1, "topics": _topics({})}),
    ("offset_commit", 9, {"group_id": "g", "generation_id_or_member_epoch": -1, "topics": _topics({})}),
    ("offset_fetch", 6, {"group_id": "g", "topics": _indexes()}),
    ("offset_fetch", 8, {"groups": [{"group_id": g, "topics": _indexes()} for g in ("g", "h")]}),
    ("find_coordinator", 4, {"key_type": 0, "coordinator_keys": NAMES}),
    ("describe_groups", 3, {"groups": NAMES}),
    ("describe_groups", 6, {"groups": NAMES}),
    ("delete_groups", 1, {"groups_names": NAMES}),
    ("delete_groups", 2, {"groups_names": NAMES}),
    ("delete_topics", 3, {"topic_names": NAMES[2:]}),
    ("delete_topics", 6, {"topics": [{"name": name, "topic_id": None} for name in NAMES[2:]]}),
    ("delete_records", 1, {"topics": _topics({"offset": 0})}),
    ("delete_records", 2, {"topics": _topics({"offset": 0})}),
    ("offset_for_leader_epoch", 3, {"topics": _topics({"leader_epoch": 0})}),
    ("offset_for_leader_epoch", 4, {"topics": _topics({"leader_epoch": 0})}),
    ("describe_configs", 4, {"resources": [{"resource_type": 2, "resource_name": n} for n in NAMES]}),
    ("describe_producers", 0, {"topics": _indexes()}),
    ("describe_transactions", 0, {"transactional_ids": NAMES}),
    ("consumer_group_describe", 1, {"group_ids": NAMES}),
]


def _fitting(kind: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Without the fields that this version lacks."""
    fitting = {}
    for field in dataclasses.fields(kind):
        if field.name in values:
            value, inner = values[field.name], entity_in(field.type)
            fitting[field.name] = value if inner is None else [_fitting(inner, each) for each in value]
    return fitting


def encode(api: str, version: int, **fields: Any) -> bytes:
    """Header and body; what is not given has its default."""
    key = next(each.key for each in APIS.values() if each.module.endswith(f".{api}"))
    schema = load_request_schema(key, version)
    header = {"request_api_key": key, "request_api_version": version, "correlation_id": 99, "client_id": "x"}
    return written(entity(schema.__header_schema__, header)) + written(
        entity(schema, _fitting(schema, fields))
    )


async def _answer(node: Node, frame: bytes) -> bytes:
    connection = FakeConnection()
    dispatcher = Dispatcher(node.contexts, asyncio.get_running_loop())
    given = dispatcher.on_frame(cast(Connection, connection), memoryview(frame).toreadonly())
    assert given is not None, connection.closed
    parts = await completed(given)
    assert not connection.closed
    return b"".join(cast(bytes, part) for part in parts)


def _cut(monkeypatch: pytest.MonkeyPatch, *, is_cut: bool) -> None:
    """Cut everything into parts of three elements, or nothing."""
    long_request_table.cut_of.cache_clear()
    table = {
        key: entry._replace(frame_bytes=0 if is_cut else 1 << 30, most=3)
        for key, entry in long_request_table.TABLE.items()
    }
    for key, entry in table.items():
        monkeypatch.setitem(long_request_table.TABLE, key, entry)


@pytest.mark.parametrize(("api", "version", "fields"), REQUESTS, ids=lambda each: str(each)[:30])
def test_parts_are_answered_as_the_whole(
    node: Node, monkeypatch: pytest.MonkeyPatch, api: str, version: int, fields: dict[str, Any]
) -> None:
    node.create_topic("orders", 2)
    node.create_topic("payments", 12)
    node.append("payments", 1, 2, 3, partition=5)
    frame = encode(api, version, **fields)

    async def scenario() -> tuple[bytes, bytes]:
        _cut(monkeypatch, is_cut=False)
        whole = await _answer(node, frame)
        _cut(monkeypatch, is_cut=True)
        return whole, await _answer(node, frame)

    try:
        whole, in_parts = asyncio.run(scenario())
    finally:
        long_request_table.cut_of.cache_clear()
    assert struct.unpack_from(">i", in_parts) == (len(in_parts) - 4,)
    assert in_parts == whole


class Time:
    """Each look at it takes a millisecond."""

    def __init__(self) -> None:
        self.now: float = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


def test_others_have_their_turn_while_a_long_request_is_answered(node: Node) -> None:
    time = Time()
    serving = replace(node.contexts.serving, slices=Slices(time), holds=LoopHolds(time))
    node.contexts = replace(node.contexts, serving=serving)
    frame = encode("describe_groups", 5, groups=["g"] * 20_000)

    async def scenario() -> int:
        task = asyncio.get_running_loop().create_task(_answer(node, frame))
        passes = 0
        while not task.done():
            await asyncio.sleep(0)
            passes += 1
        assert len(await task) > 20_000
        return passes

    assert asyncio.run(scenario()) > 20_000 / 200 * 0.001 / SLICE_SECONDS
    assert serving.holds.count == 0


def test_array_that_is_not_cut_is_bounded(node: Node) -> None:
    resource = {"resource_type": 2, "resource_name": "orders", "configuration_keys": ["k"] * 20_001}
    frame = encode("describe_configs", 4, resources=[resource])

    async def scenario() -> list[tuple[str, bool]]:
        connection = FakeConnection()
        dispatcher = Dispatcher(node.contexts, asyncio.get_running_loop())
        dispatcher.on_frame(cast(Connection, connection), memoryview(frame).toreadonly())
        await dispatcher.drain()
        return connection.closed

    ((reason, is_fault),) = asyncio.run(scenario())
    assert is_fault
    assert reason == "configuration_keys has 20001 elements, more than this broker reads at once"


@pytest.mark.parametrize("size", [1, 5, 600, 6000])
def test_torn_request_closes_the_connection(node: Node, size: int) -> None:
    frame = encode("describe_groups", 5, groups=["group"] * 1000)

    async def scenario() -> list[tuple[str, bool]]:
        connection = FakeConnection()
        dispatcher = Dispatcher(node.contexts, asyncio.get_running_loop())
        dispatcher.on_frame(cast(Connection, connection), memoryview(frame[:-size]).toreadonly())
        await dispatcher.drain()
        return connection.closed

    ((reason, is_fault),) = asyncio.run(scenario())
    assert is_fault
    assert "malformed request" in reason
