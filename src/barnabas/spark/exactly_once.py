"""The protocol by which a batch that runs again writes nothing twice and loses nothing.

Task `i` of a query has one transactional id for ever, and beside it a group of the same name that holds its
progress: the number of the next batch, as a committed offset. An attempt at a batch

1. looks whether the batch was decided (`decisions`): then it ends its transaction as decided, and stops,
2. asks for a producer id: every earlier transaction of this id is over then, and whoever opened it is fenced,
3. reads the progress, and stops if the batch is in it,
4. produces its rows in a transaction,
5. commits `batch + 1` to the progress group in the same transaction,
6. leaves the transaction open, and tells the driver who may end it.

The driver writes its decision down, and ends all of them, once every task is done. Invariants: the
transactions of one id follow each other; rows of a batch are visible if and only if the progress is beyond
it; a batch counts as done for Spark only after every one of its transactions was committed; what was decided
is committed, unless it timed out before anybody came back for it. Only in that last case must the query have
the same rows in the same task when a batch runs again.

Nothing here knows Spark or a socket: the brokers are reached through the ports below.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, Protocol, TypeVar

from kio.schema.errors import ErrorCode

from barnabas.client.errors import BrokerError, ClientError
from barnabas.spark.decisions import Decision, Owner

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
"""A transaction that has ended, one way or the other, or that somebody else has taken over."""

_log = logging.getLogger(__name__)
Rows = TypeVar("Rows")


@dataclass(frozen=True, slots=True)
class BatchTask:
    """One task of one batch. Attempts at it are not told apart: the producer's epoch does that."""

    prefix: str
    query: str
    batch: int
    task: int

    @property
    def sink(self) -> str:
        """The group that holds the driver's decision."""
        return f"{self.prefix}-{self.query}"

    @property
    def transactional_id(self) -> str:
        """Also the name of its progress group."""
        return f"{self.sink}-{self.task}"


class Written(NamedTuple):
    rows: int
    first_topic: str | None
    """None where there was no row."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a task tells the driver. Without an owner there is no transaction to end."""

    transactional_id: str
    rows: int
    owner: Owner | None = None
    topic: str | None = None
    """One of those with rows."""
    is_skipped: bool = False
    """An earlier run of the batch had committed this task, or had decided that it has no rows."""

    @property
    def sink(self) -> str:
        return self.transactional_id.rpartition("-")[0]

    @property
    def task(self) -> int:
        return int(self.transactional_id.rpartition("-")[2])


class TransactionalProducer(Protocol):
    """The part of `wire.producer.Producer` that the protocol needs."""

    @property
    def identity(self) -> tuple[int, int]: ...

    def init(self) -> object: ...

    def send_offsets(self, group: str, offsets: Mapping[tuple[str, int], tuple[int, str]]) -> None: ...

    def flush(self) -> None: ...


class Coordinators(Protocol):
    """What is asked of transaction and group coordinators, from tasks and from the driver."""

    def next_batch(self, group: str) -> int:
        """The progress of a group, 0 if there is none; not before every transaction on it is settled."""

    def end(self, transactional_id: str, owner: Owner, *, commit: bool) -> None:
        """Repeated until it is answered. A transaction may be ended the same way twice."""

    def decision(self, sink: str) -> Decision | None:
        """The last that was written."""

    def decide(self, sink: str, topic: str, decision: Decision) -> None:
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

    A task without rows opens no transaction: it asks for nothing at all.
    """
    name = task.transactional_id
    first = next(batches, None)
    if first is None:
        return Outcome(name, 0)
    if _is_decided(task, coordinators):
        return Outcome(name, 0, is_skipped=True)
    producer.init()
    if coordinators.next_batch(name) > task.batch:
        _log.info("%s: batch %d is committed already and is skipped", name, task.batch)
        return Outcome(name, 0, is_skipped=True)
    try:
        written = write(chain([first], batches))
        if written.first_topic is None:
            return Outcome(name, 0)
        progress = {(written.first_topic, 0): (task.batch + 1, _remark(task, written.rows))}
        producer.send_offsets(name, progress)
        producer.flush()
    except BaseException:
        # An open transaction holds up every read_committed consumer of its topics until it times out.
        _give_up(name, producer, coordinators)
        raise
    return Outcome(name, written.rows, Owner(*producer.identity), written.first_topic)


def _is_decided(task: BatchTask, coordinators: Coordinators) -> bool:
    """Whether this task has nothing left to do, because the driver of an earlier run came so far."""
    decided = coordinators.decision(task.sink)
    if decided is None or decided.batch < task.batch:
        return False
    if decided.batch > task.batch:
        return True
    # A decision that does not name the task says that it has no rows, if it was carried out: a driver commits
    # the first of its transactions first.
    number = task.task if task.task in decided.owners else min(decided.owners)
    name = f"{task.sink}-{number}"
    try:
        coordinators.end(name, decided.owners[number], commit=True)
    except BrokerError as error:
        if error.code not in _NO_LONGER_OURS:
            raise
        # It timed out, or somebody took over: the progress tells whether it was committed.
        if coordinators.next_batch(name) <= task.batch:
            return False
    _log.info("%s: batch %d is as it was decided", task.transactional_id, task.batch)
    return True


def _remark(task: BatchTask, rows: int) -> str:
    """For people who look at the group; the protocol does not read it."""
    return json.dumps(
        {"query": task.query, "batch": task.batch, "task": task.task, "rows": rows}, separators=(",", ":")
    )


def _give_up(name: str, producer: TransactionalProducer, coordinators: Coordinators) -> None:
    with suppress(ClientError):
        coordinators.end(name, Owner(*producer.identity), commit=False)


# --- in the driver -------------------------------------------------------------------------------------


def commit_all(outcomes: Iterable[Outcome | None], batch: int, coordinators: Coordinators) -> None:
    """Decide, then end every transaction of the batch. Raises the first error: the batch has to run again."""
    told = [each for each in outcomes if each is not None]
    if not told:
        return
    sink = told[0].sink
    before = coordinators.decision(sink)
    fresh = {each.task: each.owner for each in told if each.owner is not None}
    decision = _decided(before, Decision(batch, fresh))
    topic = next((each.topic for each in told if each.topic is not None), None)
    if topic is not None and decision != before:
        coordinators.decide(sink, topic, decision)
    for task, owner in sorted(decision.owners.items()):
        _commit(f"{sink}-{task}", owner, batch, coordinators, is_fresh=task in fresh)
    if skipped := sum(each.is_skipped for each in told):
        _log.warning("batch %d ran again; %d of its tasks had been done before", batch, skipped)


def _decided(before: Decision | None, now: Decision) -> Decision:
    """With what an earlier run of the same batch has left to be committed. Raises what a zombie is told."""
    if before is None or before.batch < now.batch:
        return now
    is_overtaken = before.batch > now.batch and bool(now.owners)
    for task, owner in now.owners.items():
        known = before.owners.get(task, owner)
        is_overtaken |= known.producer_id == owner.producer_id and known.epoch > owner.epoch
    if is_overtaken:
        raise BrokerError(ErrorCode.producer_fenced, f"batch {before.batch} was decided by another driver")
    return now if before.batch > now.batch else Decision(now.batch, {**before.owners, **now.owners})


def _commit(name: str, owner: Owner, batch: int, coordinators: Coordinators, *, is_fresh: bool) -> None:
    try:
        coordinators.end(name, owner, commit=True)
    except BrokerError as error:
        if error.code not in _NO_LONGER_OURS:
            raise
        # The answer to a commit can get lost, and a zombie take the id over before it is asked again.
        if coordinators.next_batch(name) > batch:
            return
        if is_fresh:
            raise
        _log.warning("%s: batch %d was decided, timed out, and has no rows for it any more", name, batch)


def abort_all(outcomes: Iterable[Outcome | None], batch: int, coordinators: Coordinators) -> None:
    """Abort what is still open. Spark also calls this after a commit that failed halfway: what was decided
    stays as it is, and the next run of the batch ends it. Never raises: a transaction that stays open is
    aborted by the next attempt, or by its timeout.
    """
    held = [(each, each.owner) for each in outcomes if each is not None and each.owner is not None]
    try:
        decided = coordinators.decision(held[0][0].sink) if held else None
        kept = decided.owners if decided is not None and decided.batch == batch else {}
        for outcome, owner in held:
            if kept.get(outcome.task) != owner:
                _abort(outcome.transactional_id, owner, coordinators)
    except ClientError as error:
        # Nobody answers: asking for each of them again takes as long again.
        _log.warning("transactions of batch %d could not be aborted: %s", batch, error)


def _abort(name: str, owner: Owner, coordinators: Coordinators) -> None:
    try:
        coordinators.end(name, owner, commit=False)
    except BrokerError as error:
        if error.code not in _NO_LONGER_OURS:
            _log.warning("%s could not be aborted: %s", name, error)
