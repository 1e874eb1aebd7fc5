"""A member of a classic group as a client plays it, at one version of the protocol."""

from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode
from tests.fakes.node import Node

from barnabas.base.deferred import Deferred

JOIN, SYNC, HEARTBEAT, LEAVE = 9, 5, 4, 5
"""The newest versions."""


def versions_up_to(newest: int, join_version: int) -> int:
    """Clients of an age use old versions of all requests: as far below the newest."""
    return max(0, newest - (JOIN - join_version))


def join(node: Node, version: int = JOIN, *, member_id: str = "", **fields: Any) -> Deferred[Any]:
    body: dict[str, Any] = {
        "group_id": "g",
        "session_timeout": timedelta(seconds=10),
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"m"}],
    }
    if version >= 1:
        body["rebalance_timeout"] = timedelta(seconds=60)
    return node.send("JoinGroup", version, **body | fields)


def join_as_new(node: Node, version: int = JOIN, **fields: Any) -> Deferred[Any]:
    """Join without a member id; from version 4 on the first answer gives one."""
    answer = join(node, version, **fields)
    if version >= 4:
        assert answer.result().error_code is ErrorCode.member_id_required
        answer = join(node, version, member_id=answer.result().member_id, **fields)
    node.advance(0)  # the first rebalance begins with a delay, even if that is none
    return answer


def stable_leader(node: Node, version: int = JOIN) -> Any:
    """The only member of a group that has its assignment: its answer to JoinGroup."""
    joined = join_as_new(node, version).result()
    assert joined.error_code is ErrorCode.none
    sync_version = versions_up_to(SYNC, version)
    protocol = {"protocol_type": "consumer", "protocol_name": "range"} if sync_version >= SYNC else {}
    synced = node.ask(
        "SyncGroup",
        sync_version,
        **protocol,
        group_id="g",
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        assignments=[{"member_id": joined.member_id, "assignment": b"all"}],
    )
    assert (synced.error_code, synced.assignment) == (ErrorCode.none, b"all")
    return joined
