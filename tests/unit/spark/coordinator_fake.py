"""A transaction coordinator with the groups' progress in one value, and callers that die where a test says.

Transactions of version 1 keep the epoch when they end, those of version 2 raise it. Every call is a step; a
test names the step at which the caller dies: before the call has its effect, or after it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kio.schema.errors import ErrorCode

from barnabas.client.errors import BrokerError
from barnabas.spark.decisions import Decision, Owner
from barnabas.spark.exactly_once import Written

PRODUCER = 4000


class Died(BaseException):
    """kill -9: nothing in the process runs any more."""


@dataclass
class Transaction:
    epoch: int = -1
    state: str = "Empty"
    rows: list[str] = field(default_factory=list)
    progress: dict[tuple[str, int], int] = field(default_factory=dict)


class FakeCluster:
    def __init__(self, version: int = 2, die_at: Mapping[int, str] | None = None) -> None:
        self.version: int = version
        self.die_at: dict[int, str] = dict(die_at or {})
        self.steps: int = 0
        self.transactions: dict[str, Transaction] = {}
        self.groups: dict[str, dict[tuple[str, int], int]] = {}
        self.visible: list[str] = []
        self.decisions: dict[str, Decision | None] = {}
        self.commits_left: int | None = None
        """After so many commits the caller dies."""
        self.is_caller_dead: bool = False
        """Until a test starts it again: a dead process has no effect."""
        self.lose_answers: set[int] = set()
        """Steps that are done, but whose caller sees a lost connection. It retries, as real ports do."""

    # --- steps ---------------------------------------------------------------------------------------

    def before(self) -> int:
        if self.is_caller_dead:
            raise Died("already")
        self.steps += 1
        if self.die_at.get(self.steps) == "before":
            self.die(f"before step {self.steps}")
        return self.steps

    def after(self, step: int) -> None:
        if self.die_at.get(step) == "after":
            self.die(f"after step {step}")

    def die(self, when: str) -> None:
        self.is_caller_dead = True
        raise Died(when)

    # --- a coordinator ---------------------------------------------------------------------------------

    def init(self, name: str) -> int:
        step = self.before()
        transaction = self.transactions.setdefault(name, Transaction())
        self.finish(transaction, name, commit=False)
        transaction.epoch += 1
        transaction.state = "Empty"
        self.after(step)
        return transaction.epoch

    def time_out(self, name: str) -> None:
        transaction = self.transactions.get(name)
        if transaction is not None and transaction.state == "Ongoing":
            self.finish(transaction, name, commit=False)
            transaction.epoch += 1

    def finish(self, transaction: Transaction, name: str, *, commit: bool) -> None:
        if transaction.state == "Ongoing":
            if commit:
                self.visible += transaction.rows
                self.groups.setdefault(name, {}).update(transaction.progress)
            transaction.state = "CompleteCommit" if commit else "CompleteAbort"
        transaction.rows, transaction.progress = [], {}

    def join(self, name: str, epoch: int) -> Transaction:
        transaction = self.transactions[name]
        if epoch != transaction.epoch:
            raise BrokerError(ErrorCode.invalid_producer_epoch)
        transaction.state = "Ongoing"
        return transaction

    def end(self, transactional_id: str, owner: Owner, *, commit: bool) -> None:
        if commit and self.commits_left is not None:
            self.commits_left -= 1
            if self.commits_left < 0:
                self.commits_left = None
                self.die("between two commits")
        step = self.before()
        producer_id, producer_epoch = owner
        assert producer_id == PRODUCER
        transaction = self.transactions[transactional_id]
        wanted = "CompleteCommit" if commit else "CompleteAbort"
        is_again = self.version == 2 and producer_epoch == transaction.epoch - 1
        if producer_epoch != transaction.epoch and not (is_again and transaction.state == wanted):
            raise BrokerError(ErrorCode.producer_fenced)
        if transaction.state == "Ongoing":
            self.finish(transaction, transactional_id, commit=commit)
            transaction.epoch += self.version - 1
        elif transaction.state != wanted:
            raise BrokerError(ErrorCode.invalid_txn_state)
        self.after(step)
        if step in self.lose_answers:
            self.end(transactional_id, owner, commit=commit)

    def expired(self, owners: Mapping[str, Owner]) -> list[str]:
        self.after(self.before())
        return [name for name, owner in owners.items() if self.is_expired(self.transactions[name], owner)]

    def is_expired(self, transaction: Transaction, owner: Owner) -> bool:
        is_open = transaction.state == "Ongoing" and transaction.epoch == owner.epoch
        return not is_open and transaction.state != "CompleteCommit"

    def decision(self, group: str) -> Decision | None:
        self.after(self.before())
        return self.decisions.get(group)

    def decide(self, group: str, topic: str, decision: Decision) -> None:
        step = self.before()
        self.decisions[group] = Decision.parsed(decision.batch, str(decision), topic)
        self.after(step)

    def next_batch(self, group: str) -> int:
        self.after(self.before())
        return max(self.groups.get(group, {}).values(), default=0)


class FakeProducer:
    """Sends at `send`, one row a step."""

    def __init__(self, cluster: FakeCluster, name: str, topic: str = "out") -> None:
        self._cluster: FakeCluster = cluster
        self._name: str = name
        self._topic: str = topic
        self._epoch: int = -1

    @property
    def identity(self) -> tuple[int, int]:
        return PRODUCER, self._epoch

    def init(self) -> None:
        self._epoch = self._cluster.init(self._name)

    def write(self, batches: Iterator[str]) -> Written:
        rows = 0
        for row in batches:
            self.send(row)
            rows += 1
        return Written(rows, self._topic if rows else None)

    def send(self, row: str) -> None:
        step = self._cluster.before()
        self._cluster.join(self._name, self._epoch).rows.append(row)
        self._cluster.after(step)

    def send_offsets(self, group: str, offsets: Mapping[tuple[str, int], tuple[int, str]]) -> None:
        step = self._cluster.before()
        transaction = self._cluster.join(self._name, self._epoch)
        for topic_partition, (offset, _) in offsets.items():
            transaction.progress[topic_partition] = offset
        self._cluster.after(step)

    def flush(self) -> None:
        self._cluster.after(self._cluster.before())

    def abort(self) -> None:
        if self._epoch >= 0:
            self._cluster.end(self._name, Owner(*self.identity), commit=False)
