"""The protocol by which a batch that runs again writes nothing twice and loses nothing.

Each task of a sink has one transactional id for ever, and beside it a group of the same name that holds its
progress: the number of the next batch, as a committed offset. An attempt at a batch

1. reads the last decision (`decisions`). It fails if the batch can neither follow that decision nor be the
   decided batch again (`lineage`). If the batch was decided, it ends its transaction as decided, and stops,
2. requests a producer id: every earlier transaction of this id is over then, and its producer is fenced,
3. reads the progress, and stops if the batch is in it,
4. produces its rows in a transaction,
5. commits `batch + 1` to the progress group in the same transaction,
6. leaves the transaction open, and reports its identity to the driver, which ends it.

Once every task is done, the driver checks that every transaction is still open, writes its decision, and ends
all of them. Invariants: the transactions of one id follow each other; rows of a batch are visible if and only
if the progress is beyond it; a batch counts as done for Spark only after every one of its transactions was
committed; what was decided is committed, unless it timed out before the batch ran again. Only in that last
case must the query have the same rows in the same task when a batch runs again.

Nothing here knows Spark or a socket: the brokers are reached through the ports below.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple, Protocol, TypeVar

from kio.schema.errors import ErrorCode

from barnabas.client.errors import BrokerError, ClientError
from barnabas.spark.decisions import Decision, Owner
from barnabas.spark.lineage import Lineage, StaleBatch, check_lineage, following, older_than
from barnabas.spark.sink_identity import SinkIdentity

_NO_LONGER_OURS = frozenset(
    {
        ErrorCode.producer_fenced,
        ErrorCode.invalid_producer_epoch,
        ErrorCode.invalid_producer_id_mapping,
        ErrorCode.invalid_txn_state,
        ErrorCode.transactional_id_not_found,
        ErrorCode.unknown_producer_id,
    }
)
"""Errors of a transaction that is committed or aborted, or that another producer has taken over."""

_log = logging.getLogger(__name__)
Rows = TypeVar("Rows")


class ExpiredTransaction(ClientError):
    """A batch took longer than its transactions may stay open."""


@dataclass(frozen=True, slots=True)
class BatchTask:
    """One task of one batch. It does not identify the attempt: the producer's epoch does."""

    sink: SinkIdentity
    batch: int
    task: int
    lineage: Lineage = field(default_factory=Lineage)

    @property
    def transactional_id(self) -> str:
        """Also the name of its progress group."""
        return self.sink.transactional_id(self.task)


class Written(NamedTuple):
    rows: int
    first_topic: str | None
    """None if there was no row."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a task reports to the driver. Without an owner there is no transaction to end."""

    rows: int
    task: BatchTask | None = None
    """None if rows are written at least once."""
    owner: Owner | None = None
    topic: str | None = None
    """One of those with rows."""
    is_skipped: bool = False
    """An earlier run of the batch had committed this task, or had decided that it has no rows."""


class TransactionalProducer(Protocol):
    """The part of `wire.producer.Producer` that the protocol needs."""

    @property
    def identity(self) -> tuple[int, int]: ...

    def init(self) -> object: ...

    def send_offsets(self, group: str, offsets: Mapping[tuple[str, int], tuple[int, str]]) -> None: ...

    def flush(self) -> None: ...

    def abort(self) -> None:
        """End the transaction so that no request in flight can become part of a later one."""


class Coordinators(Protocol):
    """The requests to transaction and group coordinators, from tasks and from the driver."""

    def next_batch(self, group: str) -> int:
        """The progress of a group, 0 if there is none; not before every transaction on it is settled."""

    def end(self, transactional_id: str, owner: Owner, *, commit: bool) -> None:
        """Repeated until it is answered. A transaction may be ended the same way twice."""

    def expired(self, owners: Mapping[str, Owner]) -> list[str]:
        """Those of these transactional ids whose transaction is neither open nor committed."""

    def decision(self, group: str) -> Decision | None:
        """The last that was written."""

    def decide(self, group: str, topic: str, decision: Decision) -> None:
        """Written when this returns; the topic is one that exists."""


# --- in a task -----------------------------------------------------------------------------------------


def write_once(
    task: BatchTask,
    batches: Iterator[Rows],
    producer: TransactionalProducer,
    coordinators: Coordinators,
    write: Callable[[Iterator[Rows]], Written],
) -> Outcome:
    """Steps 1 to 6. `write` produces all it is given and may leave it to `flush` to wait for the answers.

    A task without rows opens no transaction: it requests nothing at all. Raises StaleBatch.
    """
    name = task.transactional_id
    first = next(batches, None)
    if first is None:
        return Outcome(0, task)
    if _is_decided(task, coordinators):
        return Outcome(0, task, is_skipped=True)
    producer.init()
    if _is_committed(task, coordinators.next_batch(name)):
        _log.info("%s: batch %d is committed already and is skipped", name, task.batch)
        return Outcome(0, task, is_skipped=True)
    try:
        written = write(chain([first], batches))
        if written.first_topic is None:
            return Outcome(0, task)
        progress = {(written.first_topic, 0): (task.batch + 1, _remark(task, written.rows))}
        producer.send_offsets(name, progress)
        producer.flush()
    except BaseException:
        # An open transaction holds up every read_committed consumer of its topics until it times out.
        _give_up(name, producer)
        raise
    return Outcome(written.rows, task, Owner(*producer.identity), written.first_topic)


def _is_decided(task: BatchTask, coordinators: Coordinators) -> bool:
    """Whether this task has nothing left to do, because the driver of an earlier run came so far."""
    decided = coordinators.decision(task.sink.group)
    if decided is None:
        return False
    check_lineage(task.sink, task.batch, task.lineage, decided)
    if decided.batch < task.batch or not decided.owners:
        return False
    # A decision that does not name the task says that it has no rows, if it was carried out: a driver commits
    # the first of its transactions first.
    number = task.task if task.task in decided.owners else min(decided.owners)
    name = task.sink.transactional_id(number)
    try:
        coordinators.end(name, decided.owners[number], commit=True)
    except BrokerError as error:
        if error.code not in _NO_LONGER_OURS:
            raise
        # It timed out, or another producer took over: the progress says whether it was committed. A later
        # driver may have died with its transaction open. The task ends it when it takes over its own id, and
        # reads the progress then; here it would wait until that transaction times out.
        if number == task.task or not _is_committed(task, coordinators.next_batch(name)):
            return False
    _log.info("%s: batch %d is as it was decided", task.transactional_id, task.batch)
    return True


def _is_committed(task: BatchTask, next_batch: int) -> bool:
    """Raises StaleBatch if a later batch is committed: the decision on it was deleted with its topic."""
    if next_batch > task.batch + 1:
        raise StaleBatch(older_than(task.sink, task.batch, next_batch - 1))
    return next_batch == task.batch + 1


def _remark(task: BatchTask, rows: int) -> str:
    """For users that describe the group. The protocol does not read it."""
    found = {"application": task.sink.application, "batch": task.batch, "task": task.task, "rows": rows}
    return json.dumps(found, separators=(",", ":"))


def _give_up(name: str, producer: TransactionalProducer) -> None:
    try:
        producer.abort()
    except ClientError as error:
        _log.warning("%s stays open until the next attempt or its timeout: %s", name, error)


# --- in the driver -------------------------------------------------------------------------------------


def commit_all(outcomes: Iterable[Outcome | None], batch: int, coordinators: Coordinators) -> None:
    """Decide, then end every transaction of the batch. Raises the first error: the batch has to run again."""
    found = [(each, each.task) for each in outcomes if each is not None and each.task is not None]
    if not found:
        return
    sink, lineage = found[0][1].sink, found[0][1].lineage
    before = coordinators.decision(sink.group)
    if before is not None:
        check_lineage(sink, batch, lineage, before)
    fresh = {task.task: each.owner for each, task in found if each.owner is not None}
    decision = _decided(before, replace(following(batch, lineage, before), owners=fresh))
    topic = next((each.topic for each, _ in found if each.topic is not None), None)
    if fresh and decision != before:
        _check_open(sink, batch, fresh, coordinators)
    if before is not None and before.batch == batch:
        topic = topic or before.topic  # a run that takes a batch over without rows of its own says so, too
    if topic is not None and decision != before:
        coordinators.decide(sink.group, topic, decision)
    for task, owner in sorted(decision.owners.items()):
        _commit(sink.transactional_id(task), owner, batch, coordinators, is_fresh=task in fresh)
    if skipped := sum(each.is_skipped for each, _ in found):
        _log.warning("batch %d ran again; %d of its tasks had been done before", batch, skipped)


def _decided(before: Decision | None, now: Decision) -> Decision:
    """With what an earlier run of the same batch has left to be committed. Raises what fences a zombie."""
    if before is None or before.batch < now.batch:
        return now
    for task, owner in now.owners.items():
        known = before.owners.get(task, owner)
        if known.producer_id == owner.producer_id and known.epoch > owner.epoch:
            raise BrokerError(
                ErrorCode.producer_fenced, f"batch {before.batch} was decided by another driver"
            )
    plan, ends = now.plan or before.plan, now.end_offsets or before.end_offsets
    return replace(now, owners={**before.owners, **now.owners}, plan=plan, end_offsets=ends)


def _check_open(
    sink: SinkIdentity, batch: int, owners: Mapping[int, Owner], coordinators: Coordinators
) -> None:
    """A decision binds the runs to come: it must not name a transaction that is over already."""
    expired = coordinators.expired({sink.transactional_id(task): each for task, each in owners.items()})
    if expired:
        raise ExpiredTransaction(
            f"Batch {batch} is not committed: {len(expired)} of its {len(owners)} transactions are over "
            f"({expired[0]}). Either the batch took longer than kafka.transaction.timeout.ms, or another "
            "driver took over. The batch runs again. If it takes that long again, raise "
            "kafka.transaction.timeout.ms (brokers allow up to transaction.max.timeout.ms), or make batches "
            "smaller (maxOffsetsPerTrigger)."
        )


def _commit(name: str, owner: Owner, batch: int, coordinators: Coordinators, *, is_fresh: bool) -> None:
    try:
        coordinators.end(name, owner, commit=True)
    except BrokerError as error:
        if error.code not in _NO_LONGER_OURS:
            raise
        # The answer to a commit can get lost, and a zombie take the id over before it is sent again.
        if coordinators.next_batch(name) > batch:
            return
        if is_fresh:
            raise
        _log.warning("%s: batch %d was decided, timed out, and has no rows for it any more", name, batch)


def abort_all(outcomes: Iterable[Outcome | None], batch: int, coordinators: Coordinators) -> None:
    """Abort what is still open. Spark also calls this after a commit that failed halfway: what was decided
    stays as it is, and the next run of the batch ends it. Never raises: a transaction that stays open is
    aborted by the next attempt, or by its timeout. All rows of a task that has an outcome are acknowledged,
    so no request of it is in flight.
    """
    held = [
        (each.task, each.owner)
        for each in outcomes
        if each is not None and each.task is not None and each.owner is not None
    ]
    try:
        decided = coordinators.decision(held[0][0].sink.group) if held else None
        kept = decided.owners if decided is not None and decided.batch == batch else {}
        for task, owner in held:
            if kept.get(task.task) != owner:
                _abort(task.transactional_id, owner, coordinators)
    except ClientError as error:
        # No broker answers: the same request for each of them takes as long again.
        _log.warning("transactions of batch %d could not be aborted: %s", batch, error)


def _abort(name: str, owner: Owner, coordinators: Coordinators) -> None:
    try:
        coordinators.end(name, owner, commit=False)
    except BrokerError as error:
        if error.code not in _NO_LONGER_OURS:
            _log.warning("%s could not be aborted: %s", name, error)
