"""Random requests in random order, and the invariants of the transaction coordinator.

Producers of all versions begin, add, end, repeat requests, keep transactions of others and return as zombies.
Time passes, appends fail, markers are late, the coordinator moves. Invariants: the memory is equal to the
log. Every record is a legal transition from the one before. The epoch of a producer id never decreases. The
markers have the outcome that was decided. A repeated EndTxn gets the same response. A zombie that requests a
new epoch does not change the transaction of another producer.
"""

from typing import NamedTuple

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.transaction.transactions_shard import (
    TIMEOUT_MS,
    TransactionsShard,
    durable,
    through_codec,
)

from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    ConcurrentTransactions,
    CoordinatorNotAvailable,
    KafkaError,
    ProducerFenced,
)
from barnabas.transaction.requests import EndResult, InitResult
from barnabas.transaction.transaction import MAX_EPOCH, Transaction, TransactionState
from barnabas.transaction.transaction_record import TransactionRecord
from barnabas.transaction.transitions import can_follow

IDS = st.sampled_from(["x", "y"])
VERSIONS = st.sampled_from([1, 2, 2])
PICKS = st.integers(0, 10)


class End(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    version: int
    answer: EndResult


def _is_of_another(transaction: Transaction, producer: InitResult | EndResult) -> bool:
    current = (transaction.client_producer_id, transaction.client_epoch)
    return transaction.state is TransactionState.ONGOING and producer[:2] != current


class TransactionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.shard = TransactionsShard(is_two_phase_enabled=True, id_expiration_ms=10 * TIMEOUT_MS)
        self.producers: dict[str, list[InitResult | EndResult]] = {"x": [], "y": []}
        self.last_end: dict[str, End] = {}
        self.seen = 0

    @initialize(version=st.sampled_from([1, 2]))
    def start(self, version: int) -> None:
        self.shard = TransactionsShard(
            is_two_phase_enabled=True, id_expiration_ms=10 * TIMEOUT_MS, transaction_version=version
        )

    def _pick_producer(self, transactional_id: str, pick: int) -> InitResult | EndResult:
        """A producer that InitProducerId has returned, mostly the last one."""
        known = self.producers[transactional_id]
        return known[-1 - pick % min(len(known), 3)] if known and pick else (known or [InitResult(1, 0)])[-1]

    def _note(self, transactional_id: str, result: InitResult | EndResult) -> None:
        if result.producer_id != -1:
            for other in self.producers[transactional_id]:
                if other.producer_id == result.producer_id:
                    assert other.producer_epoch <= result.producer_epoch
            assert result.producer_epoch < MAX_EPOCH
            self.producers[transactional_id].append(result)

    # --- producers -----------------------------------------------------------------------------------------

    @rule(name=IDS, two_phase=st.booleans(), keep=st.booleans(), pick=st.none() | PICKS)
    def begin(self, name: str, two_phase: bool, keep: bool, pick: int | None) -> None:
        producer = None if pick is None else self._pick_producer(name, pick)
        before = {each.transactional_id: each for each in self._all()}.get(name)
        answer = self.shard.init(name, producer, enable_two_phase=two_phase, keep_prepared=keep)
        if producer is not None and not keep and before is not None and _is_of_another(before, producer):
            assert isinstance(answer.error, ProducerFenced)
            assert self.shard.get(name) == before
        if answer.error is None:
            self._note(name, answer.result())
        self.last_end.pop(name, None)

    @rule(name=IDS, pick=PICKS, version=VERSIONS, number=st.integers(0, 2))
    def add(self, name: str, pick: int, version: int, number: int) -> None:
        producer = self._pick_producer(name, pick)
        answer = self.shard.add(producer, f"orders-{number}", transactional_id=name, version=version)
        if answer.error is None:
            transaction = self.shard.get(name)
            assert (transaction.producer_id, transaction.producer_epoch) == producer[:2]
            self.last_end.pop(name, None)

    @rule(name=IDS, pick=PICKS, version=VERSIONS, commit=st.booleans())
    def end(self, name: str, pick: int, version: int, commit: bool) -> None:
        producer = self._pick_producer(name, pick)
        answer = self.shard.end(producer, commit=commit, transactional_id=name, version=version)
        if answer.error is None:
            result = answer.result()
            self._note(name, result)
            self.last_end[name] = End(name, *producer[:2], commit, version, result)

    @precondition(lambda self: self.last_end)
    @rule(name=IDS)
    def end_again(self, name: str) -> None:
        last = self.last_end.get(name)
        if last is None:
            return
        answer = self._repeat(last)
        assert isinstance(answer.error, ConcurrentTransactions) or answer.result() == last.answer

    def _repeat(self, last: End) -> Deferred[EndResult]:
        producer = EndResult(last.producer_id, last.producer_epoch)
        return self.shard.end(
            producer,
            commit=last.is_commit,
            transactional_id=last.transactional_id,
            version=last.version,
        )

    # --- what happens to the coordinator -------------------------------------------------------------------

    @rule()
    def write_markers(self) -> None:
        for prepared in self.shard.write_markers():
            state = self.shard.get(prepared.transactional_id).state
            assert state.is_complete
            assert (state is TransactionState.COMPLETE_COMMIT) is prepared.is_commit

    @rule(ms=st.sampled_from([1, 1_000, TIMEOUT_MS]))
    def pass_time(self, ms: int) -> None:
        self.shard.driver.advance(ms)
        for transaction in self._all():
            is_late = transaction.start_ms + transaction.timeout_ms <= self.shard.clock.now_ms()
            is_ongoing = transaction.state is TransactionState.ONGOING
            assert not (is_ongoing and is_late and not transaction.is_two_phase)
        self._forget_ends_of_others()

    def _forget_ends_of_others(self) -> None:
        """A timeout ends the transaction itself."""
        for name in list(self.last_end):
            if name not in {each.transactional_id for each in self._all()}:
                del self.last_end[name]

    @rule()
    def expire(self) -> None:
        before = {each.transactional_id: each for each in self._all()}
        self.shard.driver.run(self.shard.shard.expire())
        after = {each.transactional_id for each in self._all()}
        for name in before.keys() - after:
            assert before[name].state.can_expire
            self.last_end.pop(name, None)

    @rule()
    def fail_the_next_append(self) -> None:
        self.shard.driver.fail_next(CoordinatorNotAvailable("no disk"))
        answer = self.shard.init("x", enable_two_phase=True)
        if answer.error is None:
            self._note("x", answer.result())
        self.shard.driver._failures.clear()
        assert isinstance(answer.error, KafkaError)

    @rule()
    def move_the_coordinator(self) -> None:
        self.shard = self.shard.loaded()
        self.seen = len(self.shard.driver.records)

    @rule(name=IDS, left=st.integers(1, 3))
    def use_up_epochs(self, name: str, left: int) -> None:
        """Begin as many producers as needed, in one step."""
        transaction = next((each for each in self._all() if each.transactional_id == name), None)
        if transaction is None or transaction.state is not TransactionState.EMPTY:
            return
        epoch = max(transaction.producer_epoch, MAX_EPOCH - 1 - left)
        moved = transaction._replace(producer_epoch=epoch, last_producer_epoch=-1)
        self.shard.driver.records.append(TransactionRecord(moved, name))
        self.shard.shard.replay(TransactionRecord(moved, name))
        self.last_end.pop(name, None)

    # --- what must hold ------------------------------------------------------------------------------------

    def _all(self) -> list[Transaction]:
        return [*self.shard.shard._transactions.values()]

    @invariant()
    def memory_is_the_log(self) -> None:
        log: dict[str, Transaction] = {}
        for record in through_codec(self.shard.driver.records):
            log.pop(record.transactional_id, None)
            if record.transaction is not None:
                log[record.transactional_id] = record.transaction
        assert {each.transactional_id: durable(each) for each in self._all()} == {
            name: durable(each) for name, each in log.items()
        }

    @invariant()
    def records_follow_each_other(self) -> None:
        last: dict[str, TransactionState] = {}
        for record in self.shard.driver.records:
            transaction = record.transaction
            if transaction is None:
                assert last.pop(record.transactional_id).can_expire
                continue
            before = last.get(record.transactional_id, TransactionState.EMPTY)
            assert can_follow(before, transaction.state)
            last[record.transactional_id] = transaction.state

    @invariant()
    def a_transaction_makes_sense(self) -> None:
        for transaction in self._all():
            assert 0 <= transaction.producer_epoch <= MAX_EPOCH
            assert transaction.state not in (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)
            if transaction.state in (TransactionState.EMPTY,) or transaction.state.is_complete:
                assert not transaction.partitions
                assert not transaction.is_kept
                assert transaction.next_producer_id == -1
            if transaction.state is TransactionState.ONGOING:
                assert transaction.partitions
                assert transaction.start_ms >= 0

    @invariant()
    def prepared_transactions_get_markers(self) -> None:
        waiting = {each.transactional_id for each in self.shard.prepared}
        assert waiting == {each.transactional_id for each in self._all() if each.state.is_prepared}


TransactionMachine.TestCase.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
TestTransactionMachine = TransactionMachine.TestCase
