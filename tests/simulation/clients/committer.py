"""A client that commits ever greater offsets of a group, and reads them back."""

from contextlib import suppress
from typing import Any

from tests.simulation.clients.cluster_client import ClusterClient, Unavailable
from tests.simulation.history import GroupCommit, GroupRead, History, Outcome
from tests.simulation.network import Address

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition

_GROUP = 0
_PATIENCE_SECONDS = 60.0
_OFFSET_COMMIT, _OFFSET_FETCH = 8, 8


class Committer:
    def __init__(self, client: ClusterClient, history: History, partition: TopicPartition) -> None:
        self._client: ClusterClient = client
        self._history: History = history
        self._partition: TopicPartition = partition
        self._group: str = f"group of {client.name}"
        self._offset: int = 0

    async def commit(self) -> None:
        self._offset += 1
        commit = self._history.begin_commit(
            GroupCommit(self._group, self._partition, self._offset, self._client.now())
        )
        partition = {
            "partition_index": self._partition.partition,
            "committed_offset": self._offset,
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }
        fields: dict[str, object] = {
            "group_id": self._group,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"name": self._partition.topic, "partitions": [partition]}],
        }

        async def send(address: Address) -> Any:
            answer = await self._client.call(address, "offset_commit", _OFFSET_COMMIT, **fields)
            return answer.topics[0].partitions[0]

        with suppress(Unavailable):
            answer, commit.is_repeated = await self._client.of_coordinator(
                _GROUP, self._group, send, _PATIENCE_SECONDS
            )
            commit.ended = self._client.now()
            is_done = ErrorCode(answer.error_code) is ErrorCode.none
            commit.outcome = Outcome.DONE if is_done else Outcome.FAILED

    async def read(self) -> None:
        began = self._client.now()
        topics = [{"name": self._partition.topic, "partition_indexes": [self._partition.partition]}]
        groups = [{"group_id": self._group, "topics": topics}]

        async def send(address: Address) -> Any:
            answer = await self._client.call(
                address, "offset_fetch", _OFFSET_FETCH, groups=groups, require_stable=True
            )
            return answer.groups[0]

        with suppress(Unavailable):
            answer, _ = await self._client.of_coordinator(_GROUP, self._group, send, _PATIENCE_SECONDS)
            found = answer.topics[0].partitions[0]
            if not answer.error_code and not found.error_code:
                offset = found.committed_offset
                self._history.group_reads.append(
                    GroupRead(self._group, self._partition, offset, began, self._client.now())
                )
