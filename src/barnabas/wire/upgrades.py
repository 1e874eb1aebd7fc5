"""Fields that were renamed between versions of a request: how the old name becomes the new one.

Each function takes the request as it came and returns the newest version's fields it can fill. APIs
whose fields only ever grew need nothing here.
"""

from collections.abc import Callable
from typing import Any

FIND_COORDINATOR = 10
JOIN_GROUP = 11
LEAVE_GROUP = 13
DELETE_TOPICS = 20
ADD_PARTITIONS_TO_TXN = 24


def _add_partitions_to_txn(raw: Any) -> dict[str, Any]:
    """Versions 0-3 name one transaction; version 4 several (KIP-890)."""
    if hasattr(raw, "transactions"):
        return {}
    from kio.schema.add_partitions_to_txn.v5.request import (
        AddPartitionsToTxnTopic,
        AddPartitionsToTxnTransaction,
    )

    topics = tuple(
        AddPartitionsToTxnTopic(name=topic.name, partitions=topic.partitions)
        for topic in raw.v3_and_below_topics
    )
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=raw.v3_and_below_transactional_id,
        producer_id=raw.v3_and_below_producer_id,
        producer_epoch=raw.v3_and_below_producer_epoch,
        topics=topics,
    )
    return {"transactions": (transaction,)}


def _delete_topics(raw: Any) -> dict[str, Any]:
    """Versions 1-5 list names; version 6 lists topics by name or id (KIP-516)."""
    if not hasattr(raw, "topic_names"):
        return {}
    from kio.schema.delete_topics.v6.request import DeleteTopicState

    return {"topics": tuple(DeleteTopicState(name=name, topic_id=None) for name in raw.topic_names)}


def _find_coordinator(raw: Any) -> dict[str, Any]:
    """Versions 0-3 request one key; version 4 several (KIP-699)."""
    return {} if hasattr(raw, "coordinator_keys") else {"coordinator_keys": (raw.key,)}


def _join_group(raw: Any) -> dict[str, Any]:
    """Version 0 has one timeout for the session and the rebalance."""
    return {} if hasattr(raw, "rebalance_timeout") else {"rebalance_timeout": raw.session_timeout}


def _leave_group(raw: Any) -> dict[str, Any]:
    """Versions 0-2 name one member; version 3 several (KIP-345)."""
    if hasattr(raw, "members"):
        return {}
    from kio.schema.leave_group.v5.request import MemberIdentity

    return {"members": (MemberIdentity(member_id=raw.member_id, group_instance_id=None, reason=None),)}


UPGRADES: dict[int, Callable[[Any], dict[str, Any]]] = {
    FIND_COORDINATOR: _find_coordinator,
    JOIN_GROUP: _join_group,
    LEAVE_GROUP: _leave_group,
    DELETE_TOPICS: _delete_topics,
    ADD_PARTITIONS_TO_TXN: _add_partitions_to_txn,
}
