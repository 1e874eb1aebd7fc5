"""One family of errors, and the one function that turns them into error codes.

Domain code raises a `KafkaError`. The response carries its code, the log line its message. The response
carries the message too if its version has a field for it. `error_of` is the only translation.
"""

from typing import ClassVar

from kio.schema.errors import ErrorCode

__all__ = [
    "ErrorCode",
    "KafkaError",
    "error_of",
    "ConcurrentTransactions",
    "CoordinatorLoadInProgress",
    "CoordinatorNotAvailable",
    "CorruptMessage",
    "DuplicateSequence",
    "FencedInstanceId",
    "FencedLeaderEpoch",
    "FencedMemberEpoch",
    "FetchSessionIdNotFound",
    "GroupIdNotFound",
    "GroupMaxSizeReached",
    "GroupSubscribedToTopic",
    "IllegalGeneration",
    "InconsistentGroupProtocol",
    "InconsistentTopicId",
    "InvalidCommitOffsetSize",
    "InvalidConfig",
    "InvalidFetchSessionEpoch",
    "InvalidGroupId",
    "InvalidPartitions",
    "InvalidProducerEpoch",
    "InvalidProducerIdMapping",
    "InvalidRecord",
    "InvalidRegularExpression",
    "InvalidReplicaAssignment",
    "InvalidReplicationFactor",
    "InvalidRequest",
    "InvalidRequiredAcks",
    "InvalidSessionTimeout",
    "InvalidTimestamp",
    "InvalidTopic",
    "InvalidTransactionTimeout",
    "InvalidTxnState",
    "LeaderNotAvailable",
    "LogDirNotFound",
    "MemberIdRequired",
    "MessageTooLarge",
    "NonEmptyGroup",
    "NotCoordinator",
    "NotEnoughReplicas",
    "NotLeaderOrFollower",
    "OffsetMetadataTooLarge",
    "OffsetNotAvailable",
    "OffsetOutOfRange",
    "OperationNotAttempted",
    "OutOfOrderSequence",
    "PolicyViolation",
    "ProducerFenced",
    "RebalanceInProgress",
    "RecordListTooLarge",
    "ReplicaNotAvailable",
    "RequestTimedOut",
    "StaleMemberEpoch",
    "StorageError",
    "TopicDeletionDisabled",
    "TopicExists",
    "TransactionAbortable",
    "TransactionCoordinatorFenced",
    "TransactionalIdAuthorizationFailed",
    "TransactionalIdNotFound",
    "UnknownLeaderEpoch",
    "UnknownMemberId",
    "UnknownProducerId",
    "UnknownServerError",
    "UnknownTopicId",
    "UnknownTopicOrPartition",
    "UnreleasedInstanceId",
    "UnstableOffsetCommit",
    "UnsupportedAssignor",
    "UnsupportedCompressionType",
    "UnsupportedForMessageFormat",
    "UnsupportedVersion",
]


class KafkaError(Exception):
    """An error that a Kafka client understands. Subclasses only name a code."""

    code: ClassVar[ErrorCode] = ErrorCode.unknown_server_error

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message: str = message or self.code.name.replace("_", " ")


class UnknownTopicOrPartition(KafkaError):
    code = ErrorCode.unknown_topic_or_partition


class UnknownTopicId(KafkaError):
    code = ErrorCode.unknown_topic_id


class InconsistentTopicId(KafkaError):
    code = ErrorCode.inconsistent_topic_id


class OffsetOutOfRange(KafkaError):
    code = ErrorCode.offset_out_of_range


class OffsetNotAvailable(KafkaError):
    code = ErrorCode.offset_not_available


class CorruptMessage(KafkaError):
    code = ErrorCode.corrupt_message


class InvalidRecord(KafkaError):
    code = ErrorCode.invalid_record


class InvalidTimestamp(KafkaError):
    code = ErrorCode.invalid_timestamp


class MessageTooLarge(KafkaError):
    code = ErrorCode.message_too_large


class RecordListTooLarge(KafkaError):
    code = ErrorCode.record_list_too_large


class InvalidRequiredAcks(KafkaError):
    code = ErrorCode.invalid_required_acks


class NotEnoughReplicas(KafkaError):
    code = ErrorCode.not_enough_replicas


class NotEnoughReplicasAfterAppend(KafkaError):
    code = ErrorCode.not_enough_replicas_after_append


class NotLeaderOrFollower(KafkaError):
    code = ErrorCode.not_leader_or_follower


class NotController(KafkaError):
    code = ErrorCode.not_controller


class NoReassignmentInProgress(KafkaError):
    code = ErrorCode.no_reassignment_in_progress


class StaleBrokerEpoch(KafkaError):
    code = ErrorCode.stale_broker_epoch


class BrokerIdNotRegistered(KafkaError):
    code = ErrorCode.broker_id_not_registered


class LeaderNotAvailable(KafkaError):
    code = ErrorCode.leader_not_available


class FencedLeaderEpoch(KafkaError):
    code = ErrorCode.fenced_leader_epoch


class UnknownLeaderEpoch(KafkaError):
    code = ErrorCode.unknown_leader_epoch


class ReplicaNotAvailable(KafkaError):
    code = ErrorCode.replica_not_available


class RequestTimedOut(KafkaError):
    code = ErrorCode.request_timed_out


class InvalidTopic(KafkaError):
    code = ErrorCode.invalid_topic_exception


class TopicExists(KafkaError):
    code = ErrorCode.topic_already_exists


class InvalidPartitions(KafkaError):
    code = ErrorCode.invalid_partitions


class InvalidReplicationFactor(KafkaError):
    code = ErrorCode.invalid_replication_factor


class InvalidReplicaAssignment(KafkaError):
    code = ErrorCode.invalid_replica_assignment


class InvalidConfig(KafkaError):
    code = ErrorCode.invalid_config


class InvalidRequest(KafkaError):
    code = ErrorCode.invalid_request


class TopicDeletionDisabled(KafkaError):
    code = ErrorCode.topic_deletion_disabled


class PolicyViolation(KafkaError):
    code = ErrorCode.policy_violation


class UnsupportedVersion(KafkaError):
    code = ErrorCode.unsupported_version


class UnsupportedForMessageFormat(KafkaError):
    code = ErrorCode.unsupported_for_message_format


class UnsupportedCompressionType(KafkaError):
    code = ErrorCode.unsupported_compression_type


class OutOfOrderSequence(KafkaError):
    code = ErrorCode.out_of_order_sequence_number


class DuplicateSequence(KafkaError):
    code = ErrorCode.duplicate_sequence_number


class InvalidProducerEpoch(KafkaError):
    code = ErrorCode.invalid_producer_epoch


class UnknownProducerId(KafkaError):
    code = ErrorCode.unknown_producer_id


class InvalidTxnState(KafkaError):
    code = ErrorCode.invalid_txn_state


class TransactionalIdNotFound(KafkaError):
    code = ErrorCode.transactional_id_not_found


class ConcurrentTransactions(KafkaError):
    code = ErrorCode.concurrent_transactions


class InvalidProducerIdMapping(KafkaError):
    code = ErrorCode.invalid_producer_id_mapping


class InvalidTransactionTimeout(KafkaError):
    code = ErrorCode.invalid_transaction_timeout


class ProducerFenced(KafkaError):
    code = ErrorCode.producer_fenced


class TransactionAbortable(KafkaError):
    code = ErrorCode.transaction_abortable


class TransactionCoordinatorFenced(KafkaError):
    code = ErrorCode.transaction_coordinator_fenced


class TransactionalIdAuthorizationFailed(KafkaError):
    code = ErrorCode.transactional_id_authorization_failed


class StorageError(KafkaError):
    code = ErrorCode.kafka_storage_error


class StorageBusy(StorageError):
    """Nothing is wrong with the disk and nothing was stored: the request can be repeated."""


class LogDirNotFound(KafkaError):
    code = ErrorCode.log_dir_not_found


class CoordinatorNotAvailable(KafkaError):
    code = ErrorCode.coordinator_not_available


class InvalidFetchSessionEpoch(KafkaError):
    code = ErrorCode.invalid_fetch_session_epoch


class FetchSessionIdNotFound(KafkaError):
    code = ErrorCode.fetch_session_id_not_found


class OperationNotAttempted(KafkaError):
    code = ErrorCode.operation_not_attempted


class CoordinatorLoadInProgress(KafkaError):
    code = ErrorCode.coordinator_load_in_progress


class NotCoordinator(KafkaError):
    code = ErrorCode.not_coordinator


class GroupIdNotFound(KafkaError):
    code = ErrorCode.group_id_not_found


class InvalidGroupId(KafkaError):
    code = ErrorCode.invalid_group_id


class UnknownMemberId(KafkaError):
    code = ErrorCode.unknown_member_id


class IllegalGeneration(KafkaError):
    code = ErrorCode.illegal_generation


class RebalanceInProgress(KafkaError):
    code = ErrorCode.rebalance_in_progress


class InconsistentGroupProtocol(KafkaError):
    code = ErrorCode.inconsistent_group_protocol


class InvalidSessionTimeout(KafkaError):
    code = ErrorCode.invalid_session_timeout


class MemberIdRequired(KafkaError):
    code = ErrorCode.member_id_required


class GroupMaxSizeReached(KafkaError):
    code = ErrorCode.group_max_size_reached


class FencedInstanceId(KafkaError):
    code = ErrorCode.fenced_instance_id


class NonEmptyGroup(KafkaError):
    code = ErrorCode.non_empty_group


class GroupSubscribedToTopic(KafkaError):
    code = ErrorCode.group_subscribed_to_topic


class OffsetMetadataTooLarge(KafkaError):
    code = ErrorCode.offset_metadata_too_large


class InvalidCommitOffsetSize(KafkaError):
    code = ErrorCode.invalid_commit_offset_size


class UnstableOffsetCommit(KafkaError):
    code = ErrorCode.unstable_offset_commit


class FencedMemberEpoch(KafkaError):
    code = ErrorCode.fenced_member_epoch


class StaleMemberEpoch(KafkaError):
    code = ErrorCode.stale_member_epoch


class UnreleasedInstanceId(KafkaError):
    code = ErrorCode.unreleased_instance_id


class UnsupportedAssignor(KafkaError):
    code = ErrorCode.unsupported_assignor


class InvalidRegularExpression(KafkaError):
    code = ErrorCode.invalid_regular_expression


class UnknownServerError(KafkaError):
    code = ErrorCode.unknown_server_error


def error_of(error: BaseException) -> tuple[ErrorCode, str]:
    """Returns the code and message of a response to `error`. Unexpected errors are UNKNOWN_SERVER_ERROR."""
    if isinstance(error, KafkaError):
        return error.code, error.message
    return ErrorCode.unknown_server_error, f"{type(error).__name__}: {error}"
