"""The protocol by which a batch that runs again writes nothing twice and loses nothing.

Task `i` of a query has one transactional id for ever, and beside it a group of the same name that holds its
progress: the number of the next batch, as a committed offset. An attempt at a batch

1. asks for a producer id: every earlier transaction of this id is over then, and whoever opened it is fenced,
2. reads the progress, and stops if the batch is in it,
3. produces its rows in a transaction,
4. commits `batch + 1` to the progress group in the same transaction,
5. leaves the transaction open, and tells the driver who may end it.

The driver ends all of them once every task is done. Invariants: the transactions of one id follow each other;
rows of a batch are visible if and only if the progress is beyond it; a batch counts as done for Spark only
after every one of its transactions was committed. What is left to the query: the same rows in the same task
when a batch runs again, if the driver died between two of its commits.

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
    def transactional_id(self) -> str:
        """Also the name of its progress group."""
        return f"{self.prefix}-{self.query}-{self.task}"


class Written(NamedTuple):
    rows: int
    first_topic: str | None
    """None where there was no row."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a task tells the driver. Without a transaction (`producer_id` is None) there is nothing to end."""

    transactional_id: str
    rows: int
    producer_id: int | None = None
    producer_epoch: int = -1
    is_skipped: bool = False
    """An earlier run of the batch had committed this task."""


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

    def end(self, transactional_id: str, producer_id: int, producer_epoch: int, *, commit: bool) -> None:
        """Repeated until it is answered. A transaction may be ended the same way twice."""


# --- in a task -----------------------------------------------------------------------------------------


def write_once(
    task: BatchTask,
    batches: Iterator[Rows],
    producer: TransactionalProducer,
    coordinators: Coordinators,
    write: Callable[[Iterator[Rows]], Written],
) -> Outcome:
    """Steps 1 to 5. `write` produces all it is given and may leave it to `flush` to wait for the answers.

    A task without rows opens no transaction: it asks for nothing at all.
    """
    name = task.transactional_id
    first = next(batches, None)
    if first is None:
        return Outcome(name, 0)
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
    producer_id, epoch = producer.identity
    return Outcome(name, written.rows, producer_id, epoch)


def _remark(task: BatchTask, rows: int) -> str:
    """For people who look at the group; the protocol does not read it."""
    return json.dumps(
        {"query": task.query, "batch": task.batch, "task": task.task, "rows": rows}, separators=(",", ":")
    )


def _give_up(name: str, producer: TransactionalProducer, coordinators: Coordinators) -> None:
    with suppress(ClientError):
        producer_id, epoch = producer.identity
        coordinators.end(name, producer_id, epoch, commit=False)


# --- in the driver -------------------------------------------------------------------------------------


def commit_all(outcomes: Iterable[Outcome | None], batch: int, coordinators: Coordinators) -> None:
    """End every transaction of the batch. Raises the first error: the batch has to run again then."""
    skipped = 0
    for outcome in outcomes:
        if outcome is None:
            continue
        skipped += outcome.is_skipped
        if outcome.producer_id is not None:
            _commit(outcome, outcome.producer_id, batch, coordinators)
    if skipped:
        _log.warning("batch %d ran again; %d of its tasks had been committed before", batch, skipped)


def _commit(outcome: Outcome, producer_id: int, batch: int, coordinators: Coordinators) -> None:
    name = outcome.transactional_id
    try:
        coordinators.end(name, producer_id, outcome.producer_epoch, commit=True)
    except BrokerError as error:
        # The answer to a commit can get lost, and a zombie take the id over before it is asked again.
        if error.code in _NO_LONGER_OURS and coordinators.next_batch(name) > batch:
            return
        raise


def abort_all(outcomes: Iterable[Outcome | None], coordinators: Coordinators) -> None:
    """Abort what is still open. Spark also calls this after a commit that failed halfway: what is committed
    stays, and the next run of the batch skips it. Never raises: a transaction that stays open is aborted by
    the next attempt, or by its timeout.
    """
    for outcome in outcomes:
        if outcome is None or outcome.producer_id is None:
            continue
        try:
            coordinators.end(
                outcome.transactional_id, outcome.producer_id, outcome.producer_epoch, commit=False
            )
        except BrokerError as error:
            if error.code not in _NO_LONGER_OURS:
                _log.warning("%s could not be aborted: %s", outcome.transactional_id, error)
        except ClientError as error:
            _log.warning("%s and others could not be aborted: %s", outcome.transactional_id, error)
            return  # nobody answers: asking for each of them again takes as long again
