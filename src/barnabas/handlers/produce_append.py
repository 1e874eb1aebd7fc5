"""The appends of one Produce request: what was stored, what failed, what has to wait."""

import logging

from barnabas.base.errors import (
    ErrorCode,
    InvalidRecord,
    InvalidRequiredAcks,
    InvalidTopic,
    KafkaError,
    NotLeaderOrFollower,
    UnknownTopicId,
    UnknownTopicOrPartition,
    error_of,
)
from barnabas.handlers.context import ClusterContext
from barnabas.handlers.leader_hints import hint_for
from barnabas.handlers.transaction_verification import Verification
from barnabas.records.deep_validation import DeepValidation, UnpackingDeferred
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import HostedTopic
from barnabas.storage.append_info import AppendInfo
from barnabas.wire.produce import FIRST_WITH_TOPIC_IDS, FIRST_WITH_ZSTD, ProducePartitionResult

logger = logging.getLogger("requests")

DEFERRED = ProducePartitionResult(-1, ErrorCode.unknown_server_error)
"""Stands for a result that is not known yet."""
_ERRORS_WITH_A_HINT = (ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch)


class Append:
    """The appends of one request; remembers what has to be waited for."""

    __slots__ = ("_acks", "_allow_zstd", "_context", "_version", "deferred", "failed", "waiting")

    def __init__(self, context: ClusterContext, version: int, acks: int) -> None:
        self._context: ClusterContext = context
        self._version: int = version
        self._acks: int = acks
        self._allow_zstd: bool = version >= FIRST_WITH_ZSTD
        self.failed: str | None = None
        self.waiting: list[tuple[Partition, AppendInfo]] = []
        self.deferred: list[DeepValidation] = []
        """Of the partitions whose result is `DEFERRED`, in their order."""

    def to_partition(
        self,
        hosted: HostedTopic | None,
        number: int,
        records: bytes | memoryview | None,
        prepared: DeepValidation | None = None,
    ) -> ProducePartitionResult:
        partition = None
        try:
            partition = self._find(hosted, number)
            if records is None:
                raise InvalidRecord("a partition without records")
            info = partition.append(
                records, self._acks, allow_zstd=self._allow_zstd, may_defer=True, prepared=prepared
            )
            if self._acks and partition.must_wait(info, self._acks):
                self.waiting.append((partition, info))
            return ProducePartitionResult(
                number, 0, info.base_offset, info.log_append_time, info.log_start_offset
            )
        except UnpackingDeferred as later:
            later.validation.keep()
            self.deferred.append(later.validation)
            return DEFERRED
        except Exception as error:  # noqa: BLE001  one bad partition does not spoil the others
            return self.failure(hosted, number, partition, error)

    def _find(self, hosted: HostedTopic | None, number: int) -> Partition:
        if self._acks not in (-1, 0, 1):
            raise InvalidRequiredAcks(f"acks={self._acks}: allowed are -1, 0 and 1")
        partition = None if hosted is None else hosted.partitions.get(number)
        if partition is None:
            if hosted is None and self._version >= FIRST_WITH_TOPIC_IDS:
                raise UnknownTopicId
            is_elsewhere = hosted is not None and self._context.image.partition(hosted.name, number)
            raise NotLeaderOrFollower if is_elsewhere else UnknownTopicOrPartition
        if hosted is not None and hosted.is_internal:
            raise InvalidTopic(f"only its coordinator writes to the internal topic {hosted.name}")
        return partition

    def failure(
        self, hosted: HostedTopic | None, number: int, partition: Partition | None, error: Exception
    ) -> ProducePartitionResult:
        code, message = error_of(error)
        self.failed = message
        if not isinstance(error, KafkaError):
            logger.error("Append to partition %s failed", number, exc_info=error)
        leader = None
        if code in _ERRORS_WITH_A_HINT:
            topic = None if hosted is None else hosted.name
            leader = hint_for(self._context, partition, topic, number)
        record_errors = tuple(getattr(error, "record_errors", ()))
        # If records are invalid, the response has the log start offset, as in Kafka.
        start = partition.log.log_start_offset if partition is not None and record_errors else -1
        return ProducePartitionResult(number, code, -1, -1, start, record_errors, message, leader)


class VerifiedAppend(Append):
    """The same for a request with transactional records, once their transaction is verified."""

    __slots__ = ("_verification",)

    def __init__(self, context: ClusterContext, version: int, acks: int, verification: Verification) -> None:
        super().__init__(context, version, acks)
        self._verification: Verification = verification

    def to_partition(
        self,
        hosted: HostedTopic | None,
        number: int,
        records: bytes | memoryview | None,
        prepared: DeepValidation | None = None,
    ) -> ProducePartitionResult:
        if self._verification.refusal is not None:
            return self.failure(hosted, number, None, self._verification.refusal)
        try:
            self._verification.check(self._find(hosted, number), records)
        except Exception as error:  # noqa: BLE001  one bad partition does not spoil the others
            return self.failure(hosted, number, None, error)
        return super().to_partition(hosted, number, records, prepared)
