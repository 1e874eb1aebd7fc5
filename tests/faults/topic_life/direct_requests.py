"""Requests to a broker in this process, each with everything filled in that a life does not vary."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from tests.faults.random_life.violation import Violation, require
from tests.faults.topic_life.direct_client import DirectClient
from tests.faults.topic_life.found_partition import FoundPartition, find_partition, list_offset
from tests.faults.topic_life.requests import PATIENCE, CoordinatorOff, Requests

from barnabas.base.errors import ErrorCode

TRANSACTION_TIMEOUT_MS = 2**31 - 1
_TOPIC = 2
_GROUP_KEY, _TRANSACTION_KEY = 0, 1
_RETRIABLE = {
    ErrorCode.not_coordinator,
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.concurrent_transactions,
    ErrorCode.not_enough_replicas,  # a transaction that cannot be verified yet
}
COORDINATOR_IS_OFF = {*_RETRIABLE, ErrorCode.kafka_storage_error, ErrorCode.unknown_topic_or_partition}


class DirectRequests(Requests):
    def __init__(self, client: DirectClient) -> None:
        super().__init__()
        self._client: DirectClient = client

    # --- topics ---------------------------------------------------------------------------------------

    async def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> UUID:
        topic = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": 1,
            "assignments": [],
            "configs": [{"name": key, "value": value} for key, value in configs.items()],
        }
        answer = await self._client.call(
            "create_topics", 7, topics=[topic], timeout=10_000, validate_only=False
        )
        (created,) = answer.topics
        require(not created.error_code, f"create {name}: {created.error_code!r} {created.error_message}")
        found: UUID = created.topic_id
        return found

    async def delete_topic(self, name: str) -> None:
        topics = [{"name": name, "topic_id": None}]
        answer = await self._client.call("delete_topics", 6, topics=topics, timeout=10_000)
        require(not answer.responses[0].error_code, f"delete {name}: {answer.responses[0].error_code!r}")

    async def topics(self) -> dict[str, tuple[UUID, int]]:
        answer = await self._client.call(
            "metadata",
            12,
            topics=None,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
        return {
            each.name: (each.topic_id, len(each.partitions)) for each in answer.topics if not each.is_internal
        }

    async def alter_configs(self, topic: str, configs: Mapping[str, str | None]) -> None:
        changes = [
            {"name": key, "config_operation": 1 if value is None else 0, "value": value}
            for key, value in configs.items()
        ]
        resource = {"resource_type": _TOPIC, "resource_name": topic, "configs": changes}
        answer = await self._client.call(
            "incremental_alter_configs", 1, resources=[resource], validate_only=False
        )
        (changed,) = answer.responses
        require(not changed.error_code, f"configure {topic}: {changed.error_code!r} {changed.error_message}")

    async def configs(self, topic: str) -> dict[str, str]:
        resource = {"resource_type": _TOPIC, "resource_name": topic, "configuration_keys": None}
        answer = await self._client.call(
            "describe_configs", 4, resources=[resource], include_synonyms=False, include_documentation=False
        )
        (described,) = answer.results
        require(not described.error_code, f"describe {topic}: {described.error_code!r}")
        return {each.name: each.value for each in described.configs if each.config_source == 1}

    # --- records --------------------------------------------------------------------------------------

    async def produce(
        self, topic: str, partition: int, batch: bytes, transactional_id: str | None = None
    ) -> Any:
        data = [{"name": topic, "partition_data": [{"index": partition, "records": batch}]}]
        fields = {"transactional_id": transactional_id, "acks": -1, "timeout": 30_000, "topic_data": data}

        async def send() -> Any:
            answer = await self._client.call("produce", 12, **fields)
            return answer.responses[0].partition_responses[0]

        return await self._settled(send) if transactional_id is not None else await send()

    async def delete_records(self, topic: str, partition: int, offset: int) -> Any:
        topics = [{"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}]
        answer = await self._client.call("delete_records", 2, topics=topics, timeout=10_000)
        return answer.topics[0].partitions[0]

    async def list_offset(self, topic: str, partition: int, timestamp: int, isolation: int = 0) -> Any:
        return await list_offset(self._client, topic, partition, timestamp, isolation)

    async def find_partition(self, topic: str, partition: int) -> FoundPartition:
        return await find_partition(self._client, topic, partition)

    # --- coordinators ---------------------------------------------------------------------------------

    async def init_producer_id(self, transactional_id: str | None) -> tuple[int, int]:
        if transactional_id is not None:
            await self._find(transactional_id, _TRANSACTION_KEY)
        answer = await self._settled(
            lambda: self._client.call(
                "init_producer_id",
                5,
                transactional_id=transactional_id,
                transaction_timeout=TRANSACTION_TIMEOUT_MS,
                producer_id=-1,
                producer_epoch=-1,
            )
        )
        require(not answer.error_code, f"InitProducerId {transactional_id}: {answer.error_code!r}")
        return answer.producer_id, answer.producer_epoch

    async def end_transaction(
        self, transactional_id: str, producer: Mapping[str, int], *, is_commit: bool
    ) -> Any:
        return await self._settled(
            lambda: self._client.call(
                "end_txn", 5, transactional_id=transactional_id, **producer, committed=is_commit
            )
        )

    async def markers_are_missing(self) -> bool:
        answer = await self._settled(
            lambda: self._client.call(
                "list_transactions",
                1,
                state_filters=["PrepareCommit", "PrepareAbort"],
                producer_id_filters=[],
                duration_filter=-1,
            )
        )
        require(not answer.error_code, f"ListTransactions: {answer.error_code!r}")
        return bool(answer.transaction_states)

    async def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        await self._find(group, _GROUP_KEY)
        fields = {
            "group_id": group,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": _committed(topic, partition, offset),
        }

        async def send() -> Any:
            return (await self._client.call("offset_commit", 9, **fields)).topics[0].partitions[0]

        answer = await self._settled(send)
        require(not answer.error_code, f"OffsetCommit {group} {topic}-{partition}: {answer.error_code!r}")

    async def commit_offset_in_transaction(
        self,
        transactional_id: str,
        producer: Mapping[str, int],
        group: str,
        topic: str,
        partition: int,
        offset: int,
    ) -> None:
        await self._find(group, _GROUP_KEY)
        fields = {
            "transactional_id": transactional_id,
            "group_id": group,
            **producer,
            "generation_id": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": _committed(topic, partition, offset),
        }

        async def send() -> Any:
            return (await self._client.call("txn_offset_commit", 5, **fields)).topics[0].partitions[0]

        answer = await self._settled(send)
        require(not answer.error_code, f"TxnOffsetCommit {group} {topic}-{partition}: {answer.error_code!r}")

    async def committed_offsets(self, group: str) -> dict[tuple[str, int], int]:
        await self._find(group, _GROUP_KEY)
        groups = [{"group_id": group, "member_id": None, "member_epoch": -1, "topics": None}]

        async def send() -> Any:
            answer = await self._client.call("offset_fetch", 9, groups=groups, require_stable=False)
            return answer.groups[0]

        answer = await self._settled(send)
        require(not answer.error_code, f"OffsetFetch {group}: {answer.error_code!r}")
        return {
            (topic.name, each.partition_index): each.committed_offset
            for topic in answer.topics
            for each in topic.partitions
            if each.committed_offset >= 0
        }

    async def _find(self, key: str, key_type: int) -> None:
        async def send() -> Any:
            answer = await self._client.call("find_coordinator", 4, key_type=key_type, coordinator_keys=[key])
            return answer.coordinators[0]

        answer = await self._settled(send)
        require(not answer.error_code, f"FindCoordinator {key}: {answer.error_code!r}")

    async def _settled(self, send: Callable[[], Any]) -> Any:
        """The answer, once the coordinator is ready to give one."""
        deadline = asyncio.get_running_loop().time() + (0.3 if self.coordinators_may_be_off else PATIENCE)
        while True:
            answer = await send()
            code = ErrorCode(answer.error_code)
            if code not in _RETRIABLE:
                if self.coordinators_may_be_off and code in COORDINATOR_IS_OFF:
                    raise CoordinatorOff(code.name)
                return answer
            if asyncio.get_running_loop().time() > deadline:
                if self.coordinators_may_be_off:
                    raise CoordinatorOff(code.name)
                raise Violation(f"a coordinator stays {code.name}")
            await asyncio.sleep(0.001)


def _committed(topic: str, partition: int, offset: int) -> list[dict[str, object]]:
    committed = {"partition_index": partition, "committed_offset": offset, "committed_metadata": ""}
    return [{"name": topic, "partitions": [{**committed, "committed_leader_epoch": -1}]}]
