"""The coordinators of a cluster, as the exactly-once protocol uses them (`exactly_once.Coordinators`).

Every request is retried until a response arrives, or until `patience` is over: a broker may restart in the
middle of a batch, and a response may be lost.
"""

from collections.abc import Mapping

from barnabas.client.admin.group_offsets import commit_offsets, committed_offsets
from barnabas.client.cluster import GROUP, TRANSACTION, Cluster
from barnabas.client.errors import BrokerError, Unsupported, check
from barnabas.spark.decisions import Decision, Owner
from barnabas.spark.wire.attempts import tried
from barnabas.spark.wire.end_transaction import end_transaction

_ONE_GROUP = 7
"""The last version of OffsetFetch for one group, and the first that can wait for open transactions."""
_UNSTABLE_OFFSET_COMMIT = 88
_BACKOFF = 0.02
_ABORT_PATIENCE = 10.0
"""An abort that is not answered changes nothing: the next attempt aborts, or the transaction's timeout."""
_TRANSACTIONAL_ID_NOT_FOUND = 105
_COMMITTED = ("PrepareCommit", "CompleteCommit")


class ClusterCoordinators:
    def __init__(self, cluster: Cluster, patience: float) -> None:
        self._cluster: Cluster = cluster
        self._patience: float = patience

    def next_batch(self, group: str) -> int:
        """The largest of all topics that ever held the progress; 0 where none does."""

        def attempt() -> int:
            answer = self._cluster.send_to_coordinator(
                GROUP,
                group,
                "offset_fetch",
                max_version=_ONE_GROUP,
                group_id=group,
                topics=None,
                require_stable=True,
            )
            check(answer.error_code)
            offsets = [0]
            for topic in answer.topics:
                for each in topic.partitions:
                    check(each.error_code)
                    offsets.append(each.committed_offset)
            return max(offsets)

        return tried(
            self._cluster,
            attempt,
            timeout=self._patience,
            backoff=_BACKOFF,
            also={_UNSTABLE_OFFSET_COMMIT},
        )

    def end(self, transactional_id: str, owner: Owner, *, commit: bool) -> None:
        patience = self._patience if commit else min(self._patience, _ABORT_PATIENCE)
        end_transaction(self._cluster, transactional_id, *owner, commit, timeout=patience)

    def expired(self, owners: Mapping[str, Owner]) -> list[str]:
        """Brokers before 3.0 cannot say (KIP-664): none is expired there, and the commit finds out."""

        def attempt() -> list[str]:
            by_coordinator: dict[int, list[str]] = {}
            for name in owners:
                by_coordinator.setdefault(self._cluster.coordinator(TRANSACTION, name), []).append(name)
            found: list[str] = []
            for coordinator, names in by_coordinator.items():
                found += self._expired_at(coordinator, {name: owners[name] for name in names})
            return sorted(found)

        return tried(self._cluster, attempt, timeout=self._patience, backoff=_BACKOFF)

    def _expired_at(self, coordinator: int, owners: Mapping[str, Owner]) -> list[str]:
        try:
            answer = self._cluster.request(
                "describe_transactions", to=coordinator, transactional_ids=list(owners)
            )
        except Unsupported:
            return []
        expired = []
        for each in answer.transaction_states:
            if each.error_code != _TRANSACTIONAL_ID_NOT_FOUND:
                check(each.error_code, f"{each.transactional_id}: {BrokerError(each.error_code).message}")
            owner = owners[each.transactional_id]
            is_open = each.transaction_state == "Ongoing" and owner == (each.producer_id, each.producer_epoch)
            if not is_open and each.transaction_state not in _COMMITTED:
                expired.append(each.transactional_id)
        return expired

    def decision(self, group: str) -> Decision | None:
        """Topics come and go, and with them where it is kept: that of the last batch counts."""
        found = tried(
            self._cluster,
            lambda: committed_offsets(self._cluster, group),
            timeout=self._patience,
            backoff=_BACKOFF,
        )
        parsed = (Decision.parsed(each.offset, each.metadata, topic) for (topic, _), each in found.items())
        decisions = [each for each in parsed if each is not None]
        return max(decisions, key=lambda each: each.batch, default=None)

    def decide(self, group: str, topic: str, decision: Decision) -> None:
        """One of too many tasks is kept without them: a second run must have the same rows then."""
        text = str(decision)
        tried(
            self._cluster,
            lambda: commit_offsets(self._cluster, group, {(topic, 0): decision.batch}, metadata=text),
            timeout=self._patience,
            backoff=_BACKOFF,
        )
