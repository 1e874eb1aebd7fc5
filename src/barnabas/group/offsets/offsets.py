"""The offsets of one shard, as the shard uses them: requests, records, expiration.

Only `replay` and `replay_end_marker` change them. All other functions answer, or return records to write.
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from barnabas.group.environment import RequestContext, ShardEnvironment
from barnabas.group.groups import Groups
from barnabas.group.offsets.offset_commits import OffsetCommits, RenewSession
from barnabas.group.offsets.offset_deletion import OffsetDeletion
from barnabas.group.offsets.offset_expiry import OffsetExpiry
from barnabas.group.offsets.offset_fetches import OffsetFetches
from barnabas.group.offsets.offset_store import NO_PRODUCER_ID, OffsetStore
from barnabas.group.offsets.transactional_commits import TransactionalCommits
from barnabas.group.records import OffsetCommit, TopicCommit
from barnabas.metadata.image import TopicImage
from barnabas.runtime.outcome import Outcome
from barnabas.wire import Reply
from barnabas.wire.offset_commit import OffsetCommitRequest

if TYPE_CHECKING:
    from kio.schema.offset_delete.v0.request import OffsetDeleteRequest
    from kio.schema.txn_offset_commit.v5.request import TxnOffsetCommitRequest

CreateSimpleGroup = Callable[[str], object]
"""Adds an empty classic group without a protocol type: the owner of standalone commits."""


class Offsets:
    def __init__(
        self,
        groups: Groups,
        environment: ShardEnvironment,
        *,
        create_simple_group: CreateSimpleGroup,
        renew_session: RenewSession,
    ) -> None:
        self._groups: Groups = groups
        self._create_simple_group: CreateSimpleGroup = create_simple_group
        self._store: OffsetStore = OffsetStore()
        self._commits: OffsetCommits = OffsetCommits(groups, environment, renew_session)
        self.commit_again = self._commits.commit_again
        self._transactional_commits: TransactionalCommits = TransactionalCommits(groups, environment)
        self._fetches: OffsetFetches = OffsetFetches(groups, environment, self._store)
        self._deletion: OffsetDeletion = OffsetDeletion(groups, environment, self._store)
        self._expiry: OffsetExpiry = OffsetExpiry(groups, environment, self._store)

    def __len__(self) -> int:
        """The number of committed offsets."""
        return len(self._store.committed)

    # --- requests ------------------------------------------------------------------------------------------

    def commit(self, context: RequestContext, body: OffsetCommitRequest) -> Outcome[Reply]:
        return self._commits.commit(context, body)

    def commit_transactional(self, context: RequestContext, body: "TxnOffsetCommitRequest") -> Outcome[Reply]:
        return self._transactional_commits.commit(context, body)

    def fetch(self, context: RequestContext, group: Any, require_stable: bool) -> Reply:
        """One group of an OffsetFetch. Up to version 7 it is the request itself."""
        return self._fetches.fetch(context, group, require_stable=require_stable)

    def delete(self, context: RequestContext, body: "OffsetDeleteRequest") -> Outcome[Reply]:
        return self._deletion.delete(body)

    # --- deleted groups and topics -------------------------------------------------------------------------

    def has_offsets(self, group_id: str) -> bool:
        """Whether offsets are committed, or pending in a transaction."""
        return self._store.has_group(group_id)

    def delete_all(self, group_id: str) -> list[OffsetCommit]:
        """The tombstones of every offset of a group."""
        return self._store.tombstones_of(group_id)

    def on_topics_deleted(self, topics: Collection[TopicImage]) -> Outcome[None]:
        """`topics` are those of the last image that had them."""
        return self._deletion.on_topics_deleted(topics)

    def expire(self) -> Outcome[None]:
        """Start a sweep. The offsets that are not checked in this step follow on a timer."""
        return self._expiry.expire()

    # --- records -------------------------------------------------------------------------------------------

    def replay(self, record: OffsetCommit, *, producer_id: int = NO_PRODUCER_ID) -> None:
        """Apply a record. A record of a transactional batch waits for its producer's end marker."""
        if record.value is not None and self._groups.find(record.group_id) is None:
            self._create_simple_group(record.group_id)
        self._store.replay(record, producer_id)

    def replay_topic(self, record: TopicCommit) -> None:
        if self._groups.find(record.group_id) is None:
            self._create_simple_group(record.group_id)
        self._store.replay_topic(record)

    def replay_end_marker(self, producer_id: int, commit: bool) -> None:
        self._store.replay_end_marker(producer_id, is_commit=commit)
