"""The coordinators of a cluster, as the exactly-once protocol asks them (`exactly_once.Coordinators`).

Every question is repeated until it is answered, or for as long as `patience` says: a broker may restart in
the middle of a batch, and an answer may get lost.
"""

import logging

from barnabas.client.admin.group_offsets import commit_offsets, committed_offsets
from barnabas.client.cluster import GROUP, Cluster
from barnabas.client.errors import check
from barnabas.spark.decisions import MOST_CHARACTERS, Decision, Owner
from barnabas.spark.wire.attempts import tried
from barnabas.spark.wire.end_transaction import end_transaction

_ONE_GROUP = 7
"""The last version of OffsetFetch for one group, and the first that can wait for open transactions."""
_UNSTABLE_OFFSET_COMMIT = 88
_BACKOFF = 0.02
_ABORT_PATIENCE = 10.0
"""An abort that is not answered changes nothing: the next attempt aborts, or the transaction's timeout."""
_log = logging.getLogger("barnabas.spark")


class ClusterCoordinators:
    def __init__(self, cluster: Cluster, patience: float) -> None:
        self._cluster: Cluster = cluster
        self._patience: float = patience

    def next_batch(self, group: str) -> int:
        """The largest of all topics that ever held the progress; 0 where none does."""

        def attempt() -> int:
            answer = self._cluster.ask_coordinator(
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

    def decision(self, sink: str) -> Decision | None:
        """Topics come and go, and with them where it is kept: that of the last batch counts."""
        found = tried(
            self._cluster,
            lambda: committed_offsets(self._cluster, sink),
            timeout=self._patience,
            backoff=_BACKOFF,
        )
        last = max(found.values(), key=lambda each: each.offset, default=None)
        return None if last is None else Decision.parsed(last.offset, last.metadata)

    def decide(self, sink: str, topic: str, decision: Decision) -> None:
        """One that is too long for a broker is left open: a second run must have the same rows then."""
        text = str(decision)
        if len(text) > MOST_CHARACTERS:
            _log.info("batch %d has too many tasks for a decision to be kept", decision.batch)
            text = ""
        tried(
            self._cluster,
            lambda: commit_offsets(self._cluster, sink, {(topic, 0): decision.batch}, metadata=text),
            timeout=self._patience,
            backoff=_BACKOFF,
        )
