"""The offsets of one shard, as the shard sees them: requests, records, housekeeping.

`replay` and `replay_end_marker` alone change them; everything else answers, or says which records to write.
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from barnabas.coordinator.environment import RequestContext, ShardEnvironment
from barnabas.coordinator.group_records import OffsetCommit, TopicCommit
from barnabas.coordinator.groups import Groups
from barnabas.coordinator.offsets.offset_commits import OffsetCommits, RenewSession
from barnabas.coordinator.offsets.offset_deletion import OffsetDeletion
from barnabas.coordinator.offsets.offset_expiry import OffsetExpiry
from barnabas.coordinator.offsets.offset_fetches import OffsetFetches
from barnabas.coordinator.offsets.offset_store import NO_PRODUCER_ID, OffsetStore
from barnabas.coordinator.offsets.transactional_commits import TransactionalCommits
from barnabas.coordinator.outcome import Outcome
from barnabas.metadata.image import TopicImage
from barnabas.wire import Reply
from barnabas.wire.offset_commit import OffsetCommitRequest

if TYPE_CHECKING:
    from kio.schema.offset_delete.v0.request import OffsetDeleteRequest
    from kio.schema.txn_offset_commit.v5.request import TxnOffsetCommitRequest

CreateSimpleGroup = Callable[[str], object]
"""Puts an empty classic group without a protocol type among the groups: the owner of standalone commits."""


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
        """How many offsets are committed."""
        return len(self._store.committed)

    # --- requests ------------------------------------------------------------------------------------------

    def commit(self, context: RequestContext, body: OffsetCommitRequest) -> Outcome[Reply]:
        return self._commits.commit(context, body)

    def commit_transactional(self, context: RequestContext, body: "TxnOffsetCommitRequest") -> Outcome[Reply]:
        return self._transactional_commits.commit(context, body)

    def fetch(self, context: RequestContext, group: Any, require_stable: bool) -> Reply:
        """One group of an OffsetFetch, as it came; up to version 7 that is the request itself."""
        return self._fetches.fetch(context, group, require_stable=require_stable)

    def delete(self, context: RequestContext, body: "OffsetDeleteRequest") -> Outcome[Reply]:
        return self._deletion.delete(body)

    # --- groups and topics that go -------------------------------------------------------------------------

    def has_offsets(self, group_id: str) -> bool:
        """Committed, or pending in a transaction."""
        return self._store.has_group(group_id)

    def delete_all(self, group_id: str) -> list[OffsetCommit]:
        """What deletes every offset of a group."""
        return self._store.tombstones_of(group_id)

    def on_topics_deleted(self, topics: Collection[TopicImage]) -> Outcome[None]:
        """`topics` are as they were in the last image that had them."""
        return self._deletion.on_topics_deleted(topics)

    def expire(self) -> Outcome[None]:
        """Start a sweep; what is not looked at in this step follows on a timer."""
        return self._expiry.expire()

    # --- records -------------------------------------------------------------------------------------------

    def replay(self, record: OffsetCommit, *, producer_id: int = NO_PRODUCER_ID) -> None:
        """Apply a record; one of a transactional batch waits for its producer's end marker."""
        if record.value is not None and self._groups.find(record.group_id) is None:
            self._create_simple_group(record.group_id)
        self._store.replay(record, producer_id)

    def replay_topic(self, record: TopicCommit) -> None:
        if self._groups.find(record.group_id) is None:
            self._create_simple_group(record.group_id)
        self._store.replay_topic(record)

    def replay_end_marker(self, producer_id: int, commit: bool) -> None:
        self._store.replay_end_marker(producer_id, is_commit=commit)
