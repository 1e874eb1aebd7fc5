"""The `__consumer_offsets` of Apache Kafka 4.3: its bytes, and what its own dump tool prints of them."""

import json
import re
from pathlib import Path
from typing import Any

from barnabas.base.ids import encode_uuid
from barnabas.group.record_codec import decode_record, encode_record
from barnabas.group.records import (
    ClassicGroupMetadata,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    EpochedAssignment,
    GroupRecord,
    OffsetCommit,
)
from barnabas.records.batch import iter_headers
from barnabas.records.record import Record, decode_records

GOLDEN = Path(__file__).parents[3] / "golden" / "apache-kafka-4.3"
NAME = "00000000000000000000.log"
PRINTED = re.compile(r"^\| offset: \d+ .* key: (\{.*\}) payload: (.*)$")


def golden_records() -> list[Record]:
    log = (GOLDEN / "log-dir" / "__consumer_offsets-0" / NAME).read_bytes()
    return [
        record
        for position, header in iter_headers(log)
        for record in decode_records(log[position : position + header.size])
    ]


def printed_records() -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    lines = (GOLDEN / "dumps" / f"__consumer_offsets-0_{NAME}.txt").read_text().splitlines()
    return [
        (json.loads(found[1]), None if found[2] == "<DELETE>" else json.loads(found[2]))
        for found in map(PRINTED.match, lines)
        if found is not None
    ]


def decoded(record: Record) -> GroupRecord:
    assert record.key is not None
    found = decode_record(record.key, record.value)
    assert found is not None
    return found


def test_kafkas_bytes_are_written_again() -> None:
    records = golden_records()
    assert len(records) == 25
    for record in records:
        assert encode_record(decoded(record)) == (record.key, record.value)


def test_records_are_read_as_kafka_prints_them() -> None:
    records, printed = golden_records(), printed_records()
    assert len(records) == len(printed)
    for record, (key, payload) in zip(records, printed, strict=True):
        group_record = decoded(record)
        expected = None if payload is None else payload["data"]
        assert key["data"] == key_as_printed(group_record)
        assert value_as_printed(group_record) == without_client_bytes(expected)


def without_client_bytes(value: dict[str, Any] | None) -> dict[str, Any] | None:
    """What members said to each other is bytes to the coordinator, and decoded in the dump."""
    for member in (value or {}).get("members", ()):
        del member["subscription"], member["assignment"]
    return value


def key_as_printed(record: GroupRecord) -> dict[str, Any]:
    match record:
        case OffsetCommit():
            return {"group": record.group_id, "topic": record.topic, "partition": record.partition}
        case ClassicGroupMetadata():
            return {"group": record.group_id}
        case ConsumerGroupMetadata() | ConsumerGroupTargetAssignmentMetadata():
            return {"groupId": record.group_id}
        case (
            ConsumerGroupMemberMetadata()
            | ConsumerGroupTargetAssignmentMember()
            | ConsumerGroupCurrentMemberAssignment()
        ):
            return {"groupId": record.group_id, "memberId": record.member_id}
        case _:
            raise AssertionError(record)


def value_as_printed(record: GroupRecord) -> dict[str, Any] | None:
    if record.value is None:
        return None
    match record:
        case OffsetCommit(value=offset) if offset is not None:
            return {
                "offset": offset.offset,
                "leaderEpoch": offset.leader_epoch,
                "metadata": offset.metadata,
                "commitTimestamp": offset.commit_timestamp_ms,
                "topicId": encode_uuid(offset.topic_id),
            }
        case ClassicGroupMetadata(value=group) if group is not None:
            return {
                "protocolType": group.protocol_type,
                "generation": group.generation,
                "protocol": group.protocol,
                "leader": group.leader,
                "currentStateTimestamp": group.current_state_timestamp_ms,
                "members": [
                    {
                        "memberId": member.member_id,
                        "groupInstanceId": member.group_instance_id,
                        "clientId": member.client_id,
                        "clientHost": member.client_host,
                        "rebalanceTimeout": member.rebalance_timeout_ms,
                        "sessionTimeout": member.session_timeout_ms,
                    }
                    for member in group.members
                ],
            }
        case ConsumerGroupMetadata(value=epoch) if epoch is not None:
            tagged = {"metadataHash": epoch.metadata_hash} if epoch.metadata_hash else {}
            return {"epoch": epoch.epoch} | tagged
        case _:
            return member_as_printed(record)


def member_as_printed(record: GroupRecord) -> dict[str, Any]:
    match record:
        case ConsumerGroupTargetAssignmentMetadata(value=target) if target is not None:
            return {
                "assignmentEpoch": target.assignment_epoch,
                "assignmentTimestamp": target.assignment_timestamp_ms,
            }
        case ConsumerGroupTargetAssignmentMember(value=topics) if topics is not None:
            return {
                "topicPartitions": [
                    {"topicId": encode_uuid(topic_id), "partitions": sorted(partitions)}
                    for topic_id, partitions in topics.items()
                ]
            }
        case ConsumerGroupMemberMetadata(value=member) if member is not None:
            return {
                "instanceId": member.instance_id,
                "rackId": member.rack_id,
                "clientId": member.client_id,
                "clientHost": member.client_host,
                "subscribedTopicNames": list(member.subscribed_topic_names),
                "subscribedTopicRegex": member.subscribed_topic_regex,
                "rebalanceTimeoutMs": member.rebalance_timeout_ms,
                "serverAssignor": member.server_assignor,
                "classicMemberMetadata": member.classic,
            }
        case ConsumerGroupCurrentMemberAssignment(value=current) if current is not None:
            return {
                "memberEpoch": current.member_epoch,
                "previousMemberEpoch": current.previous_member_epoch,
                "state": current.state,
                "assignedPartitions": epoched_as_printed(current.assigned),
                "partitionsPendingRevocation": epoched_as_printed(current.pending_revocation),
            }
        case _:
            raise AssertionError(record)


def epoched_as_printed(assignment: EpochedAssignment) -> list[dict[str, Any]]:
    return [
        {
            "topicId": encode_uuid(topic_id),
            "partitions": list(epochs),
            "assignmentEpochs": list(epochs.values()),
        }
        for topic_id, epochs in assignment.items()
    ]
